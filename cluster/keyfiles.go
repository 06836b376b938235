package cluster

import "errors"

// The files of a folder of keys. Files that end in .nk or .key are secret, and so is the token of the page.
const (
	CoordinatorKey = "coordinator.nk"
	WorkerKey      = "worker.nk" // for all workers; keys of single workers are called worker-NAME.nk
	OperatorKey    = "operator.nk"
	Auth           = "nats-auth.conf" // for the broker: users and permissions
	CAKey          = "ca.key"
	CA             = "ca.pem" // for the clients of a broker with TLS
	ServerKey      = "server.key"
	Server         = "server.pem" // the broker's certificate
	TLS            = "nats-tls.conf"
	RouteKey       = "route.key"
	Route          = "route.pem"         // the certificate of all servers of a cluster, towards each other
	RoutesConfig   = "nats-cluster.conf" // routes of a NATS server to the others
	PageToken      = "page.token"
)

// BrokerDir is the default folder in which the broker's configuration expects certificate and key.
const BrokerDir = "/etc/nats"

var (
	// ErrHost is returned for a host that cannot be in a certificate.
	ErrHost = errors.New("keys: not a host name or address")
	// ErrWorker is returned for the name of a worker's key that is not valid in the name of a file.
	ErrWorker = errors.New("keys: not a name for a worker's key")
	// ErrDamaged is returned for a file that cannot be used, or does not belong to the others.
	ErrDamaged = errors.New("keys: a file cannot be used")
	// ErrNoCA is returned when a certificate has to be signed and the authority's key is missing.
	ErrNoCA = errors.New("keys: the key of the certificate authority is not there")
)
