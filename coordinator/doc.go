// Package coordinator leads a run. It leases the shards of each step to workers, pulls and checks their sums, adds them
// in a fixed tree, updates the parameters and sends them out. Workers that lack the run's data set fetch it here. The
// package sees vectors, layouts and bytes, never a model.
//
// The type machine makes all decisions. It has no clock, no network and no goroutine: messages and times go in,
// commands come out, and the same input gives the same output. The type Coordinator is the shell around it: it has the
// bus, the clock, the disk and the observer. These are their parts, each with its file:
//
//	   Hello Fetch Ready Heartbeat Need Result Chunk ChunksAt Share Bye      from workers, by the bus
//	                                |
//	+-- shell, in ------------------v--------------------------------------------------------------------------------+
//	| coordinator.go  the loop: messages, ticks, answers       replay.go      what an earlier coordinator left       |
//	| inbox.go        to the goroutine of the loop             admittance.go  limits for each key                    |
//	| exchange.Receiver  chunks into their buffers             memory.go      chunks out of shared memory            |
//	+-------------------------------+--------------------------------------------------------------------------------+
//	                                |  receive(now, message)  tick(now)  remind(now)  verdict(now, answer)
//	+-- machine --------------------v--------------------------------------------------------------------------------+
//	| machine.go    which part acts, in which order           config.go    what the run is                           |
//	| admission.go  who may speak                             presence.go  who is ready and alive                    |
//	| results.go    a block, until it is in the tree          remind.go    what was lost                             |
//	| sharing.go    who shares memory                         stats.go     figures                                   |
//	|                                                                                                                |
//	| package trust                      rounds, leases, members               package exchange                      |
//	| rules, see there                                                         moves vectors, see there              |
//	|      |  rulings                    life.go        does the run go on          ^                                |
//	|      v                             members.go     who takes part              v                                |
//	| review.go     what follows      <- timing.go      how long it may take   summing.go      star, or sharded      |
//	| disputes.go   who decides          field.go       how fast all are       sums.go         sums by workers       |
//	| audits.go     who confirms      -> leasing.go     who computes what   -> relaying.go     parameters handed on  |
//	| trials.go     who is tried         lease.go task.go round.go          <- transfer.go     chunks, by credit     |
//	|                                    speculation.go what is late           data.go         the data set          |
//	|                                    waiting.go     what is waited for     forms.go        integers or floats    |
//	|                                         | sums          ^ parameters                                           |
//	|                                         v               |                                                      |
//	|                                    run.go  a step: sum, update, next     optimiser.go    Adam, or Nesterov     |
//	|                                                                          milestones.go   validate, save, stop  |
//	|                                                                                                                |
//	| outbox.go commands.go  what is to be done, in order                                                            |
//	+-------------------------------+--------------------------------------------------------------------------------+
//	                                |  take(): commands
//	+-- shell, out -----------------v--------------------------------------------------------------------------------+
//	| execute.go       does each command, in order            save.go         checkpoints, in checkpoint.go          |
//	| exchange.Sender  to the bus, and to shared memory       rollback.go     back to one of them                    |
//	| trust.Referee    computes a block here                  term.go         the number of this coordinator         |
//	| report.go        to the observer                        history.go log.go journal.go evidence.go  the log      |
//	| rejections.go    what was refused                       magnitudes.go   how large the values are               |
//	+-------------------------------+--------------------------------------------------------------------------------+
//	                                v
//	   Introduce Welcome Theta ThetaAt Relay Stay Lease Reduce Pull Piece Refusal End      to workers
//
// Packages trust and exchange know neither this package nor each other: they return rulings and vectors, and what
// follows is decided here.
//
// The fields of the machine list its parts: one uses those above it and none below. The work on one block is a task,
// and the phase of its case says where it stands: see trust.Case. A block goes from its announcement to the tree by
// results.go. If workers are not simply believed, it goes by review.go, too. A gradient that workers sum goes by
// sums.go.
//
// # Who owns which memory
//
//	parameters   belong to run: state, of which the optimiser's theta is the front. The shell reads run.shown between
//	             two events, to send it. The referee and checkpoints have copies.
//	a gradient   comes out of transfer.pool, and is written by the receiver from expectCommand on, until it is whole
//	             or closeCommand. Then the tree has it. What the tree or the optimiser has used up goes back.
//	a sum        of sections lies in the memory of its round: chunks are stored where they belong in the total.
//	commands     belong to the outbox: what take returns is valid until the next event.
//	messages     belong to the machine once it has received them. Who is lent their bytes keeps nothing of them.
//	the data set belongs to the shell, and is never written.
//
// The goroutine of Run owns the Coordinator. Others may call what says so: Stats, Rejections and Checkpoint. Handlers
// of the bus use the gate, the receiver and the inbox only.
//
// # Trust
//
// Workers are not trusted. If several of them report on a block, they must agree. If they do not, a referee in the
// coordinator's own process decides. A worker that reported wrong bits is cut off, and all that it contributed and
// nobody confirmed is undone: package trust says what is held against a worker, review.go what follows from a doubt.
//
// # Invariants
//
// The parameters after a step are a function of the configuration and the initial parameters alone. They do not depend
// on which worker computed what, on the order of arrival, or on what was lost, repeated, refused or computed again.
//
// A shard is in one place: free, in a task, or in the tree. A step closes when all shards are in the tree and no task
// is in dispute. A message that fails a check changes nothing but what is held against its sender. The log is given a
// step before its checkpoint is written, and a term is on disk before a message bears it. Other invariants stand at the
// state that they hold for.
package coordinator
