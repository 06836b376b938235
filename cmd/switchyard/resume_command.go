package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
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
	from, skipped, err := coordinator.Restore(run.Path("checkpoints"))
	if err == nil { // else the error says it all
		for _, s := range skipped {
			fmt.Fprintln(a.err, "warning: skipped:", s)
		}
	}
	step, written := uint64(0), run.Info().Checkpoint
	switch {
	case errors.Is(err, coordinator.ErrNoCheckpoint) && written > 0:
		return errors.Join(withHint(fmt.Errorf("resume %s: %w: %w, and run.json names one of step %d", name, runs.ErrDamaged, err, written),
			"put the folder checkpoints back, or start again with: %s", a.command("train", run.Path("config.yaml"))), run.Close())
	case errors.Is(err, coordinator.ErrNoCheckpoint): // it ended before the first: begin again
		from = nil
	case err != nil:
		return errors.Join(withHint(fmt.Errorf("resume %s: %w", name, err), "no checkpoint can be used; start again with: %s", a.command("train", run.Path("config.yaml"))), run.Close())
	default:
		step = from.Step
	}
	p, err := resumedPlan(c, run, flags)
	if err == nil {
		err = a.diskHint(run.Begin(step), run)
	}
	if err != nil {
		return errors.Join(err, run.Close())
	}
	return a.lead(run, p, from)
}

// resumedPlan plans a run that goes on, with the scaling of its data that it began with.
func resumedPlan(c config.Config, run *runs.Run, flags trainFlags) (*plan, error) {
	stored, err := storedScale(c, run)
	if err != nil {
		return nil, err
	}
	data, err := loadOwnData(&c, stored)
	if err != nil {
		return nil, err
	}
	return newPlan(c, data, flags)
}
