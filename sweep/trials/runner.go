package trials

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
)

// runner does the work of the trials of one sweep with a host. It implements sweep.Runner; its methods may be
// called concurrently.
type runner struct {
	name    string
	spec    *sweep.Spec
	base    *Base
	keep    Keep
	host    *lead.Host
	runsDir string
	log     hclog.Logger
	threads int // of an evaluation

	mu      sync.Mutex
	configs map[string]config.Config // of the last settings
}

// maxConfigs is the number of configurations that a runner remembers.
const maxConfigs = 1024

// config is the configuration of a trial. It is asked for when the trial is proposed, and again for each leg. The
// copy belongs to the caller. When too many are remembered, all are forgotten.
func (r *runner) config(s sweep.Settings) (config.Config, error) {
	key := strings.Join(s.Arguments(), "\n")
	r.mu.Lock()
	c, ok := r.configs[key]
	r.mu.Unlock()
	if ok {
		return c.Clone(), nil
	}
	c, err := r.base.Of(s)
	if err != nil {
		return c, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.configs == nil || len(r.configs) >= maxConfigs {
		r.configs = map[string]config.Config{}
	}
	r.configs[key] = c
	return c.Clone(), nil
}

var _ sweep.Runner = (*runner)(nil)

// RunName is the name of a replicate of a trial, both from 1: SWEEP-0007, or SWEEP-0007-2 if trials have several.
// Names of trials sort by number up to 9999.
func RunName(name string, trial, replicate, replicates int) string {
	if replicates == 1 {
		return fmt.Sprintf("%s-%04d", name, trial)
	}
	return fmt.Sprintf("%s-%04d-%d", name, trial, replicate)
}

// maxName is the longest name of a sweep, so that those of its runs are valid.
const maxName = 48

// Check implements sweep.Runner. The error is the *config.Error of a configuration that is not valid.
func (r *runner) Check(s sweep.Settings) ([]uint64, error) {
	c, err := r.config(s)
	if err != nil {
		return nil, err
	}
	return r.base.Rungs(r.spec.Stop, c), nil
}

// Capacity implements sweep.Runner: one leg for each worker, and as many again: while a worker serves a run, the next
// one is opened for it and the last one closed, both of which wait for the disk.
func (r *runner) Capacity() int { return 2 * max(r.host.Workers(), 1) }

// Lead implements sweep.Runner. The run is one of the host, which goes on from its newest checkpoint: after the
// process was killed, it makes the updates since then again, to the same bits. Metrics are measured when it has
// reached the rung.
func (r *runner) Lead(ctx context.Context, l sweep.Leg) (sweep.Result, error) {
	c, err := r.config(l.Settings)
	if err != nil {
		return sweep.Result{}, err
	}
	order := lead.Order{
		Name: RunName(r.name, l.Trial, l.Replicate, l.Replicates), Config: c, Sweep: r.name,
		Overrides: r.base.Overrides(l.Settings), Command: []string{"sweep", r.name},
	}
	r.miss(order.Name, l.From)
	info, err := r.patient(ctx, order.Name, func() (store.Info, error) {
		if err := r.host.Prepare(&order); err != nil {
			return store.Info{}, err
		}
		return r.host.Advance(ctx, order, l.Step)
	})
	if err != nil {
		return sweep.Result{}, ending(err, order.Name)
	}
	type measured struct {
		result sweep.Result
		err    error
	}
	// An evaluation does not know ctx. It runs beside, and is left behind if ctx ends first.
	done := make(chan measured, 1)
	go func() {
		result, err := r.measure(order, info, l.Step)
		done <- measured{result, err}
	}()
	select {
	case m := <-done:
		return m.result, m.err
	case <-ctx.Done(): // a measurement is not waited for: the sweep makes it anew when it goes on
		return sweep.Result{}, sweep.ErrInterrupted
	}
}

// patient does something for a run, again and again while the disk, a quota or the system has no room for it: a trial
// that cannot begin has not failed. A run that is under way waits for its disk by itself. The end of ctx ends the wait.
func (r *runner) patient(ctx context.Context, run string, act func() (store.Info, error)) (info store.Info, err error) {
	room := lead.AwaitRoom(ctx, func(told bool) bool {
		info, err = act()
		if lead.NoRoom(err) && told {
			r.log.Error("the run of a trial waits for its disk", "run", run, "error", err, "remedy",
				"free some space; it is tried again")
		}
		return lead.NoRoom(err)
	})
	if !room {
		err = lead.ErrPartInterrupted
	}
	return info, err
}

// miss warns of a run that has made updates for the sweep and is not there any more. It is trained again: the same
// bits, at the same cost.
func (r *runner) miss(run string, from uint64) {
	if from == 0 {
		return
	}
	if _, err := store.Peek(r.runsDir, run); errors.Is(err, store.ErrNotFound) {
		r.log.Warn("the run of a trial is gone and is trained again from the beginning, to the same bits", "run", run,
			"updates", from, "runs_dir", r.runsDir,
			"hint", "it was removed or renamed, or the sweep began with another folder of runs; then lead it there")
	}
}

// ending is what the end of a run before its rung means to the sweep. An error that is none of these is a
// failure, and the leg is tried again.
func ending(err error, run string) error {
	switch {
	case errors.Is(err, lead.ErrPartInterrupted):
		return sweep.ErrInterrupted
	case errors.Is(err, lead.ErrPartStopped):
		return fmt.Errorf("%w: run %s", sweep.ErrPreempted, run)
	case errors.Is(err, coordinator.ErrDiverged):
		return fmt.Errorf("%w: %w", sweep.ErrDiverged, err)
	}
	return err
}

// Drop implements sweep.Runner. A run that goes no further loses its checkpoints and its log, unless all are kept.
func (r *runner) Drop(trial, replicate, replicates int) {
	if r.keep != KeepAll {
		r.discard(RunName(r.name, trial, replicate, replicates))
	}
}

// discard deletes what needs much space of a run: its checkpoints and its log. Configuration and metrics stay. A run
// that only has the name of a trial, because of which that has failed, is left alone. A failure is logged; it only
// costs space.
func (r *runner) discard(run string) {
	info, err := store.Peek(r.runsDir, run)
	if errors.Is(err, store.ErrNotFound) || err == nil && info.Sweep != r.name {
		return
	}
	if err == nil {
		folder := filepath.Join(r.runsDir, run)
		err = errors.Join(disk.RemoveTree(disk.System(), filepath.Join(folder, store.Checkpoints)),
			disk.RemoveTree(disk.System(), filepath.Join(folder, store.Log)))
	}
	if err != nil {
		r.log.Warn("the checkpoints of a run stay on the disk", "run", run, "error", err)
	}
}
