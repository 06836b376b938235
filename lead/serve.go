package lead

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/web"
)

// Serve leads runs until ctx ends: the unfinished ones, and first unless it is nil. The broker may start later. It
// returns an error that matches coordinator.ErrInterrupted if it has interrupted runs, and nil if there were none. A
// host serves once.
//
// The page is there first, so that it can show what the host waits for. When the broker answers, the host makes sure
// that it is alone there, begins to assign workers, continues its runs, and hands over to Ready. It ends in another
// order: the service, then what Ready does, then the runs, each with a checkpoint, and last the page, the dispatcher
// and the ban list, which the runs use until then.
func (h *Host) Serve(ctx context.Context, page *web.Server, first *Order) (err error) {
	// inner outlives ctx: what serves the runs ends after them.
	inner, cancel := context.WithCancel(context.Background())
	beside := parts{log: h.log}
	defer func() {
		interrupted := h.shutdown()
		cancel()
		err = errors.Join(err, beside.wait())
		if err == nil && len(interrupted) > 0 {
			err = interruptedRuns(interrupted)
		}
	}()
	// The page and the runs that it continues ask for both, from the first request on.
	if h.bans, err = cluster.NewBanList(h.cfg.RunsDir, h.bus, h.log); err != nil {
		return err
	}
	h.pool = NewDispatcher(PoolConfig{Numerics: h.numerics, View: h.view, Gate: h.bans.Gate, Log: h.log},
		h.cfg.Faults.Bus(h.bus))
	if page != nil {
		h.log.Info("page", "url", page.URL())
		beside.begin(inner, "the page", page.Serve)
	}
	if !h.awaitBroker(ctx) {
		return nil
	}
	server, err := h.alone(ctx)
	if err != nil || server == nil {
		return err
	}
	beside.begin(inner, "the dispatcher of workers", h.pool.Run)
	beside.begin(inner, "the list of bans", func(ctx context.Context) error {
		h.bans.Run(ctx)
		return nil
	})
	h.log.Info("coordinator ready", "broker", h.cfg.URL, "runs", h.cfg.RunsDir)
	later, err := h.lead(first)
	if len(later) > 0 {
		beside.begin(inner, "the wait for room", func(ctx context.Context) error { return h.resumeLater(ctx, later) })
	}
	if err == nil && h.cfg.Ready != nil {
		// What Ready does is ended and waited for before the runs are interrupted.
		ready, stop := context.WithCancel(ctx)
		var sweeps sync.WaitGroup
		sweeps.Go(func() { h.cfg.Ready(ready) })
		defer func() {
			stop()
			sweeps.Wait()
		}()
	}
	if err == nil {
		err = h.watchRivals(ctx, server.Identity())
	}
	return errors.Join(err, server.Stop())
}

// parts are what a host does beside its runs.
type parts struct {
	log     hclog.Logger
	running sync.WaitGroup
	mu      sync.Mutex // guards err
	err     error
}

// begin does a part until ctx ends. A failure before that is logged at once.
func (p *parts) begin(ctx context.Context, name string, part func(context.Context) error) {
	p.running.Go(func() {
		err := part(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.Error(name+" has failed: start the coordinator again, which goes on with its runs", "error", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = errors.Join(p.err, err)
	})
}

// wait returns what went wrong, when all parts have ended.
func (p *parts) wait() error {
	p.running.Wait()
	return p.err
}

// lead continues the unfinished runs and opens first. Runs that cannot continue are logged; a first run that cannot
// be opened is an error. later are the runs for which there was no room.
func (h *Host) lead(first *Order) (later []string, err error) {
	if later, err = h.resumeAll(); err != nil {
		return nil, err
	}
	if first != nil {
		if err := h.openFirst(*first); err != nil {
			return nil, err
		}
	}
	if len(h.under()) == 0 {
		h.log.Info("no run is running", "next", h.cfg.Command("submit", "PRESET"))
	}
	return later, nil
}

// openFirst opens the run that the command line of the host asks for, unless somebody has stopped it before: a
// restart of the host does not undo that.
func (h *Host) openFirst(o Order) error {
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.stopped(o.Name) {
		h.log.Warn("the run of --config was stopped on request and is left alone", "run", o.Name, "next",
			"submit it under this name to continue it")
		return nil
	}
	result, err := h.open(o)
	if err != nil {
		return err
	}
	h.log.Info("run of --config", "run", result.Name, "state", result.State)
	return nil
}

// brokerWait is the time between two log lines that the broker does not answer.
const brokerWait = 10 * time.Second

// awaitBroker waits for the connection. It reports whether the broker answered before the end of ctx. It looks
// several times a second, and logs the reason now and then.
func (h *Host) awaitBroker(ctx context.Context) bool {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	logged := began
	for {
		trouble := h.bus.Trouble()
		if trouble == "" {
			return true
		}
		if now := time.Now(); now.Sub(logged) >= brokerWait {
			logged = now
			h.log.Info("waiting for the broker", "url", h.cfg.URL, "for", terminal.Short(now.Sub(began)), "reason", trouble)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// interruptedRuns is the error of a coordinator whose end interrupted runs. It matches coordinator.ErrInterrupted.
type interruptedRuns []string

func (e interruptedRuns) Error() string {
	return fmt.Sprintf("interrupted with a checkpoint: %s; they continue when the coordinator is started again",
		strings.Join(e, ", "))
}

func (interruptedRuns) Unwrap() error { return coordinator.ErrInterrupted }
