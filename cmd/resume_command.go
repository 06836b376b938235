package cmd

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/runs"
)

func (a *app) resumeCommand() *cobra.Command {
	var flags trainFlags
	c := &cobra.Command{
		Use:   "resume NAME",
		Short: "Go on with a run from its newest valid checkpoint",
		Long: `Go on with a run from its newest valid checkpoint, with the configuration it was
started with. The parameters become the same bits as without the interruption.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			return a.resume(args[0], flags)
		},
	}
	flags.add(c, a.cores)
	return c
}

func (a *app) resume(name string, flags trainFlags) error {
	c, err := a.runConfig(name)
	if err != nil {
		return err
	}
	run, err := runs.Open(a.runsDir, name)
	if err != nil {
		return err
	}
	if run.Info().State == runs.Finished {
		return errors.Join(a.printf("run %s is finished at step %d\n\nnext\n  %s\n", name, run.Info().Step, a.command("eval", name)), run.Close())
	}
	from, skipped, err := a.restore(run)
	if err != nil {
		return errors.Join(fmt.Errorf("resume %s: %w", name, err), run.Close())
	}
	for _, s := range skipped {
		fmt.Fprintln(a.err, "warning: skipped:", s)
	}
	step := uint64(0)
	if from != nil {
		step = from.Step
	}
	p, err := resumedPlan(c, run, flags)
	if err != nil {
		return errors.Join(err, run.Close())
	}
	s, err := a.session(p, flags)
	if err != nil {
		return errors.Join(err, run.Close())
	}
	if err := run.Begin(step); err != nil {
		s.link.close()
		return errors.Join(a.diskHint(err, run), run.Close())
	}
	s.run, s.checkpoint = run, from
	return a.lead(s)
}

// restore reads the newest valid checkpoint of a run, and why newer ones were skipped. It returns no checkpoint for a
// run that ended before the first.
func (a *app) restore(run *runs.Run) (*coordinator.Checkpoint, []error, error) {
	from, skipped, err := coordinator.Restore(run.Path(runs.Checkpoints))
	written := run.Info().Checkpoint
	again := a.command("train", run.Path("config.yaml"))
	switch {
	case errors.Is(err, coordinator.ErrVoid):
		return nil, nil, nil
	case errors.Is(err, coordinator.ErrNoCheckpoint) && written > 0:
		return nil, nil, advice.Hint(fmt.Errorf("%w: %w, and run.json names one of step %d", runs.ErrDamaged, err, written),
			"put the folder checkpoints back, or start again with: %s", again)
	case errors.Is(err, coordinator.ErrNoCheckpoint):
		return nil, nil, nil
	case err != nil:
		return nil, nil, advice.Hint(err, "no checkpoint can be used; start again with: %s", again)
	}
	return from, skipped, nil
}

// resumedPlan plans a run that goes on, with the scaling of its data that it began with.
func resumedPlan(c config.Config, run *runs.Run, flags trainFlags) (*job.Plan, error) {
	stored, err := job.StoredScale(c, run.Folder())
	if err != nil {
		return nil, err
	}
	if run.Info().Host { // its files may have been on another machine
		data, err := job.StoredData(newStore(filepath.Dir(run.Folder())), c, stored)
		if err != nil {
			return nil, err
		}
		return job.NewPlan(c, data, flags.slots)
	}
	data, err := job.LoadData(&c, stored)
	if err != nil {
		return nil, err
	}
	return job.NewPlan(c, data, flags.slots)
}
