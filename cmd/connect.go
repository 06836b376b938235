package cmd

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/fault"
)

// Environment variables for the flags of a connection.
const (
	natsVariable = config.Prefix + "NATS"   // default of --nats
	nkeyVariable = config.Prefix + "NKEY"   // default of --nkey
	caVariable   = config.Prefix + "TLS_CA" // default of --tls-ca
)

// healthVariable is the environment variable for the flag --health-file of a worker.
const healthVariable = config.Prefix + "HEALTH_FILE"

// connectVariables are the environment variables that are no keys of the configuration.
func connectVariables() []string {
	return []string{natsVariable, nkeyVariable, caVariable, healthVariable}
}

// connection says how to reach the broker: url is one address or several with commas between them, nkey and ca are
// names of files. Secrets are in files, because other users of a machine see the arguments of a process.
type connection struct{ url, nkey, ca string }

// add defines the flags of all commands that connect to a broker. The help text shows no value from the environment,
// which may be a secret.
func (f *connection) add(c *cobra.Command, a *app) {
	flags := c.Flags()
	flags.StringVar(&f.url, "nats", a.getenv(natsVariable), "address of the broker, nats://HOST:PORT ($"+natsVariable+")")
	flags.StringVar(&f.nkey, "nkey", a.getenv(nkeyVariable), "file with the nkey seed to connect with; a worker "+
		"also takes a folder and uses a free key from it ($"+nkeyVariable+")")
	flags.StringVar(&f.ca, "tls-ca", a.getenv(caVariable), "file with the authority of the broker's certificate; makes "+
		"TLS required ($"+caVariable+")")
	for _, name := range []string{"nats", "nkey", "tls-ca"} {
		flags.Lookup(name).DefValue = ""
	}
}

