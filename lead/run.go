package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"

	"github.com/switchyard-ml/switchyard/internal/terminal"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// hosted is a run that a host leads. The process holds its folder from create or resume on. The fields above ctx are
// set before conduct begins and not changed later, but for err.
//
// It ends when the coordinator has made its last step or failed, or when stop is called, with errStop on request and
// errShutdown for the end of ctx of a part; the end of the host ends it, too. A coordinator that is stopped writes a
// checkpoint first.
type hosted struct {
	name  string
	run   *store.Run
	plan  *job.Plan
	from  *checkpoint.Checkpoint // nil: from the first step
	until uint64                 // the update at which it pauses; 0: none
	err   error                  // how it ended; set before done is closed
	bus   *cluster.Bus
	lead  *coordinator.Coordinator
	watch *hostWatch

	// ctx is that of the coordinator; it ends with the life of the host, or by stop.
	ctx      context.Context
	stop     context.CancelCauseFunc
	stopping atomic.Bool   // somebody has asked for the end
	done     chan struct{} // closed when the run has ended and its folder is released
}

// create opens a new run. The lock opening is held.
func (h *Host) create(o Order) (ops.Submitted, error) {
	r, err := h.createUntil(o, 0)
	if err != nil {
		return ops.Submitted{}, err
	}
	return ops.Submitted{Name: r.name, State: ops.Started}, nil
}

// createUntil opens a new run that pauses at an update; 0: it does not pause. The folder is made whole before
// anything of it is led; if the run cannot begin then, run.json says why.
func (h *Host) createUntil(o Order, until uint64) (*hosted, error) {
	data, err := job.StoredData(h.store, o.Config, o.Scale)
	if err != nil {
		return nil, err
	}
	p, err := h.planned(o.Config, data)
	if err != nil {
		return nil, err
	}
	run, err := p.MakeRun(h.cfg.RunsDir, job.Origin{
		Name: o.Name, Overrides: o.Overrides, Command: o.Command, Host: true,
		Sweep: o.Sweep,
	})
	if err != nil {
		return nil, DiskHint(err, nil, h.cfg.Command)
	}
	r := &hosted{name: run.Name(), run: run, plan: p, until: until}
	if err := h.begin(r); err != nil {
		return nil, errors.Join(DiskHint(err, run, h.cfg.Command), run.End(store.Failed, err.Error()), run.Close())
	}
	return r, nil
}

// resume continues a run from its newest valid checkpoint. The lock opening is held.
func (h *Host) resume(name string) error {
	_, err := h.resumeUntil(name, 0)
	return err
}

// resumeUntil continues a run that pauses at an update; 0: it does not pause.
func (h *Host) resumeUntil(name string, until uint64) (*hosted, error) {
	c, err := job.ReadConfig(h.cfg.Kinds, h.cfg.RunsDir, name)
	if err != nil {
		return nil, err
	}
	run, err := store.Open(h.cfg.RunsDir, name)
	if err != nil {
		return nil, err
	}
	var r *hosted
	state := store.Failed
	from, skipped, err := Restore(run, h.cfg.Command)
	if err == nil {
		// An error after this point does not damage the checkpoint: the run can continue when its cause is removed.
		state = store.Interrupted
		r, err = h.reopen(run, c, from, skipped, until)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("continue run %s: %w", name, err), run.End(state, err.Error()), run.Close())
	}
	return r, nil
}

// reopen reads what the plan of a held run needs, records that the run continues after from, nil for the initial
// parameters, and begins to lead it. skipped are the reasons why newer checkpoints cannot be used.
func (h *Host) reopen(run *store.Run, c config.Config, from *checkpoint.Checkpoint, skipped []error,
	until uint64,
) (*hosted, error) {
	for _, s := range skipped {
		h.log.Warn("checkpoint skipped", "run", run.Name(), "reason", s)
	}
	step := uint64(0)
	if from != nil {
		step = from.Step
	}
	scale, err := job.StoredScale(c, run.Folder())
	if err != nil {
		return nil, err
	}
	data, err := job.StoredData(h.store, c, scale)
	if err != nil {
		return nil, err
	}
	p, err := h.planned(c, data)
	if err != nil {
		return nil, err
	}
	if err := run.Begin(step); err != nil {
		return nil, err
	}
	if err := run.Update(func(i *store.Info) { i.Host, i.Stopped = true, false }); err != nil {
		return nil, err
	}
	r := &hosted{name: run.Name(), run: run, plan: p, from: from, until: until}
	return r, h.begin(r)
}

// planned is job.NewPlan for a configuration from another process. If the model panics, only this run ends, not the
// process with all other runs.
func (h *Host) planned(c config.Config, data *job.Data) (p *job.Plan, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("build the model: %v", fault)
		}
	}()
	p, err = h.planner.Plan(c, data, 0)
	if err == nil {
		p.Numerics = h.numerics
	}
	return p, err
}

