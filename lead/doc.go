// Package lead leads runs. Everything that trains does it through this package: train and resume, hosts, sweeps, the
// paper, verify and benchmarks.
//
//	Session      one run in this process: a broker, a coordinator and workers, and a watch that turns the coordinator's
//	             reports into metrics, run.json and progress
//	Host         any number of runs at the same time, with workers in other processes. It accepts submitted runs, continues
//	             those that an earlier host has left unfinished, answers requests over NATS and from the page, and makes sure
//	             that only one host leads the workers of a broker. A failure of one run does not affect the others.
//	Pool         which worker serves which run. Decide is the decision, a pure function; Pool is the knowledge about runs and
//	             workers, without clock or network; Dispatcher connects the pool to a wire.Bus. A worker of the pool without a
//	             run sends a wire.Seek once a second, and goes to the run that a wire.Assign names.
//	Record       what a run has logged, computed again: Verify makes its steps anew with workers in this process and reports
//	             whether the bits are the same and whose results are not; Diff finds where two runs begin to differ. Both
//	             change no run, and the runs may be running.
//
// The package does not know how progress is shown, nor how the program was called; it knows neither command lines nor
// exit codes.
package lead
