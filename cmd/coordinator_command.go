package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/control"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/pool"
	"github.com/switchyard-ml/switchyard/internal/readable"
	"github.com/switchyard-ml/switchyard/internal/release"
	"github.com/switchyard-ml/switchyard/internal/session"
	"github.com/switchyard-ml/switchyard/internal/web"
	"github.com/switchyard-ml/switchyard/internal/wire/natsbus"
)

// coordinatorFlags are the flags of the coordinator command.
type coordinatorFlags struct {
	link         connection
	page         webFlags
	config, name string
}

func (a *app) coordinatorCommand() *cobra.Command {
	var flags coordinatorFlags
	c := &cobra.Command{
		Use:   "coordinator",
		Short: "Lead runs whose workers are other processes",
		Long: `Lead runs, any number at the same time, whose workers are other processes, here or on
other machines: they meet at a NATS server. Workers go where there is work.

Runs come from ` + "`submit`" + `, or from --config. When it starts it goes on with all runs of
its folder that a coordinator has led and that are not at their end. It stays up when
runs end. SIGTERM or Ctrl-C writes a checkpoint of each run and ends it, with exit
code 3 if a run was under way.`,
		Example: "  " + a.invoked + " coordinator --nats nats://10.0.0.7:4222\n" +
			"  " + a.invoked + " coordinator --nats nats://10.0.0.7:4222 --config fhn --name first",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.link.check(c); err != nil {
				return err
			}
			return a.coordinate(flags)
		},
	}
	flags.link.add(c, a)
	c.Flags().StringVar(&flags.config, "config", "", "preset or FILE.yaml of a run to lead; one that is there already goes on")
	c.Flags().StringVar(&flags.name, "name", "", "name of the run of --config (default: made from preset and model, with -1)")
	flags.page.add(c)
	return c
}

// coordinate leads runs until it is told to stop.
func (a *app) coordinate(flags coordinatorFlags) error {
	log := a.logger(a.err, hclog.Info)
	faults, err := a.injector("coordinator", log)
	if err != nil {
		return err
	}
	connect := func(party string) (*natsbus.Bus, error) { return flags.link.connect(party, log.Named("broker")) }
	h := a.newHost(connect, log)
	h.faults = faults
	if err := writable(a.runsDir); err != nil {
		return advice.Hint(err, "the runs, with their checkpoints, are kept there: give another folder with --runs-dir, or let user %d write it", os.Getuid())
	}
	first, err := a.firstOrder(flags, h)
	if err != nil {
		return err
	}
	if h.bus, err = connect("coordinator"); err != nil {
		return err
	}
	defer h.bus.Close()
	page, err := flags.page.open(source{h}, a.runsDir, log)
	if err != nil {
		return err
	}
	err = a.untilInterrupted(a.err, "finishing the steps under way, writing checkpoints", func(ctx context.Context) error {
		return h.serve(ctx, page, first, flags.link.url)
	})
	if errors.Is(err, errAborted) {
		return advice.Hint(err, "the checkpoints are intact; start the coordinator again, and its runs go on")
	}
	return errors.Join(err, faults.Close())
}

// writable makes a folder if it is missing, and returns an error if no file can be made in it.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of runs: %w", err)
	}
	probe, err := os.CreateTemp(folder, ".writable-*")
	if err != nil {
		return fmt.Errorf("write to the folder of runs: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("write to the folder of runs: %w", err)
	}
	return nil
}

// newHost prepares a host without runs.
func (a *app) newHost(connect func(string) (*natsbus.Bus, error), log hclog.Logger) *host {
	h := &host{
		app: a, log: log, connect: connect, store: newStore(a.runsDir),
		runs: map[string]*hosted{}, requests: map[string]string{}, numerics: job.Numerics(), look: rivalLook,
	}
	h.life, h.end = context.WithCancelCause(context.Background())
	return h
}

// firstOrder is the run that the flags ask for, nil if none. Its data set goes into the store.
func (a *app) firstOrder(flags coordinatorFlags, h *host) (*order, error) {
	if flags.config == "" {
		if flags.name != "" {
			return nil, advice.Hint(advice.Usagef("--name needs --config, the run that it names"), "e.g. --config fhn --name %s", flags.name)
		}
		return nil, nil
	}
	if strings.Contains(flags.config, "=") {
		return nil, advice.Hint(advice.Usagef("--config takes a preset or a file"), "put %s into a file, or use: %s", flags.config, a.command("submit"))
	}
	resolved, overrides, err := a.resolve([]string{flags.config})
	if err != nil {
		return nil, err
	}
	o := &order{name: flags.name, config: resolved.Config, overrides: overrides, command: []string{"coordinator", "--config", flags.config}}
	data, err := job.LoadData(&o.config, nil)
	if err != nil {
		return nil, err
	}
	if data != nil {
		if o.scale, err = data.Normalisation(); err != nil {
			return nil, err
		}
		if err := h.store.Keep(data.Encoded); err != nil {
			return nil, session.DiskHint(err, nil, a.command)
		}
	}
	if o.name == "" {
		o.name = job.Stem(o.config) + "-1"
	}
	return o, h.check(*o)
}