// begin starts to lead a run. If it returns an error, nothing runs, and the caller records the error and releases
// the folder.
func (h *Host) begin(r *hosted) error {
	log := h.log.With("run", r.name)
	disk := h.cfg.Faults.Disk(disk.System())
	r.run.Use(disk)
	r.ctx, r.stop = context.WithCancelCause(h.life)
	r.done = make(chan struct{})
	r.watch = &hostWatch{Watch: NewWatch(WatchConfig{
		Plan: r.plan, Run: r.run, From: r.from, Show: NewProgressLog(log).Show, Events: h.cfg.Events && r.until == 0,
		Advise: true, Log: log,
	})}
	bus, err := h.cfg.Connect("run " + r.name)
	if err != nil {
		return err
	}
	r.bus = bus
	cfg := r.plan.Lead(r.run.Name(), r.run.Folder())
	cfg.Disk, cfg.Gate, cfg.Memory = disk, h.bans.Gate, h.cfg.Memory
	cfg.Ending = func() { h.pool.Close(r.name) } // its workers seek another run, while its last files are written
	if r.until > 0 {
		cfg.Steps = min(cfg.Steps, r.until) // the schedules follow train.steps of the configuration, which stays
	}
	r.lead, err = NewCoordinator(r.ctx, Leadership{
		Plan: r.plan, Config: cfg, From: r.from, Bus: h.cfg.Faults.Bus(h.direct(bus)), Observer: r.watch, Log: log,
	})
	if err != nil {
		bus.Close()
		return err
	}
	// From here on the page and the dispatcher see the run.
	h.mu.Lock()
	known := h.led[r.name] // then it has told its workers to leave
	h.runs[r.name], h.led[r.name] = r, true
	h.mu.Unlock()
	h.pool.Open(Run{Name: r.name, Limit: job.RoundShards(r.plan.Config)}, r.from != nil && !known)
	h.all.Go(func() { h.conduct(r) })
	return nil
}

// conduct leads a run to its end and records how it ended. It is the goroutine of the run. The order matters:
// metrics and run.json are written while the folder is held, the folder is released before the run disappears from
// the host, and done is closed last, so whoever waits for done can open the run again.
func (h *Host) conduct(r *hosted) {
	began := time.Now()
	err := r.lead.Run(r.ctx)
	h.pool.Close(r.name) // if it was never open
	// Files that the disk did not take are tried again, until the run is to end.
	err = errors.Join(err, r.watch.Finish(r.ctx))
	r.bus.Close()
	onRequest := errors.Is(context.Cause(r.ctx), errStop)
	state, reason := ending(err, onRequest)
	// The coordinator has made all steps that it was given, which are those of a part.
	if state == store.Finished && r.until > 0 && r.until < r.plan.Config.Train.Steps {
		state, reason = store.Interrupted, fmt.Sprintf("pauses at update %d of its sweep", r.until)
	}
	stats := r.lead.Stats()
	recorded := r.watch.Ended(func(i *store.Info) {
		i.State, i.ExitReason, i.Stopped = state, reason, state == store.Interrupted && onRequest
		if state == store.Finished {
			i.ExitReason = i.Early()
		}
		// of this coordinator
		i.Metrics["shards_issued"], i.Metrics["shards_useful"] = float64(stats.Issued), float64(stats.Useful)
	})
	info := r.watch.Info()
	log := h.log.With("run", r.name)
	if r.err = err; onRequest {
		r.err = errors.Join(errStop, err)
	}
	if recorded = errors.Join(recorded, r.run.Close()); recorded != nil {
		log.Error("the end of the run could not be recorded", "error", recorded)
	}
	switch state {
	case store.Finished:
		log.Info("run finished", "steps", info.Step, "params_sha256", info.ParametersSHA256, "time",
			terminal.Short(time.Since(began)))
	case store.Interrupted:
		log.Info("run interrupted", "reason", reason, "checkpoint", info.Checkpoint)
	default:
		log.Error("run failed", "step", info.Step, "reason", reason, "hint",
			config.HintOf(DiskHint(err, r.run, h.cfg.Command)))
	}
	h.mu.Lock()
	delete(h.runs, r.name)
	if state == store.Interrupted && !onRequest && info.Sweep == "" {
		h.interrupted = append(h.interrupted, r.name)
	}
	h.mu.Unlock()
	close(r.done)
}

// ending returns the state of a run after the end of its coordinator, and the reason.
func ending(err error, onRequest bool) (state store.State, reason string) {
	switch {
	case err == nil:
		return store.Finished, ""
	case !errors.Is(err, coordinator.ErrInterrupted):
		return store.Failed, err.Error()
	case onRequest:
		return store.Interrupted, errStop.Error()
	}
	return store.Interrupted, errShutdown.Error()
}

// hostWatch is the watch of one run among others. It has no screen; it keeps what the page shows. Its lock is never
// held together with that of the Watch.
type hostWatch struct {
	*Watch

	notes        sync.Mutex // guards the fields below
	waitingSince time.Time
	checkpointed time.Time
}

var _ coordinator.Observer = (*hostWatch)(nil)

// Membership implements coordinator.Observer. The coordinator logs the members and the reasons for waiting itself. A
// report while the run waits says for how long it has done so.
func (w *hostWatch) Membership(r coordinator.MembershipReport) {
	w.notes.Lock()
	if w.waitingSince = (time.Time{}); r.Waiting != "" {
		w.waitingSince = time.Now().Add(-time.Duration(r.Seconds * float64(time.Second)))
	}
	w.notes.Unlock()
	w.Waiting(r.Workers, r.Waiting)
}

// Checkpoint implements coordinator.Observer.
func (w *hostWatch) Checkpoint(r coordinator.CheckpointReport) {
	w.notes.Lock()
	w.checkpointed = time.Now()
	w.notes.Unlock()
	w.Watch.Checkpoint(r)
}
