// Package trials makes sweeps of runs. It reads what a user writes to describe one: a YAML file with the keys of W&B
// sweeps, or the arguments of a command line in the manner of Hydra. Each fault is reported with file, line, and the
// key or value that was probably meant. It runs the trials as runs of a host: it makes their configurations, leads them
// from rung to rung, reads their metrics, and keeps the folder of a sweep. It finds what a folder of runs can do
// without, and removes it: checkpoints that nothing goes on from, those of the trials that a sweep has decided against,
// and finished runs that are old. What a run needs to be resumed, and a sweep to go on, stays.
//
// Which trials there are is decided by package sweep. The package prints nothing and asks nobody.
package trials
