package cmd

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

func (a *app) runsRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rm NAME...", Short: "Remove runs with all their files",
		Long: "Remove runs of the folder here, with their checkpoints, logs and figures, at once and " +
			"for\ngood. A run that a process works on is left alone.",
		Args:              atLeastOne("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			removed := []trials.Item{}
			for _, name := range args {
				size, err := store.Size(a.runsDir, name)
				if err == nil {
					err = store.Remove(a.runsDir, name)
				}
				if err != nil {
					return a.missingRun(err)
				}
				removed = append(removed, trials.Item{Run: name, What: trials.Whole, Why: "on request", Bytes: size})
				if a.asJSON {
					continue
				}
				if err := a.printf("removed %s, %s\n", name, terminal.Bytes(size)); err != nil {
					return err
				}
			}
			return a.result(pruned{removed, trials.Sum(removed), true}, func() error { return nil })
		},
	}
	a.jsonFlag(c)
	return c
}

func (a *app) runsRenameCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rename NAME NEW", Short: "Give a run another name",
		Long:              "Give a run of the folder here another name. It says under which name it began.",
		Args:              exactly("NAME", "NEW"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := store.Rename(a.runsDir, args[0], args[1]); err != nil {
				return a.missingRun(err)
			}
			info, err := store.Load(a.runsDir, args[1])
			if err != nil {
				return err
			}
			return a.result(info, func() error { return a.printf("%s is now %s\n", args[0], args[1]) })
		},
	}
	a.jsonFlag(c)
	return c
}

func (a *app) runsCompareCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "compare A B", Short: "Show what two runs have come to, and which settings differ",
		Long: "Show two runs of the folder here side by side: what they have come to, and the keys of " +
			"their\nconfigurations that differ. The page of serve compares their curves, too.",
		Args:              exactly("A", "B"),
		ValidArgsFunction: a.completeRuns,
		RunE:              func(_ *cobra.Command, args []string) error { return a.compareRuns(args[0], args[1]) },
	}
	a.jsonFlag(c)
	return c
}

// comparison is what runs compare --json prints.
type comparison struct {
	Runs        [2]store.Info       `json:"runs"`
	Differences []config.Difference `json:"differences"`
}

func (a *app) compareRuns(left, right string) error {
	var infos [2]store.Info
	var configs [2]config.Config
	for i, name := range []string{left, right} {
		var err error
		if infos[i], err = store.Load(a.runsDir, name); err != nil {
			return a.missingRun(err)
		}
		if configs[i], err = a.runConfig(name); err != nil {
			return err
		}
	}
	differences := config.AllDifferences(configs[0], configs[1])
	if a.asJSON {
		return a.printJSON(comparison{infos, append([]config.Difference{}, differences...)})
	}
	table := terminal.NewTable("", left, right).Left(1, 2)
	row := func(name string, of func(store.Info) string) { table.Row(name, of(infos[0]), of(infos[1])) }
	row("state", func(i store.Info) string { return string(i.State) })
	row("step", func(i store.Info) string { return terminal.Group(i.Step) + "/" + terminal.Group(i.Steps) })
	row("best objective", func(i store.Info) string { return metric(i, "best_validation_objective") })
	row("elbo", func(i store.Info) string { return metric(i, "validation_elbo") })
	row("parameters", func(i store.Info) string { return terminal.Group(i.Parameters) })
	for _, d := range differences {
		table.Row(d.Key, cmp.Or(d.A, "-"), cmp.Or(d.B, "-"))
	}
	_, err := table.WriteTo(a.out)
	return err
}
