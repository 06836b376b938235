package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

const (
	tick          = 20 * time.Millisecond // interval of the loop that carries out the schedule
	statusEvery   = time.Second
	sampleEvery   = 10 * time.Second
	startPatience = 60 * time.Second // until the run folder exists
)

// conductor carries out a plan: it looks at the processes every tick, and does what the schedule says is due. The
// schedule begins when the run makes its first steps, so that a slow start misses no event.
type conductor struct {
	*fleet
	schedule *schedule
	meter    *meter
	samples  *samples
	began    time.Time
	worked   time.Time     // since when the run makes steps, and the schedule counts; zero: it makes none yet
	acted    map[act]int64 // events that had a target
	servers  int64         // killed with their workers, when they had reached another one

	// A coordinator is killed only when there is a checkpoint that none before it went on from: otherwise a run whose
	// coordinators die young would never restore one.
	restored uint64    // newest checkpoint at the last kill of a coordinator
	held     *event    // the kill that waits for a checkpoint; nil: none
	heldTo   time.Time // when it is carried out, once there is one
	late     bool      // it has had to wait
}

// Run trains under faults until the last step of the run, or for Duration, and ends all processes. When ctx ends, Run
// ends them as well and returns the context's error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	c, err := newFleet(cfg)
	if err != nil {
		return nil, err
	}
	defer c.close()
	samples, err := newSamples(filepath.Join(cfg.Folder, "samples.csv"))
	if err != nil {
		return nil, err
	}
	k := &conductor{
		fleet: c, schedule: newSchedule(cfg.Plan.Seed, cfg.Plan), meter: newMeter(c.page, cfg.Name), samples: samples,
		began: time.Now(), acted: make(map[act]int64),
	}
	result, err := k.run(ctx)
	return result, errors.Join(err, samples.close())
}

// run starts the processes, carries out the plan, ends the processes, and only then reads what the run has come
// to.
func (k *conductor) run(ctx context.Context) (*Result, error) {
	if err := k.begin(); err != nil {
		return nil, err
	}
	if err := k.conduct(ctx); err != nil {
		return nil, err
	}
	seconds := time.Since(k.began).Seconds()
	k.meter.read(ctx)
	if err := k.end(); err != nil {
		return nil, err
	}
	info, err := k.info()
	if err != nil {
		return nil, err
	}
	r := &Result{
		Step: info.Checkpoint, SHA256: info.ParametersSHA256, Finished: info.State == store.Finished, Seconds: seconds,
		Exits: k.exits, Coordinators: k.coordinator.generation, Growth: k.samples.growth(),
	}
	if r.Faults, err = k.faults(); err != nil {
		return nil, err
	}
	r.Effects = k.meter.effects()
	r.Effects.Servers = k.servers
	if r.Effects.Restores, err = k.restores(); err != nil {
		return nil, err
	}
	r.Idle = idle(&k.cfg, r.Faults, &r.Effects)
	// Without a checkpoint there is nothing to compare.
	if r.Step == 0 {
		return nil, fmt.Errorf("%w: it has written no checkpoint (state %s)", ErrFailed, info.State)
	}
	if r.Useful, err = k.useful(info); err != nil {
		return nil, err
	}
	r.Issued = max(k.meter.issued(info), r.Useful) // a useful shard was issued, even if the counter was not read in time
	return r, nil
}

// conduct carries out the schedule until the run is over, or its Duration is.
func (k *conductor) conduct(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var status, sample time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		now := time.Now()
		if err := k.tend(now); err != nil {
			return err
		}
		if err := k.act(ctx, now); err != nil {
			return err
		}
		if now.Sub(sample) >= sampleEvery {
			sample = now
			if err := k.sample(now); err != nil {
				return err
			}
		}
		if now.Sub(status) >= statusEvery {
			status = now
			over, err := k.look(ctx, now)
			if over || err != nil {
				return err
			}
		}
	}
}

// act carries out what is due. Kills of the coordinator are held back until there is a checkpoint that none
// before has restored; then they come at once, or, if they had to wait, at a random moment within a second. While
// one is held back, further ones are left out.
func (k *conductor) act(ctx context.Context, now time.Time) error {
	if k.worked.IsZero() {
		return nil
	}
	for _, e := range k.schedule.due(now.Sub(k.worked)) {
		if e.act == killCoordinator {
			if k.held == nil {
				k.held, k.heldTo = &e, time.Time{}
			}
			continue
		}
		if err := k.do(ctx, e); err != nil {
			return err
		}
	}
	if k.held == nil {
		return nil
	}
	saved, err := k.saved()
	switch {
	case err != nil || saved <= k.restored: // a folder that is being changed is read at the next tick
		k.late = true
		return nil
	case k.heldTo.IsZero() && k.late: // at any moment between two checkpoints
		k.heldTo = now.Add(time.Duration(k.held.pick * float64(maxDown)))
	}
	if now.Before(k.heldTo) {
		return nil
	}
	e := *k.held
	k.held, k.late, k.restored = nil, false, saved
	return k.do(ctx, e)
}

