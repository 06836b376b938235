package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
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
	flags.addPage(c)
	a.jsonFlag(c)
	return c
}

func (a *app) resume(name string, flags trainFlags) error {
	place := lead.Place{Kinds: a.kinds, RunsDir: a.runsDir, Data: lead.NewStore(a.runsDir), Command: a.command}
	r, err := lead.Reopen(place, name, flags.slots)
	if errors.Is(err, lead.ErrFinished) {
		info, loadErr := store.Load(a.runsDir, name)
		if loadErr != nil {
			return loadErr
		}
		return a.result(trainedRun{Info: info}, func() error {
			return a.printf("%s\n\nnext\n  %s\n", err,
				a.command("eval", name))
		})
	}
	if err != nil {
		return a.missingRun(err)
	}
	for _, s := range r.Skipped {
		fmt.Fprintln(a.err, "warning: skipped:", s)
	}
	t, err := a.training(r.Plan, flags, r.From)
	if err != nil {
		return errors.Join(err, r.Run.Close())
	}
	if err := r.Begin(); err != nil {
		t.close()
		return errors.Join(lead.DiskHint(err, r.Run, a.command), r.Run.Close())
	}
	return a.lead(t, r.Run)
}
