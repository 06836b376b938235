package cmd

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/fault"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// workerFlags describe a worker of the pool.
type workerFlags struct {
	// The broker; its key may be a folder, of which takeKey chooses a free one.
	link connection
	// Shards that are computed at a time; 0 until check sets it.
	slots int
	id    string
	alive string // file that says that the worker lives; empty: none
	// The server that the worker carries, if its cluster has an address; own is that server once it runs.
	serve brokerFlags
	share memoryFlag
	own   *cluster.Broker // nil: none
}

// workerCommand is `worker`: it computes gradients for the runs of a coordinator until a signal ends it. It prints
// nothing on stdout; stderr has its log.
func (a *app) workerCommand() *cobra.Command {
	var flags workerFlags
	c := &cobra.Command{
		Use:   "worker --nats URL",
		Short: "Compute gradients for the runs of a coordinator",
		Long: `Compute gradients for the runs of a coordinator: find a run that has work, serve it, and
come back for the next. A worker holds no state that matters. It may be started before
the broker and the coordinator and killed at any time, and any number of workers may run;
the parameters stay the same, bit for bit. It reconnects for as long as it takes.

SIGTERM and Ctrl-C return unfinished work at once, and the exit code is 0. It is 1 if the
coordinator refuses this worker; the message says why.

Each slot uses memory. The log states how much a job takes when its program is built; the
worker itself needs about 40 MiB more. GOMEMLIMIT (e.g. GOMEMLIMIT=900MiB) makes it free
memory before it reaches the limit of a container.

On the coordinator's host, parameters and gradients travel through shared memory if both
processes belong to the same user: see --shared-memory and docs/scaling.md.

With --cluster, the worker runs a NATS server that joins the others, so that traffic
between two workers crosses no third host. It connects to that server, and to --nats if
its own server reaches no other. Whoever has the route key is trusted like the broker;
see docs/scaling.md and docs/security.md.`,
		Example: "  " + a.invoked + " worker --nats nats://127.0.0.1:4222\n" +
			"  " + a.invoked + " worker --nats nats://broker:4222 --nkey worker.nk --tls-ca ca.pem --slots 4\n" +
			"  " + a.invoked + " worker --nats nats://broker:4222 --nkey worker.nk --cluster 0.0.0.0:6222 --cluster-seed " +
			"broker:6222 --keys routes",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.check(c, a.cores); err != nil {
				return err
			}
			return a.work(flags)
		},
	}
	flags.link.add(c, a)
	c.Flags().IntVar(&flags.slots, "slots", 0, "shards computed at a time (default: one per core)")
	c.Flags().StringVar(&flags.alive, "health-file", a.getenv(healthVariable),
		"file to touch once a second while all is well, for: "+a.invoked+" health --file ($"+healthVariable+")")
	c.Flags().Lookup("health-file").DefValue = ""
	flags.serve.join.add(c, "run a NATS server that joins others: address for their routes")
	c.Flags().StringVar(&flags.serve.listen, "listen", "", "address at which that server accepts clients whose "+
		"own server is gone (default: none)")
	c.Flags().StringVar(&flags.serve.keys, "keys", "", "folder that init handed out for the role route: who may "+
		"connect, and the route certificate (default: none, for a cluster without keys)")
	c.Flags().BoolVar(&flags.serve.tls, "tls", false, "require TLS from clients, with the broker certificate in the "+
		"folder of keys")
	flags.share.add(c)
	c.Flags().StringVar(&flags.id, "id", "", "unique name of the worker (default: made from the machine's "+
		"name)")
	return c
}

// check fills in the defaults: a slot for each core, and a name made from that of the machine. Usage errors are a
// number of slots below 0 or above wire.MaxLeases, a name that is none, and what checkServer says.
func (f *workerFlags) check(c *cobra.Command, cores int) error {
	if f.slots < 0 || f.slots > wire.MaxLeases {
		return config.Usagef("--slots %d: must be 1 to %d, or 0 for one per core", f.slots, wire.MaxLeases)
	}
	if f.slots == 0 {
		f.slots = min(cores, wire.MaxLeases)
	}
	if f.id == "" {
		host, err := os.Hostname()
		if err != nil {
			host = ""
		}
		f.id = workerName(host)
	}
	if err := wire.CheckName(f.id); err != nil {
		return config.Usagef("--id: %w", err)
	}
	if err := f.share.check(); err != nil {
		return err
	}
	return f.checkServer(c)
}

// checkServer checks how the worker reaches others. It needs an address of a broker unless it carries a server of
// its own; flags of that server without --cluster are usage errors.
func (f *workerFlags) checkServer(c *cobra.Command) error {
	if f.serve.join.listen == "" && (f.serve.listen != "" || f.serve.keys != "" || f.serve.tls) {
		return config.Hint(config.Usagef("--listen, --keys and --tls of a worker are for its own server, which "+
			"--cluster asks for"), "e.g. --cluster 0.0.0.0:%d", routesExample)
	}
	if err := f.serve.join.check(); err != nil {
		return err
	}
	if f.serve.join.listen != "" && f.link.url == "" {
		return f.link.checkFiles()
	}
	return f.link.check(c)
}