// saved is the step of the newest checkpoint; 0: there is none.
func (k *conductor) saved() (uint64, error) {
	list, err := checkpoint.List(filepath.Join(k.cfg.Folder, "runs", k.cfg.Name, store.Checkpoints))
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[len(list)-1].Step, nil
}

// look records the progress of the run, and reports whether it is over: at its last step, or after Duration. A
// run that has failed, or that has no folder after startPatience, is ErrFailed.
func (k *conductor) look(ctx context.Context, now time.Time) (over bool, err error) {
	k.meter.read(ctx)
	elapsed := now.Sub(k.began)
	// From here on the schedule counts.
	if k.worked.IsZero() && (k.meter.working() || elapsed > startPatience) {
		k.worked = now
	}
	info, err := k.info()
	if errors.Is(err, fs.ErrNotExist) {
		if elapsed > startPatience {
			return false, fmt.Errorf("%w: it has no folder after %v; the log of its coordinator ends:\n%s", ErrFailed,
				startPatience, k.tail(k.coordinator))
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if k.cfg.Progress != nil {
		faults, err := k.faults()
		if err != nil {
			return false, err
		}
		k.cfg.Progress(Status{Elapsed: elapsed, Step: info.Step, Steps: info.Steps, Workers: k.present(), Faults: faults})
	}
	switch info.State {
	case store.Finished:
		return true, nil
	case store.Failed:
		return false, fmt.Errorf("%w: %s", ErrFailed, info.ExitReason)
	}
	return k.cfg.Duration > 0 && !k.worked.IsZero() && now.Sub(k.worked) >= k.cfg.Duration, nil
}

// info is what run.json holds.
func (k *conductor) info() (store.Info, error) { return readRun(k.cfg) }

// readRun reads run.json without a lock, which could hinder a starting coordinator.
func readRun(cfg Config) (store.Info, error) {
	return store.Peek(filepath.Join(cfg.Folder, "runs"), cfg.Name)
}

// present counts the workers that run and are not paused.
func (k *conductor) present() int {
	n := 0
	for _, x := range k.workers {
		if x.running() && x.halted.IsZero() {
			n++
		}
	}
	return n
}

// do carries out an event. An event without a target is skipped and not counted.
func (k *conductor) do(ctx context.Context, e event) error {
	target := k.target(e)
	if target == nil {
		return nil
	}
	k.cfg.Log.Info(e.act.String(), "process", target.name, "generation", target.generation, "for",
		e.down.Round(time.Millisecond))
	k.acted[e.act]++
	target.failures = 0
	if e.act == pauseWorker {
		return k.pause(target, e.down)
	}
	// What it has counted since the last look is lost with it.
	if e.act == killCoordinator {
		k.meter.read(ctx)
	}
	if err := k.kill(target, e.down); err != nil || !k.cfg.Servers || e.act != killWorker {
		return err
	}
	joined, err := k.joined(target)
	if joined {
		k.servers++
	}
	return err
}

// target chooses the process for an event. The first worker is paused but never killed, so that a leak in a worker has
// time to show. If there is only one worker, it is killed too.
func (k *conductor) target(e event) *child {
	switch e.act {
	case killCoordinator:
		return running(k.coordinator)
	case restartBroker:
		return running(k.broker)
	}
	candidates := k.workers
	if e.act == killWorker && len(candidates) > 1 {
		candidates = candidates[1:]
	}
	var list []*child
	for _, x := range candidates {
		if x.running() && x.halted.IsZero() {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[min(int(e.pick*float64(len(list))), len(list)-1)]
}

// running is x if it runs, else nil.
func running(x *child) *child {
	if x.running() {
		return x
	}
	return nil
}

// faults counts the faults of all processes, including those that they injected into themselves.
func (k *conductor) faults() (map[string]int64, error) {
	total := make(map[string]int64)
	for act := range acts {
		total[act.String()] = k.acted[act]
	}
	counted, err := k.counted()
	if err != nil {
		return nil, err
	}
	for name, n := range counted {
		total[name] += n
	}
	return total, nil
}
