// Package coordinator leads a run. It leases the shards of each step to workers, pulls and checks their sums, adds them
// in a fixed tree, updates the parameters and sends them out. Workers that lack the run's data set fetch it here. The
// package sees vectors, layouts and bytes, never a model.
//
// The type machine makes all decisions. It has no clock, no network and no goroutine: messages and times go in,
// commands come out, and the same input gives the same output. It consists of parts, each with a state of its own:
//
//	life         whether the run goes on, and what it waits for
//	accounts     what is held against a worker
//	members      which workers take part
//	timing       how long things take, and how long they may take
//	auditing     which blocks are computed twice
//	exchange     how gradients get here: pulled by the coordinator, or summed by workers
//	transfer     how gradients and the data set travel
//	leasing      which worker computes which block
//	run          parameters, steps and milestones
//	judgement    which bits are right where workers are not simply believed
//
// The work on one block is a task, and the phase of the task says where it stands: see task.go. The way of a block from
// its announcement to the tree stands in results.go; that of a gradient which workers sum in sums.go; that of
// parameters which workers hand on in relaying.go.
//
// The type Coordinator is the shell around the machine: it has the bus, the clock, the disk and the observer.
//
// Workers are not trusted. If several of them report on a block, they must agree. If they do not, a referee in the
// coordinator's own process decides. A worker that reported wrong bits is cut off, and all that it contributed and
// nobody confirmed is undone: accounts.go says what is held against a worker, review.go what follows from a doubt.
//
// The parameters after a step are a function of the configuration and the initial parameters alone. They do not depend
// on which worker computed what, on the order of arrival, or on what was lost, repeated, refused or computed again.
package coordinator
