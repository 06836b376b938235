package shm

// Directory is the memory of processes that see a folder at that path, on one host. The folder is made if it is
// missing; it has to belong to this user, and nobody else may write it.
type Directory string

var _ Host = Directory("")
