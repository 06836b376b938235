package lead

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"

	"github.com/switchyard-ml/switchyard/web"
)

// Serve leads runs until ctx ends: the unfinished ones, and first unless it is nil. The broker may start later.
func (h *Host) Serve(ctx context.Context, page *web.Server, first *Order) (err error) {
	inner, cancel := context.WithCancel(context.Background())
	parts := make(chan error, 3)
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
	if !h.awaitBroker(ctx) {
		return nil
	}
	if h.bans, err = cluster.NewBanList(h.cfg.RunsDir, h.bus, h.log); err != nil {
		return err
	}
	h.pool = NewDispatcher(PoolConfig{Numerics: h.numerics, View: h.view, Gate: h.bans.Gate, Log: h.log},
		h.cfg.Faults.Bus(h.bus))
	server, err := h.alone(ctx)
	if err != nil || server == nil {
		return err
	}
	running += 2
	go func() { parts <- h.pool.Run(inner) }()
	go func() {
		h.bans.Run(inner)
		parts <- nil
	}()
	h.log.Info("coordinator ready", "broker", h.cfg.URL, "runs", h.cfg.RunsDir)
	err = h.lead(first)
	if err == nil && h.cfg.Ready != nil {
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

// lead continues the unfinished runs and opens first.
func (h *Host) lead(first *Order) error {
	if err := h.resumeAll(); err != nil {
		return err
	}
	if first != nil {
		if err := h.openFirst(*first); err != nil {
			return err
		}
	}
	if len(h.under()) == 0 {
		h.log.Info("no run is running", "next", h.cfg.Command("submit", "PRESET"))
	}
	return nil
}

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

// awaitBroker waits for the connection. It reports whether the broker answered before the end of ctx.
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

// interruptedRuns is the error of a coordinator whose end interrupted runs.
type interruptedRuns []string

func (e interruptedRuns) Error() string {
	return fmt.Sprintf("interrupted with a checkpoint: %s; they continue when the coordinator is started again",
		strings.Join(e, ", "))
}

func (interruptedRuns) Unwrap() error { return coordinator.ErrInterrupted }