// check normalises the address for the client, or returns what is wrong with it, as a usage error. A missing
// address is wrong, too; c is the command that the message names.
func (f *connection) check(c *cobra.Command) error {
	if err := f.checkFiles(); err != nil {
		return err
	}
	if f.url == "" {
		return config.Hint(config.Usagef("%s needs the address of a broker", c.CommandPath()),
			"e.g. --nats nats://127.0.0.1:4222, or set %s; switchyard broker starts one", natsVariable)
	}
	// Servers of one cluster: the client goes to another one when its server is gone.
	addresses := strings.Split(f.url, ",")
	for i, text := range addresses {
		address, err := brokerAddress(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		addresses[i] = address
	}
	f.url = strings.Join(addresses, ",")
	return nil
}

// unnamed returns a usage error for a key or an authority where no broker is named: the command works on this machine,
// and its user may believe that it asked a coordinator.
func (f *connection) unnamed(c *cobra.Command) error {
	if f.url != "" {
		return nil
	}
	return unused(c, "is about the broker of --nats, and none is given", "nkey", "tls-ca")
}

// checkFiles returns what is wrong with the names of files.
func (f *connection) checkFiles() error {
	return errors.Join(secretFile("nkey", f.nkey), secretFile("tls-ca", f.ca))
}

// brokerAddress returns an address with its scheme: nats://HOST:PORT, or tls://. HOST:PORT alone is nats. A user, a
// path, a query or the scheme of a web page is a usage error. Errors never repeat a text that may hold a password.
func brokerAddress(text string) (string, error) {
	if strings.Contains(text, "@") {
		return "", config.Hint(config.Usagef("--nats: an address with a user or a password in it shows in the list of "+
			"processes"),
			"put an nkey seed into a file and give --nkey FILE; switchyard init makes one")
	}
	if !strings.Contains(text, "://") {
		text = "nats://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", config.Hint(config.Usagef("--nats: %w", err), "e.g. --nats nats://127.0.0.1:4222")
	}
	port, portErr := strconv.Atoi(u.Port())
	// The hint names the part of the address that is wrong, so that the user sees what to change.
	hint := ""
	switch {
	case u.Scheme == "http" || u.Scheme == "https":
		hint = "that is the address of a page; the broker's is nats://HOST:4222"
	case u.Scheme != "nats" && u.Scheme != "tls":
		hint = "it begins with nats:// or, for TLS, with tls://"
	case u.Hostname() == "":
		hint = "the host is missing, e.g. nats://127.0.0.1:4222"
	case u.Port() != "" && (portErr != nil || port < 1 || port > 65535):
		hint = "a port is a number from 1 to 65535"
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		hint = "nothing comes after the port, e.g. nats://127.0.0.1:4222"
	default:
		return u.Scheme + "://" + u.Host, nil
	}
	return "", config.Hint(config.Usagef("--nats %s is not the address of a broker", text), "%s", hint)
}

// connect opens a connection. The broker shows it under the name of the party. If the broker does not answer yet,
// the connection keeps trying: only an address or a file that cannot be used is an error. The caller closes the
// connection.
func (f *connection) connect(party string, log hclog.Logger) (*cluster.Bus, error) {
	return f.connectUntil(party, nil, log)
}

// connectUntil is connect; changed is called if the file of the key holds another one than at the start.
func (f *connection) connectUntil(party string, changed func(), log hclog.Logger) (*cluster.Bus, error) {
	return f.connectTo(nil, party, changed, log)
}

// connectTo is connectUntil, to a server of this process as long as that reaches others, if there is one.
func (f *connection) connectTo(own *cluster.Broker, party string, changed func(), log hclog.Logger) (*cluster.Bus,
	error,
) {
	cfg := cluster.BusConfig{URL: f.url, NKeyFile: f.nkey, CAFile: f.ca, Name: party, Changed: changed, Log: log}
	if own != nil {
		cfg.Server = own
	}
	if f.url == "" {
		cfg.CAFile = "" // the connection does not leave the process
	}
	bus, err := cluster.Connect(cfg)
	if errors.Is(err, cluster.ErrCredentials) {
		return nil, config.Hint(config.Usage(err), "switchyard init makes the files for --nkey and --tls-ca")
	}
	if err != nil {
		return nil, config.Usage(err)
	}
	return bus, nil
}

// takeKey chooses a key that no other worker has, if a folder of keys was given. It is kept until release is called.
func (f *connection) takeKey() (release func(), err error) {
	if info, err := os.Stat(f.nkey); f.nkey == "" || err != nil || !info.IsDir() {
		return func() {}, nil
	}
	file, release, err := cluster.Take(f.nkey)
	switch {
	case errors.Is(err, cluster.ErrTaken):
		return nil, config.Hint(config.Usage(err), "make more, one for each worker: switchyard init --workers N; "+
			"containers: WORKER_KEYS=N docker compose up")
	case errors.Is(err, cluster.ErrNoWorkerKey):
		return nil, config.Hint(config.Usage(err), "switchyard init --workers N makes them; or give one file: --nkey FILE")
	case err != nil:
		return nil, err
	}
	f.nkey = file
	return release, nil
}

// secretFile refuses a secret that was given instead of the name of its file: a long word without dots and slashes
// that names no file. The error does not repeat it.
func secretFile(flag, path string) error {
	// The seed of an nkey has 58 characters; a name of a file that is as long nearly always has a dot or a slash.
	const leastLength = 32
	if len(path) < leastLength || strings.ContainsAny(path, `./\`) {
		return nil
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return config.Hint(config.Usagef("--%s takes the name of a file, and there is none of that name; the value given "+
		"may be the secret itself", flag),
		"the arguments of a process can be seen by all users of the machine: if it was a secret, make a new one "+
			"(docs/security.md)")
}

// injector returns the faults that the environment variable orders for the process of that name. It returns nil, which
// injects nothing, if there is no such order. Faults are for chaos; the log warns of them.
func (a *app) injector(name string, log hclog.Logger) (*fault.Injector, error) {
	text := a.getenv(fault.Variable)
	if text == "" {
		return nil, nil
	}
	spec, err := fault.Parse(text)
	if err != nil {
		return nil, config.Hint(config.Usagef("%s: %w", fault.Variable, err), "unset %s for a run without faults",
			fault.Variable)
	}
	log.Warn("FAULTS ARE INJECTED on purpose: messages, gradients and files are spoilt", "variable", fault.Variable,
		"faults", spec)
	return fault.New(spec, name, log)
}

// cutOffWith cuts a server of this process off whenever the injector cuts off the process, until ctx ends. Message
// faults need no more than the bus of the process: what a route carries is what a bus was given.
func cutOffWith(ctx context.Context, faults *fault.Injector, own *cluster.Broker, log hclog.Logger) {
	faults.FollowPartitions(ctx, func(off bool) {
		if err := own.CutOff(off); err != nil {
			log.Warn("the server of this process is not cut off with it", "error", err)
			return
		}
		log.Info("the server of this process", "cut off", off)
	})
}
