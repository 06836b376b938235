// Package worker computes for a run: it takes leases on blocks of shards, adds up the gradients of a block in the order
// of the reduction tree, announces the sum and serves its chunks. A worker holds no state that matters: it may vanish
// at any time, and comes back by saying Hello. A data set it fetches once, before it builds the program. What a shard's
// gradient is, the Program says.
//
// An Agent is a worker of the pool: it seeks a run at the host of the runs, serves it with a Worker, and comes back.
//
// One goroutine owns a Worker and all its messages; each slot has a goroutine that computes one shard at a time, and
// while it waits simulates what the next step will probably ask for. The package does not know what carries its
// messages, what leads a run, or what a program computes.
package worker
