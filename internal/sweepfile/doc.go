// Package sweepfile reads what a user writes to describe a sweep: a YAML file with the keys of W&B sweeps, or the
// arguments of a command line in the manner of Hydra. Each fault is reported with file, line, and the key or value that
// was probably meant.
//
// The package resolves configurations of trials, to see that they are valid. It starts nothing.
package sweepfile
