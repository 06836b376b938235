// Package fit takes recordings from files to the model that predicts them best, and says when no model is better than a
// simple rule.
//
//	Request   files, how they are read, and a budget
//	Plan      what was decided about the data, and the candidates that the budget pays for
//	Try       leads the candidates: a sweep of method list, on workers of this process
//	Result    the candidate that was chosen, kept as a run, with the verdict
//
// Candidates are compared by predictions of the validation part from starts all along it. The test part then tests the
// choice: a simple rule that is better there takes its place. A plan is a function of data, options, budget and number
// of workers, by a model of costs instead of a clock. It is kept with the sweep, whose results are a function of the
// plan: so a fit that was killed goes on to the same bits, on any number of workers.
//
// Suggest finds settings to begin with: a window that fits the recordings whatever the seed, a way to hold some out,
// and model sizes that the number of values can pay for. It looks at shapes and ranges only, and trains nothing.
package fit
