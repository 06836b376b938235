// Package pool decides which worker serves which run, and sends the workers there. A worker of the pool without a run
// sends a wire.Seek once a second, and goes to the run that a wire.Assign names. After that, it appears as a member of
// that run.
//
// Decide is the decision, a pure function. Pool is the knowledge about runs and workers, without clock or network.
// Dispatcher connects the pool to a wire.Bus. The package does not know what a run computes, how its coordinator leases
// shards, or how its members are known.
package pool
