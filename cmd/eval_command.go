package cmd

import (
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/eval/protocol"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

func (a *app) evalCommand() *cobra.Command {
	var list bool
	var how measurement
	c := &cobra.Command{
		Use:   "eval NAME",
		Short: "Measure a trained run by a protocol of the paper",
		Long: `Measure the model of a run beside the paper's figures, by the usual protocol of its environment or by
the one that is named; --list shows which there are. The table is printed; table, JSON, CSV and
figure are written into the run folder.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if how.checkpoint != "best" && how.checkpoint != "last" {
				return config.Usagef("--checkpoint %s: it takes best or last", how.checkpoint)
			}
			if list {
				return a.listProtocols(args[0])
			}
			e, err := a.evaluateRun(args[0], how)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printRaw(string(e.Report))
			}
			return a.printEvaluation(e)
		},
	}
	a.jsonFlag(c)
	c.Flags().BoolVar(&list, "list", false, "list the protocols that fit the run, and measure nothing")
	c.Flags().StringVar(&how.protocol, "protocol", "", "evaluation protocol (default: the usual one of the environment)")
	c.Flags().IntVar(&how.Episodes, "episodes", 0, "test episodes (default: as many as the protocol is made for)")
	c.Flags().IntVar(&how.Prefix, "prefix", 0, "steps that are seen before a prediction (default 4)")
	c.Flags().BoolVar(&how.AllStarts, "all-starts", false, "also predict from every start in the held-out window")
	c.Flags().BoolVar(&how.Fresh, "fresh", false, "predict trajectories that training never saw, instead of the "+
		"held-out ends")
	c.Flags().StringVar(&how.checkpoint, "checkpoint", "best", "best (by validation) or last")
	c.RegisterFlagCompletionFunc("checkpoint", completeWords([]string{checkpoint.Best, checkpoint.Last}))
	c.RegisterFlagCompletionFunc("protocol", a.completeProtocols) // it fails for a flag that does not exist
	return c
}

// protocolLine is a protocol of eval --list --json.
type protocolLine struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Usual bool   `json:"usual"`
}

// listProtocols prints a line for each protocol that fits a run.
func (a *app) listProtocols(name string) error {
	c, err := a.runConfig(name)
	if err != nil {
		return err
	}
	if a.asJSON {
		lines := []protocolLine{}
		for _, p := range protocols(c) {
			lines = append(lines, protocolLine{p.Name, p.Doc, p.UsualFor(c.Env.Kind)})
		}
		return a.printJSON(lines)
	}
	for _, p := range protocols(c) {
		usual := ""
		if p.UsualFor(c.Env.Kind) {
			usual = " (usual)"
		}
		if err := a.printf("%-12s  %s%s\n", p.Name, p.Doc, usual); err != nil {
			return err
		}
	}
	return nil
}

// completeProtocols completes the protocols that fit the run, or all where it is not named yet.
func (a *app) completeProtocols(_ *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective,
) {
	list := protocol.All()
	if len(args) > 0 {
		if c, err := a.runConfig(args[0]); err == nil {
			list = protocols(c)
		}
	}
	var words []cobra.Completion
	for _, p := range list {
		words = append(words, cobra.CompletionWithDesc(p.Name, p.Doc))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// runConfig reads the configuration of a run.
func (a *app) runConfig(name string) (config.Config, error) {
	c, err := job.ReadConfig(a.kinds, a.runsDir, name)
	return c, a.missingRun(err)
}
