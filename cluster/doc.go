// Package cluster is what a cluster stands on: its broker and the connections to it, its keys and those closed.
//
// A Bus carries the protocol of package wire over NATS. Limits, reconnection and what the server tells are dealt with
// here; no message is known.
//
// The broker is a NATS server inside the process, so that training needs no other program. It knows nothing about the
// messages.
//
// The credentials of a cluster are files in one folder: an nkey for each role, the broker's list of permissions, a
// certificate authority with certificates for the broker and for the routes between brokers, and the token of the page.
// All files follow from the private keys on the disk, and private keys are never replaced: a second call, or a call
// after a crash, only makes what is missing. To replace a key, remove its file and call again.
//
// A BanList has the banned keys of a folder of runs: in a file beside the runs, which survives the
// coordinator, in the gate of the process that leads them, and at the brokers.
//
// The package knows the subjects that each role needs. It knows no run, and prints nothing.
package cluster