// serve leads runs until ctx ends. The broker may come later.
func (h *host) serve(ctx context.Context, page *web.Server, first *order, url string) (err error) {
	inner, cancel := context.WithCancel(context.Background())
	parts := make(chan error, 2)
	running := 0
	defer func() {
		interrupted := h.shutdown()
		cancel()
		for range running {
			err = errors.Join(err, <-parts)
		}
		if err == nil && len(interrupted) > 0 {
			err = interruptedRuns(interrupted)
		}
	}()
	if page != nil {
		h.log.Info("page", "url", page.URL())
		running++
		go func() { parts <- page.Serve(inner) }()
	}
	if !h.awaitBroker(ctx, url) {
		return nil
	}
	h.pool = pool.NewDispatcher(pool.Config{Numerics: h.numerics, View: h.view, Log: h.log}, h.faults.Bus(h.bus))
	control, err := h.alone(ctx, url)
	if err != nil || control == nil {
		return err
	}
	running++
	go func() { parts <- h.pool.Run(inner) }()
	h.log.Info("coordinator ready", "broker", url, "runs", h.app.runsDir)
	err = h.lead(first)
	if err == nil {
		err = h.watchRivals(ctx, control.Identity(), url)
	}
	return errors.Join(err, control.Stop())
}

// lead goes on with the runs that are there and opens the first.
func (h *host) lead(first *order) error {
	if err := h.resumeAll(); err != nil {
		return err
	}
	if first != nil {
		if err := h.openFirst(*first); err != nil {
			return err
		}
	}
	if len(h.under()) == 0 {
		h.log.Info("no run is under way", "next", h.app.invoked+" submit PRESET")
	}
	return nil
}

func (h *host) openFirst(o order) error {
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.stopped(o.name) {
		h.log.Warn("the run of --config was stopped on request and is left alone", "run", o.name, "next", "submit it under this name to go on")
		return nil
	}
	result, err := h.open(o)
	if err != nil {
		return err
	}
	h.log.Info("run of --config", "run", result.Name, "state", result.State)
	return nil
}

// brokerWait is the time between two lines about a broker that is not there.
const brokerWait = 10 * time.Second

// awaitBroker waits for the connection and reports whether it came before the end of ctx.
func (h *host) awaitBroker(ctx context.Context, url string) bool {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	told := began
	for {
		trouble := h.bus.Trouble()
		if trouble == "" {
			return true
		}
		if now := time.Now(); now.Sub(told) >= brokerWait {
			told = now
			h.log.Info("waiting for the broker", "url", url, "for", readable.Short(now.Sub(began)), "reason", trouble)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// rivalWait is how long another coordinator on the same broker has to answer, rivalLook the time between two looks for one.
// The broker says what a key may not do in its own time: for roleWait after the start that ends the coordinator.
const (
	rivalWait = time.Second
	rivalLook = 15 * time.Second
	roleWait  = 5 * time.Second
)

// alone offers the service, unless another coordinator is there: two would pull the workers to and fro. Of two that
// start at the same time the older stays. It returns no server if ctx ended first.
func (h *host) alone(ctx context.Context, url string) (*control.Server, error) {
	found, err := control.Hosts(ctx, h.bus.Conn(), rivalWait)
	if ctx.Err() != nil {
		return nil, nil
	}
	if err := errors.Join(err, wrongRole(h.bus, "coordinator")); err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return nil, rival(found[0], url)
	}
	server, err := control.Serve(h.bus.Conn(), control.ServerConfig{Host: service{h}, Version: release.Version(), Log: h.log})
	if err != nil {
		return nil, err
	}
	err = h.older(ctx, server.Identity(), url, rivalWait/4)
	if err := errors.Join(err, wrongRole(h.bus, "coordinator")); err != nil && ctx.Err() == nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// older returns an error if a coordinator answers that was there before this one.
func (h *host) older(ctx context.Context, own control.Identity, url string, within time.Duration) error {
	found, err := control.Hosts(ctx, h.bus.Conn(), within)
	if err != nil {
		return err
	}
	for _, i := range found {
		if i.ID != own.ID && i.Before(own) {
			return rival(i, url)
		}
	}
	return nil
}

// watchRivals waits for the end of ctx. It ends earlier, with an error, if an older coordinator appears: brokers that were
// apart when this one was started have found each other.
func (h *host) watchRivals(ctx context.Context, own control.Identity, url string) error {
	ticker, role := time.NewTicker(h.look), time.NewTicker(rivalWait/8)
	defer ticker.Stop()
	defer role.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-role.C:
			if err := wrongRole(h.bus, "coordinator"); err != nil {
				return err
			}
			if time.Since(began) > roleWait {
				role.Stop()
			}
			continue
		case <-ticker.C:
		}
		if h.bus.Trouble() != "" {
			continue
		}
		err := h.older(ctx, own, url, rivalWait)
		if errors.Is(err, errRival) && ctx.Err() == nil {
			return err
		}
		if err != nil {
			h.log.Debug("looking for other coordinators", "error", err)
		}
	}
}

// errRival is the error of a second coordinator.
var errRival = errors.New("there is to be one coordinator for a broker")

func rival(i control.Identity, url string) error {
	return advice.Hint(fmt.Errorf("%w: another (%s, started %s) answers at %s", errRival, i.Version, i.Started.Local().Format(time.DateTime), url), "it leads any number of runs: switchyard submit; or stop it, and start this one again")
}

// interruptedRuns is the error of runs that the end of their coordinator has interrupted.
type interruptedRuns []string

func (e interruptedRuns) Error() string {
	return fmt.Sprintf("interrupted with a checkpoint: %s; they go on when the coordinator is started again", strings.Join(e, ", "))
}

func (interruptedRuns) Unwrap() error { return coordinator.ErrInterrupted }
