package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
)

// hosted is an opened run that a host leads. The process holds its folder from create or resume on. The fields above
// ctx are set before conduct begins and not changed later, but for err.
//
// It ends when the coordinator has made its last step or failed, or when stop is called, with errStop on request and
// errSweep for the end of ctx of a part; the end of the host ends it, too. A coordinator that is stopped writes a
// checkpoint first.
type hosted struct {
	*Opened
	name  string
	until uint64 // the update at which it pauses; 0: none
	err   error  // how it ended; set before done is closed
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
	data, err := job.StoredData(h.cfg.RunsDir, o.Config, o.Scale)
	if err != nil {
		return nil, err
	}
	p, err := h.planned(o.Config, data)
	if err != nil {
		return nil, err
	}
	run, err := p.MakeRun(h.cfg.RunsDir, job.Origin{
		Name: o.Name, Overrides: o.Overrides, Command: o.Command, Host: true,
		Sweep: o.Sweep, Request: o.Request,
	})
	if err != nil {
		return nil, DiskHint(err, nil, h.cfg.Command)
	}
	r := &hosted{Opened: &Opened{Run: run, Plan: p, begun: true}, name: run.Name(), until: until}
	if err := h.begin(r); err != nil {
		info := run.Info()
		recorded := run.End(ending(&info, err, context.Cause(r.ctx)))
		return nil, errors.Join(DiskHint(err, run, h.cfg.Command), recorded, run.Close())
	}
	return r, nil
}

// resume continues a run from its newest valid checkpoint, until it pauses at an update; 0: it does not pause. The lock
// opening is held.
func (h *Host) resume(name string, until uint64) (*hosted, error) {
	c, err := job.ReadConfig(h.cfg.Kinds, h.cfg.RunsDir, name)
	if err != nil {
		return nil, err
	}
	run, err := store.Open(h.cfg.RunsDir, name)
	if err != nil {
		return nil, err
	}
	r := &hosted{Opened: &Opened{Run: run}, name: name, until: until}
	state := store.Failed
	if r.From, r.Skipped, err = Restore(run, h.cfg.Command); err == nil {
		// An error after this point does not damage the checkpoint: the run can continue when its cause is removed.
		state = store.Interrupted
		err = h.reopen(r, c)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("continue run %s: %w", name, err), run.End(state, err.Error()), run.Close())
	}
	return r, nil
}

// reopen reads what the plan of a held run needs, records that the run continues after its checkpoint, and begins to
// lead it.
func (h *Host) reopen(r *hosted, c config.Config) error {
	for _, s := range r.Skipped {
		h.log.Warn("checkpoint skipped", "run", r.name, "reason", s)
	}
	scale, err := job.StoredScale(c, r.Run.Folder())
	if err != nil {
		return err
	}
	data, err := job.StoredData(h.cfg.RunsDir, c, scale)
	if err != nil {
		return err
	}
	if r.Plan, err = h.planned(c, data); err != nil {
		return err
	}
	if err := r.Begin(); err != nil {
		return err
	}
	if err := r.Run.Update(func(i *store.Info) { i.Host, i.Stopped = true, false }); err != nil {
		return err
	}
	return h.begin(r)
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
	r.Run.Use(disk)
	r.ctx, r.stop = context.WithCancelCause(h.life)
	r.done = make(chan struct{})
	r.watch = &hostWatch{Watch: NewWatch(WatchConfig{
		Plan: r.Plan, Run: r.Run, From: r.From, Show: NewProgressLog(log).Show, Events: h.cfg.Events && r.until == 0,
		Advise: true, Log: log,
	})}
	bus, err := h.cfg.Connect("run " + r.name)
	if err != nil {
		return err
	}
	r.bus = bus
	cfg := r.Plan.Lead(r.name, r.Run.Folder())
	cfg.Disk, cfg.Gate, cfg.Memory = disk, h.bans.Gate, h.cfg.Memory
	cfg.Ending = func() { h.pool.Close(r.name) } // its workers seek another run, while its last files are written
	if r.until > 0 {
		cfg.Steps = min(cfg.Steps, r.until) // the schedules follow train.steps of the configuration, which stays
	}
	r.lead, err = NewCoordinator(r.ctx, Leadership{
		Plan: r.Plan, Config: cfg, From: r.From, Bus: h.cfg.Faults.Bus(h.direct(bus)), Observer: r.watch, Log: log,
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
	h.pool.Open(Run{Name: r.name, Limit: job.RoundShards(r.Plan.Config)}, r.From != nil && !known)
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
	log := h.log.With("run", r.name)
	if recorded := r.end(err); recorded != nil {
		log.Error("the end of the run could not be recorded", "error", recorded)
	}
	info := r.watch.Info()
	switch info.State {
	case store.Finished:
		log.Info("run finished", "steps", info.Step, "params_sha256", info.ParametersSHA256, "time",
			terminal.Short(time.Since(began)))
	case store.Interrupted:
		log.Info("run interrupted", "reason", info.ExitReason, "checkpoint", info.Checkpoint)
	default:
		log.Error("run failed", "step", info.Step, "reason", info.ExitReason, "hint",
			config.HintOf(DiskHint(err, r.Run, h.cfg.Command)))
	}
	h.mu.Lock()
	delete(h.runs, r.name)
	if info.State == store.Interrupted && !info.Stopped && info.Sweep == "" {
		h.interrupted = append(h.interrupted, r.name)
	}
	h.mu.Unlock()
	close(r.done)
}

// end records how the run ended, by the error of its coordinator, and releases its folder. Only who stops the run
// makes the coordinator return ErrInterrupted, so that the context has the reason.
func (r *hosted) end(err error) error {
	why := context.Cause(r.ctx)
	onRequest := errors.Is(why, errStop)
	if r.err = err; onRequest {
		r.err = errors.Join(errStop, err)
	}
	stats := r.lead.Stats()
	recorded := r.watch.Ended(func(i *store.Info) {
		i.State, i.ExitReason = ending(i, err, why)
		// The coordinator has made all steps that it was given, which are those of a part, or train.patience has ended it.
		if i.State == store.Finished && r.until > 0 && r.until < r.Plan.Config.Train.Steps && i.Step >= r.until {
			i.State, i.ExitReason = store.Interrupted, fmt.Sprintf("pauses at update %d of its sweep", r.until)
		}
		i.Stopped = onRequest && i.State == store.Interrupted
		// of this coordinator
		i.Metrics["shards_issued"], i.Metrics["shards_useful"] = float64(stats.Issued), float64(stats.Useful)
	})
	return errors.Join(recorded, r.Run.Close())
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

// Step implements coordinator.Observer. A run that makes steps does not wait, and nobody reports the end of a wait.
func (w *hostWatch) Step(r coordinator.StepReport) {
	w.notes.Lock()
	w.waitingSince = time.Time{}
	w.notes.Unlock()
	w.Watch.Step(r)
}

// Checkpoint implements coordinator.Observer.
func (w *hostWatch) Checkpoint(r coordinator.CheckpointReport) {
	w.notes.Lock()
	w.checkpointed = time.Now()
	w.notes.Unlock()
	w.Watch.Checkpoint(r)
}
