// Package coordinator leads a run: it leases the shards of each step to workers, pulls and checks their partial sums,
// reduces them in a fixed tree, updates the parameters and sends them out. Workers that lack the run's data
// set fetch it here. It sees vectors, layouts and bytes, never a model.
//
// The decisions are made by machine, which has no clock, no network and no goroutine: messages and times go in,
// commands come out, and the same input gives the same output. Coordinator is the shell around it, with the bus, the
// clock, the disk and the observer.
//
// Workers are not trusted. What several say of a block must agree, a referee in the coordinator's own process decides
// where it does not, and who was wrong is cut off, with all it contributed that nobody had confirmed: see quarantine.go for
// what is held against a worker, audit.go, speculation.go and referee.go for how blocks are compared.
//
// The parameters after a step are a function of the configuration and the initial parameters alone. Which worker
// computed what, in which order it arrived, what was lost, repeated, refused or computed again does not enter.
package coordinator
