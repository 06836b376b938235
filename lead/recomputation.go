package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"

	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// Options configure a recomputation.
type Options struct {
	Workers int    // in this process
	Version string // of the program, for people
	Show    func(Progress)
	Log     hclog.Logger // of the recomputation itself
}

// Progress is how far a recomputation is.
type Progress struct {
	Run      string
	Step, To uint64
	Over     bool // the recomputation has ended
}

// recomputation makes steps of a run again, with workers in this process and in a folder of its own.
type recomputation struct {
	coordinator.Silent
	record *Record
	from   *checkpoint.Checkpoint // nil: the initial parameters
	to     uint64
	check  bool // whether the results are compared with the log

	with Options

	lead   *coordinator.Coordinator
	theta  []float32 // after the last step that was made
	levels []float32
	step   uint64
}

// Step implements coordinator.Observer.
func (r *recomputation) Step(s coordinator.StepReport) {
	r.keep()
	r.with.Show(Progress{Run: r.record.name, Step: s.Step, To: r.to})
}

// keep records the state of the run.
func (r *recomputation) keep() {
	r.theta, r.step = r.lead.Parameters()
	r.levels = r.lead.Levels()
}

// run makes the steps and returns the state after them. If a step differs from the log, run returns a
// coordinator.ReplayError, and theta holds the parameters before that step.
func (r *recomputation) run(ctx context.Context) (*checkpoint.Checkpoint, error) {
	folder, err := os.MkdirTemp("", "switchyard-recompute-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the recomputation: %w", err)
	}
	cp, err := r.runIn(ctx, folder)
	r.with.Show(Progress{Run: r.record.name, Step: r.step, To: r.to, Over: true})
	return cp, errors.Join(err, os.RemoveAll(folder))
}

func (r *recomputation) runIn(ctx context.Context, folder string) (*checkpoint.Checkpoint, error) {
	p := r.record.plan
	name := r.record.name
	if r.from != nil {
		name = r.from.Run
	}
	cfg := p.Lead(name, folder)
	cfg.Steps, cfg.CheckpointEvery, cfg.ValidationShards, cfg.Audit, cfg.AuditSums = r.to, 0, 0, 0, 0
	if err := r.copyLog(cfg.Log); err != nil {
		return nil, err
	}
	transport, err := Embed(Direct, r.with.Log)
	if err != nil {
		return nil, err
	}
	defer transport.Close()
	s := &Session{
		Plan: p, Transport: transport, From: r.from, Workers: r.with.Workers, Slots: 1, Version: r.with.Version,
		Log: r.with.Log, WorkerLog: r.with.Log,
	}
	if r.lead, err = s.Prepare(ctx, cfg, r); err != nil {
		return nil, err
	}
	r.keep()
	if err := s.Lead(ctx); err != nil {
		return nil, err
	}
	cp, _, err := checkpoint.Restore(cfg.Dir)
	return cp, err
}

// copyLog writes the log entries that the steps are compared with.
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
