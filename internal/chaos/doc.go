// Package chaos runs a training as real processes, a broker, a coordinator and workers, and does to them what may happen to
// machines: it kills, stops and restarts them by a schedule drawn from a seed, while they spoil their own messages, gradients
// and files (package fault). It measures what that costs: shards computed in vain, memory, time to recover.
//
// It knows the command line of the program that it runs and the files of a run folder, and nothing of what is trained.
package chaos
