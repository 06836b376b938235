package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/session"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// record is what a run has left behind. It is only read: the run may be under way.
type record struct {
	name, folder string
	config       config.Config
	log          *coordinator.Log
	plan         *job.Plan
	flags        trainFlags
}

// errNoLog is the error of a run that cannot be compared, as it has logged no step.
var errNoLog = errors.New("the run has no log of its steps")

// openRecord reads the log of a run and builds its plan.
func (a *app) openRecord(name string, flags trainFlags) (*record, error) {
	c, err := a.runConfig(name)
	if err != nil {
		return nil, err
	}
	r := &record{flags: flags, name: name, folder: filepath.Join(a.runsDir, name), config: c}
	path := filepath.Join(r.folder, runs.Log)
	if r.log, err = coordinator.ReadLog(path, 0); err != nil {
		return nil, err
	}
	if r.log.Last == 0 {
		return nil, advice.Hint(fmt.Errorf("%s: %w", path, errNoLog), "a run logs every step; it may not have made one yet")
	}
	scale, err := job.StoredScale(c, r.folder)
	if err != nil {
		return nil, err
	}
	data, err := job.LoadData(&c, scale)
	if err != nil {
		return nil, err
	}
	r.plan, err = job.NewPlan(c, data, flags.slots)
	return r, err
}

// before is the newest checkpoint of at most that step, nil if there is none.
func (r *record) before(step uint64) (*coordinator.Checkpoint, error) {
	cp, _, err := coordinator.RestoreUpTo(filepath.Join(r.folder, runs.Checkpoints), step)
	if errors.Is(err, coordinator.ErrNoCheckpoint) || errors.Is(err, coordinator.ErrCorrupt) {
		return nil, nil
	}
	return cp, err
}

// stepOf is the step of a checkpoint, 0 for the initial parameters.
func stepOf(cp *coordinator.Checkpoint) uint64 {
	if cp == nil {
		return 0
	}
	return cp.Step
}

// recomputation makes steps of a run again, with workers in this process and in a folder of its own.
type recomputation struct {
	coordinator.Silent
	record *record
	from   *coordinator.Checkpoint // nil: the initial parameters
	to     uint64
	check  bool // whether what comes out is compared with the log

	screen *terminal.Screen
	log    hclog.Logger // of what goes on inside

	lead   *coordinator.Coordinator
	theta  []float32 // after the last step that was made
	levels []float32
	step   uint64
}

// Step implements coordinator.Observer.
func (r *recomputation) Step(s coordinator.StepReport) {
	r.keep()
	r.screen.Status(fmt.Sprintf("recomputing %s: step %s/%s", r.record.name, terminal.Group(s.Step), terminal.Group(r.to)))
}

// keep notes the state of the run.
func (r *recomputation) keep() {
	r.theta, r.step = r.lead.Parameters()
	r.levels = r.lead.Levels()
}

// run makes the steps and returns the state after them. A step that differs from the log ends it with a
// coordinator.ReplayError, and theta holds the parameters before that step.
func (r *recomputation) run(ctx context.Context) (*coordinator.Checkpoint, error) {
	folder, err := os.MkdirTemp("", "switchyard-recompute-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the recomputation: %w", err)
	}
	cp, err := r.runIn(ctx, folder)
	r.screen.Finish()
	return cp, errors.Join(err, os.RemoveAll(folder))
}

func (r *recomputation) runIn(ctx context.Context, folder string) (*coordinator.Checkpoint, error) {
	p := r.record.plan
	name := r.record.name
	if r.from != nil {
		name = r.from.Run
	}
	cfg := p.Lead(name, folder)
	cfg.Steps, cfg.CheckpointEvery, cfg.ValidationShards, cfg.Audit = r.to, 0, 0, 0
	if err := r.copyLog(cfg.Log); err != nil {
		return nil, err
	}
	transport, err := session.Embed(session.Direct, r.log)
	if err != nil {
		return nil, err
	}
	defer transport.Close()
	s := &session.Session{
		Plan: p, Transport: transport, From: r.from, Workers: r.record.flags.workers, Slots: r.record.flags.slots, Version: version, Log: r.log, WorkerLog: r.log,
	}
	if r.lead, err = s.Prepare(cfg, r); err != nil {
		return nil, err
	}
	r.keep()
	if err := s.Lead(ctx); err != nil {
		return nil, err
	}
	cp, _, err := coordinator.Restore(cfg.Dir)
	return cp, err
}

// copyLog writes the entries that the steps are to be compared with.
func (r *recomputation) copyLog(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	lines := json.NewEncoder(f)
	for step := stepOf(r.from); r.check && step <= r.to && err == nil; step++ {
		if e, ok := r.record.log.Entries[step]; ok {
			err = lines.Encode(e)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	return nil
}
