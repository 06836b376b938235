// Package worker computes for a run. A worker takes leases on blocks of shards, sums the gradients of a block in the
// order of the reduction tree, announces the sum and sends its chunks when they are pulled. A worker has no state that
// matters: it may disappear at any time, and joins again with a Hello. It fetches a data set once, before it builds the
// program. The Program defines what a shard's gradient is.
//
// An Agent is a worker of the pool: it seeks a run at the host, serves it with a Worker, and seeks again.
//
// One goroutine owns a Worker and all its messages. Each slot has a goroutine that computes one shard at a time; while
// it waits, it prepares what the next step will probably need. The package does not know what carries its messages,
// what leads a run, or what a program computes.
package worker
