// Package sweep searches for good configurations: it proposes trials, judges them at rungs, and keeps a journal from
// which a sweep that was killed goes on.
//
//	Spec      what is searched: parameters with their distributions, method, metrics, early stopping
//	Journal   what has happened: one record per line, each on the disk before the next act
//	State     what the records say: trials, their runs and the metrics at their rungs
//	Engine    decides what comes next, and hands legs of trials to a Runner
//
// With synchronous stopping (none, halving, hyperband) every decision is a function of the spec and of the results of
// complete cohorts. So the trials of a sweep, their configurations and their fates are a function of spec and seed,
// whatever happens to workers and processes. The options asha and median depend on the order in which results arrive.
//
// A configuration is a list of settings, key and text of the value. The package does not know which keys exist, what a
// trial computes, or where: that is known to the Runner.
package sweep
