package cmd

import (
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
)

func (a *app) evalCommand() *cobra.Command {
	var asJSON bool
	var how measurement
	c := &cobra.Command{
		Use:   "eval NAME",
		Short: "Measure a trained run by the protocol of the paper",
		Long: `Measure the model of a run beside the paper's figures. The table is printed; table,
JSON, CSV and figure are written into the run folder.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if how.checkpoint != "best" && how.checkpoint != "last" {
				return advice.Usagef("--checkpoint %s: it takes best or last", how.checkpoint)
			}
			e, err := a.evaluateRun(args[0], how)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printf("%s", e.Report)
			}
			return a.printEvaluation(e)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {protocol, metrics, paper} as JSON")
	c.Flags().StringVar(&how.protocol, "protocol", "", "evaluation protocol (default: the one of the environment)")
	c.Flags().BoolVar(&how.AllStarts, "all-starts", false, "also predict from every start in the held-out window")
	c.Flags().BoolVar(&how.Fresh, "fresh", false, "predict trajectories that training never saw, instead of the held-out ends")
	c.Flags().StringVar(&how.checkpoint, "checkpoint", "best", "best (by validation) or last")
	return c
}

// runConfig reads the configuration of a run.
func (a *app) runConfig(name string) (config.Config, error) {
	c, err := job.ReadConfig(a.kinds, a.runsDir, name)
	return c, a.missingRun(err)
}
