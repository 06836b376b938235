// Package shm is memory that processes of one host share, so that vectors go from one to another without a broker. Each
// process writes its own memory and reads the other's; nobody else writes either. The package knows neither vectors nor
// messages: who reads checks what he has read, in a copy of his own.
//
// Two processes meet at a place: a socket in a folder that both see, so that containers meet in a volume that they
// share. There each hands the other a file without a name (memfd) by its descriptor. That both are on one host is never
// assumed: what proves it is that each has read, in the memory of the other, a token that the other drew. Each signs
// that token, and which file it was read in, with a secret of the two that no third process knows; so who stands
// between them, or sets up a place of his own under that name, can put no memory in the place of theirs.
//
// The owner's file is sealed: it does not change its size, and nothing but the mapping that the owner has writes it,
// not even who has its descriptor. So no other process can change what was written, and none can make accesses fail by
// cutting it short, neither its owner's nor a reader's. A reader looks that it is sealed, and touches only what the
// owner has written: whatever that one does costs him an error at most. Such a file ends with the last process that has
// it open: nothing is left behind by a crash.
//
// Directory is the memory of real processes, on Linux. Twin is its counterpart within one process, for simulations.
package shm
