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

// Options configure a recomputation. Show is called after each step, from the goroutine that leads the
// recomputation; it must not be nil.
type Options struct {
	Workers int // in this process
	Show    func(Progress)
	Log     hclog.Logger // of the recomputation itself
}

// Progress is how far a recomputation is.
type Progress struct {
	Run      string
	Step, To uint64
	Over     bool // the recomputation has ended
}

// recomputation makes steps of a run again, with workers in this process and in a folder of its own. It is the
// observer of its own coordinator. The folder is removed in the end; that of the run is only read.
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

// keep records the state of the run. It is called before the coordinator runs, and from its goroutine after each
// step, when it may be asked.
func (r *recomputation) keep() {
	r.theta, r.step = r.lead.Parameters()
	r.levels = r.lead.Levels()
}

// run makes the steps and returns the state after them. If a step differs from the log, run returns a
// coordinator.ReplayError, and theta holds the parameters before that step. When ctx ends, it returns
// coordinator.ErrInterrupted.
func (r *recomputation) run(ctx context.Context) (*checkpoint.Checkpoint, error) {
	folder, err := os.MkdirTemp("", "switchyard-recompute-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the recomputation: %w", err)
	}
	cp, err := r.runIn(ctx, folder)
	r.with.Show(Progress{Run: r.record.name, Step: r.step, To: r.to, Over: true})
	return cp, errors.Join(err, os.RemoveAll(folder))
}

// runIn is run in a folder for log and checkpoints.
func (r *recomputation) runIn(ctx context.Context, folder string) (*checkpoint.Checkpoint, error) {
	p := r.record.plan
	cfg := p.Lead(r.record.name, folder)
	// Only the steps count: nothing is validated, no block is computed twice, and the one checkpoint is that of the
	// end.
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
		Plan: p, Transport: transport, From: r.from, Workers: r.with.Workers, Slots: 1, Log: r.with.Log,
		WorkerLog: r.with.Log,
	}
	if r.lead, err = s.Prepare(ctx, cfg, r); err != nil {
		return nil, err
	}
	r.keep()
	if err := s.Lead(ctx); err != nil {
		return nil, err
	}
	// A run that begins where it is to end has nothing to save.
	if r.from != nil && r.from.Step == r.to {
		return r.from, nil
	}
	cp, _, err := checkpoint.Restore(cfg.Dir)
	return cp, err
}

// copyLog writes the log entries that the steps are compared with: the coordinator takes them for those of an
// earlier one, and ends the run at the first step that gives other parameters. The entry of the step that the
// recomputation begins at is among them, so that the checkpoint is compared, too. Without check the log is empty.
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
