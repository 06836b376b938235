// Package chaos runs a training as real processes: a broker, a coordinator and workers. It kills, pauses and restarts
// them by a schedule drawn from a seed, while they inject faults into their own messages, gradients and files (package
// fault). It measures the cost: shards computed in vain, growth of memory, time to recover.
//
// The package knows the command line of the program and the files of a run folder. It does not know what is trained.
package chaos
