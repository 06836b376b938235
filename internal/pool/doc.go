// Package pool decides which worker serves which run, and tells the workers. A worker of the pool that serves no run
// says so once a second, see wire.Seek, and goes where it is sent, see wire.Assign; it is heard of next as a member of
// that run.
//
// Decide is the decision, a pure function. Pool is what is known of runs and workers, without a clock or a network of
// its own. Dispatcher is the shell around it, on a wire.Bus. The package does not know what a run computes, how its
// coordinator leases shards, or where the list of its members comes from.
package pool