// work serves runs until a signal ends it: it takes a free key if a folder of keys was given, starts the server of
// the worker if it carries one, and connects. If the key is replaced meanwhile, it connects again with the new one.
// After a signal it returns nil once the agent has handed back its leases.
func (a *app) work(flags workerFlags) error {
	log := a.logger(a.err, hclog.Info)
	faults, err := a.injector(flags.id, log)
	if err != nil {
		return err
	}
	defer func() {
		if err := faults.Close(); err != nil {
			log.Warn("counters of faults", "error", err)
		}
	}()
	release, err := flags.link.takeKey()
	if err != nil {
		return err
	}
	defer release()
	if flags.serve.join.listen != "" {
		if flags.own, err = flags.serve.start(log, a.invoked+" init"); err != nil {
			return err
		}
		defer flags.own.Retire()
		log.Info("the worker carries a server", "routes", flags.own.Routes(), "clients", flags.own.URL(), "keys",
			flags.serve.keys != "")
	}
	return a.untilSignal(a.err, "returning computed results", func(ctx context.Context) error {
		if flags.own != nil {
			go flags.own.Follow(ctx)
			go cutOffWith(ctx, faults, flags.own, log)
		}
		// Each turn is one connection. All other ends of serveRuns are for good.
		for {
			err := a.serveRuns(ctx, flags, faults, log)
			if !errors.Is(err, errKeyChanged) {
				return err
			}
			if ctx.Err() != nil {
				return nil
			}
			log.Info("the key has changed: connecting with the new one", "file", flags.link.nkey)
		}
	})
}

// errKeyChanged ends a connection whose key was replaced.
var errKeyChanged = errors.New("the key has changed")

// serveRuns serves runs over one connection. It returns nil when ctx ends, errKeyChanged when the key is replaced,
// and worker.ErrRefused, with the coordinator's reason, if the coordinator does not take this worker.
func (a *app) serveRuns(ctx context.Context, flags workerFlags, faults *fault.Injector, log hclog.Logger) error {
	// The cause tells a key that was replaced from the end of the command.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	made := make(chan error, 1)
	var bus *cluster.Bus
	var agent *worker.Agent
	go func() {
		var err error
		bus, agent, err = a.join(flags, faults, func() { stop(errKeyChanged) }, log)
		made <- err
	}()
	var err error
	select {
	case err = <-made:
		if err != nil {
			return err
		}
		defer bus.Close()
		err = follow(ctx, agent)
	case <-ctx.Done(): // there is nothing to hand back, and a host that does not answer may take long
		go func() {
			if <-made == nil {
				bus.Close()
			}
		}()
	}
	if err == nil && errors.Is(context.Cause(ctx), errKeyChanged) {
		return errKeyChanged
	}
	if errors.Is(err, worker.ErrRefused) {
		return fmt.Errorf("worker %s: %w", flags.id, err)
	}
	return err
}

// join connects a worker, and makes its agent. The caller closes the bus.
func (a *app) join(flags workerFlags, faults *fault.Injector, keyChanged func(), log hclog.Logger,
) (*cluster.Bus, *worker.Agent, error) {
	// The worker's own server counts as long as it reaches others; else the connection goes to --nats.
	bus, err := flags.link.connectTo(flags.own, "worker "+flags.id, keyChanged, log.Named("broker"))
	if err != nil {
		return nil, nil, err
	}
	// The coordinator compares it with its own: a worker with other arithmetic is refused.
	fingerprint := job.Numerics()
	agent, err := worker.NewAgent(worker.AgentConfig{
		ID: flags.id, Slots: flags.slots, Info: job.Name(), Numerics: fingerprint, Build: buildWith(a.kinds, faults),
		Trouble: bus.Trouble,
		Alive:   flags.sign(log), Memory: flags.share.host(),
	}, faults.Bus(bus), log)
	if err != nil {
		bus.Close()
		return nil, nil, err
	}
	log.Info("worker", "id", flags.id, "version", job.Name(), "kernels", kernel.Active().String(), "slots", flags.slots,
		"numerics", fingerprintName(fingerprint), "broker", flags.link.url)
	return bus, agent, nil
}

// sign returns a function that writes the health file; nil if there is none. The first failure is logged.
func (f *workerFlags) sign(log hclog.Logger) func() {
	if f.alive == "" {
		return nil
	}
	logged := false
	return func() {
		err := os.WriteFile(f.alive, []byte("well\n"), 0o644)
		if err != nil && !logged {
			logged = true
			log.Warn("the health file cannot be written: health checks of this worker fail", "error", err)
		}
	}
}

// follow runs an agent until ctx ends or the coordinator refuses it. It returns once the agent has handed back its
// leases: the result of what it still computes is no longer needed, and the process may end in the middle of it.
func follow(ctx context.Context, agent *worker.Agent) error {
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-agent.Left():
		return nil
	}
}

// buildWith builds the programs of jobs, with faults if some are ordered.
func buildWith(kinds *config.Kinds, faults *fault.Injector) func(job, data []byte, slots int) (worker.Program, error) {
	build := job.Build(kinds)
	return func(text, data []byte, slots int) (worker.Program, error) {
		program, err := build(text, data, slots)
		if err != nil {
			return nil, err
		}
		return faults.Program(program), nil
	}
}

// workerName makes a name from the name of the machine, so that people can find it: at most 40 characters of it
// that a name may have, and 8 random hexadecimal digits, which keep workers of one machine apart.
func workerName(host string) string {
	const most = 40
	name := strings.Map(func(r rune) rune {
		if wire.CheckName(string(r)) != nil {
			return '-'
		}
		return r
	}, host)
	name = strings.Trim(name[:min(len(name), most)], "-")
	if name == "" {
		name = "worker"
	}
	var b [4]byte
	rand.Read(b[:])
	return name + "-" + hex.EncodeToString(b[:])
}

// fingerprintName is a short name for a numerics fingerprint: the first 12 digits of the hash of all kernels and
// checksums. Programs with the same fingerprint compute the same bits.
func fingerprintName(lines []wire.Numeric) string {
	var text []byte
	for _, line := range lines {
		text = binary.BigEndian.AppendUint64(append(text, line.Kernel...), line.Sum)
	}
	return wire.HashData(text)[:12]
}
