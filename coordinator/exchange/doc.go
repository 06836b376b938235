// Package exchange moves vectors between a coordinator and its workers: gradients in, parameters out, as messages or by
// memory that both share, whole or as integers. What it moves, to whom and when, is up to its caller: it knows neither
// leases nor members, and believes nobody more than another. These are its parts, each with its file:
//
//	   Chunk ChunksAt        from workers                     to workers     Theta ThetaAt Relay, any message
//	        |                                                                    ^
//	+-------v-------------------+       +------------------------+       +-------+-------------------------+
//	| receiver.go               |       | choice.go              |       | sender.go    puts on the bus    |
//	| chunks into their buffers |       | star, or sections that |       | memory.go    lays in memory     |
//	+-------+-----------^-------+       | workers sum            |       +-------^-------------------------+
//	        |           |               +---^----------------+---+               |
//	        | Stored    | Expectation       | workers, what  | Sections          | View, and what of it:
//	        |           |                   | was measured,  | of a step         | Theta, Relay
//	        v           |                   | doubts         v                   |
//	   the caller counts it                                            the caller updates parameters
//	        |  sum                                                               ^
//	+-------v-------------------+                                        +-------+-------------------------+
//	| integers.go               |  the gradient that it stands for ----> | differences.go                  |
//	| scales of gradients       |                                        | parameters follow exact ones    |
//	+---------------------------+                                        +---------------------------------+
//
// Choice, Integers and Differences are state machines: the same calls in the same order give the same result. Receiver
// and Sender belong to the shell.
//
// # Who owns which memory
//
//	a gradient   is written by the Receiver from Expect on, until it is whole or Close.
//	parameters   belong to the caller; the Sender reads a View until its call returns.
//	memory       that is shared holds two vectors of parameters: one stays as it was while the next is laid.
//	exact ones   belong to Differences; the optimiser updates them in place.
//
// # Invariants
//
// How a vector travels changes no bit of it. A chunk is stored once, by one goroutine, and never after Close. Scales
// and differences are a function of the steps before, whoever computed what.
package exchange
