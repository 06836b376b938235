package session

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/checkpoint"
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
