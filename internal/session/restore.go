package session

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/checkpoint"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/runs"
)

// Restore reads the newest valid checkpoint of a run, and why newer ones were skipped. It returns no checkpoint for a
// run that ended before the first.
func Restore(run *runs.Run, command advice.Command) (*checkpoint.Checkpoint, []error, error) {
	from, skipped, err := checkpoint.Restore(run.Path(runs.Checkpoints))
	written := run.Info().Checkpoint
	again := command("train", run.Path("config.yaml"))
	switch {
	case errors.Is(err, checkpoint.ErrVoid):
		return nil, nil, nil
	case errors.Is(err, checkpoint.ErrNotFound) && written > 0:
		return nil, nil, advice.Hint(fmt.Errorf("%w: %w, and run.json names one of step %d", runs.ErrDamaged, err, written),
			"put the folder checkpoints back, or start again with: %s", again)
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, advice.Hint(err, "no checkpoint can be used; start again with: %s", again)
	}
	return from, skipped, nil
}

// Reopened is a run that is to go on, held by this process.
type Reopened struct {
	Run     *runs.Run
	Plan    *job.Plan
	From    *checkpoint.Checkpoint // nil: it ended before its first
	Skipped []error                // newer checkpoints that cannot be used
}

// ErrFinished is returned for a run that has made its last step.
var ErrFinished = errors.New("is finished")

// Place says where runs and what belongs to them are found.
type Place struct {
	Kinds   *config.Kinds
	RunsDir string
	Data    job.Store      // data sets of runs that were led by a host, whose files may have been on another machine
	Command advice.Command // for hints
}

// Reopen takes hold of a run, with its newest valid checkpoint and the scaling of its data that it began with. Begin has to
// be called before it goes on.
func Reopen(p Place, name string, slots int) (*Reopened, error) {
	c, err := job.ReadConfig(p.Kinds, p.RunsDir, name)
	if err != nil {
		return nil, err
	}
	run, err := runs.Open(p.RunsDir, name)
	if err != nil {
		return nil, err
	}
	r := &Reopened{Run: run}
	if err := r.prepare(p, c, slots); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return r, nil
}

func (r *Reopened) prepare(p Place, c config.Config, slots int) error {
	info := r.Run.Info()
	if info.State == runs.Finished {
		return fmt.Errorf("run %s %w at step %d", r.Run.Name(), ErrFinished, info.Step)
	}
	var err error
	if r.From, r.Skipped, err = Restore(r.Run, p.Command); err != nil {
		return fmt.Errorf("resume %s: %w", r.Run.Name(), err)
	}
	stored, err := job.StoredScale(c, r.Run.Folder())
	if err != nil {
		return err
	}
	if !info.Host {
		r.Plan, err = job.Prepare(c, stored, slots)
		return err
	}
	data, err := job.StoredData(p.Data, c, stored)
	if err != nil {
		return err
	}
	r.Plan, err = job.NewPlan(c, data, slots)
	return err
}

// Begin records that the run goes on.
func (r *Reopened) Begin() error {
	step := uint64(0)
	if r.From != nil {
		step = r.From.Step
	}
	return r.Run.Begin(step)
}

// End records how a run ended: nil is its last step. A run whose configuration or data do not fit its checkpoint has
// computed nothing, and can go on when they are put back.
func End(run *runs.Run, err error) error {
	switch {
	case err == nil:
		return run.End(runs.Finished, "")
	case errors.Is(err, coordinator.ErrInterrupted):
		return run.End(runs.Interrupted, "stopped by the user")
	case errors.Is(err, coordinator.ErrMismatch):
		return run.End(runs.Interrupted, err.Error())
	}
	return run.End(runs.Failed, err.Error())
}

// DiskHint says of a full disk what is left of a run; nil is a run that was not made. Other errors stay as they are.
func DiskHint(err error, run *runs.Run, command advice.Command) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if run == nil || run.Info().Checkpoint == 0 {
		return advice.Hint(err, "the disk is full and holds no checkpoint of this run: free some space and start again")
	}
	return advice.Hint(err, "the disk is full; the checkpoint of step %d is intact: free some space, then %s",
		run.Info().Checkpoint, command("resume", run.Name()))
}
