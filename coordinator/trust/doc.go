// Package trust decides whom a coordinator believes. Workers are not trusted: what they say about a block is compared,
// some blocks are computed twice, and a worker that reported wrong bits is cut off. The package knows claims and
// accounts, and neither leases nor messages nor the run: what follows from its rulings is up to its caller.
//
// It has no clock, no network and, but for the Referee, no goroutine: the same calls in the same order give the same
// result. These are its parts, each with its file:
//
//	   what workers say of a block                      what they deliver, and how fast
//	        | Say, Fail                                      | Delivers, Miss, Refuse, Taint
//	+-------v--------------------------------+       +-------v---------------------------------------+
//	| claims.go     a block's claims         |       | accounts.go   held against a worker           |
//	| case.go       phases of a block        | ----> | standing.go   does it deliver, is it left out |
//	| auditing.go   which are computed twice |       | pace.go       how fast it computes            |
//	| judgement.go  what is right            |       +-------+---------------------------------------+
//	+-------+------------------------^-------+               | Excess, Clear: is it cut off,
//	        | Rule: a Ruling,        | Verdict               | since when is it to be undone
//	        | Convict: who lied      |                       v
//	+-------v------------------------+-------+
//	| referee.go    computes a block here    |
//	+----------------------------------------+
//
// A Case belongs to the block of a task, and an Account to the token of a worker. The state of a run consists of its
// Accounts, its Auditing and its Judgement. A claim keeps the slices of the message that it came with, and writes none.
//
// # Invariants
//
// The phase of a case changes as Phase says; a move that does not follow changes nothing. Nobody is cut off for what a
// network can do to messages: see accounts.go. Two workers confirm each other only if the referee has found one of them
// right before, where there is a referee. Nothing here changes a bit of a run: it only decides whose bits are used, and
// those that are used have been confirmed, or are noted as Taint of the account until they are.
package trust
