// Package keys makes what the parties of a cluster prove themselves with, as files in one folder: an nkey for each role,
// the broker's list of who may do what, a certificate authority with a certificate for the broker, and the token of the
// page. It knows the subjects that each role needs; it opens no connection and prints nothing.
//
// Everything follows from the private keys that are on disk, and those are never replaced: a second call, or one that
// follows a crash, completes what is missing. To replace a key, remove its file and call again.
package keys

import "errors"

// The files of a folder of keys. Those that end in .nk or .key, and the page's token, are secret.
const (
	CoordinatorKey = "coordinator.nk"
	WorkerKey      = "worker.nk" // for all workers; further ones are called worker-NAME.nk
	OperatorKey    = "operator.nk"
	Auth           = "nats-auth.conf" // for the broker: users and permissions
	CAKey          = "ca.key"
	CA             = "ca.pem" // for the clients of a broker with TLS
	ServerKey      = "server.key"
	Server         = "server.pem" // the broker's certificate
	TLS            = "nats-tls.conf"
	PageToken      = "page.token"
)

// BrokerDir is where the broker's configuration looks for certificate and key if nothing else is said.
const BrokerDir = "/etc/nats"

var (
	// ErrHost is returned for a host that a certificate cannot name.
	ErrHost = errors.New("keys: not a host name or address")
	// ErrWorker is returned for the name of a worker's key that cannot be part of a file's name.
	ErrWorker = errors.New("keys: not a name for a worker's key")
	// ErrDamaged is returned for a file of keys that cannot be used, or does not fit the others.
	ErrDamaged = errors.New("keys: a file cannot be used")
	// ErrNoCA is returned when a certificate is to be signed and the authority's key is not there.
	ErrNoCA = errors.New("keys: the key of the certificate authority is not there")
)
