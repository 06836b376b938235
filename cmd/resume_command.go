package cmd

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/host"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/session"
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
	from, skipped, err := session.Restore(run, a.command)
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
	t, err := a.training(p, flags, from)
	if err != nil {
		return errors.Join(err, run.Close())
	}
	if err := run.Begin(step); err != nil {
		t.session.Transport.Close()
		return errors.Join(session.DiskHint(err, run, a.command), run.Close())
	}
	return a.lead(t, run)
}

// resumedPlan plans a run that goes on, with the scaling of its data that it began with.
func resumedPlan(c config.Config, run *runs.Run, flags trainFlags) (*job.Plan, error) {
	stored, err := job.StoredScale(c, run.Folder())
	if err != nil {
		return nil, err
	}
	if run.Info().Host { // its files may have been on another machine
		data, err := job.StoredData(host.NewStore(filepath.Dir(run.Folder())), c, stored)
		if err != nil {
			return nil, err
		}
		return job.NewPlan(c, data, flags.slots)
	}
	return job.Prepare(c, stored, flags.slots)
}
