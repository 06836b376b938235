package cmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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
				return a.printf("%s", e.report)
			}
			return a.printf("%s\nfigure   %s\n", e.table, e.figure)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {protocol, metrics, paper} as JSON")
	c.Flags().StringVar(&how.protocol, "protocol", "", "evaluation protocol (default: the one of the environment)")
	c.Flags().BoolVar(&how.allStarts, "all-starts", false, "also predict from every start in the held-out window")
	c.Flags().BoolVar(&how.fresh, "fresh", false, "predict trajectories that training never saw, instead of the held-out ends")
	c.Flags().StringVar(&how.checkpoint, "checkpoint", "best", "best (by validation) or last")
	return c
}

// measurement says how a run is measured.
type measurement struct {
	protocol   string // "": that of the environment
	checkpoint string // best or last
	allStarts  bool
	fresh      bool
}

func (a *app) evaluateRun(name string, how measurement) (*evaluation, error) {
	c, err := a.runConfig(name)
	if err != nil {
		return nil, err
	}
	known := protocols(c.Env.Kind)
	if len(known) == 0 {
		return nil, advice.Hint(advice.Usagef("there is no evaluation protocol for env.kind=%s yet", c.Env.Kind), "the bound on the validation set: %s", a.command("runs", "show", name))
	}
	if how.protocol != "" && !slices.Contains(known, how.protocol) {
		return nil, advice.Hint(advice.Usagef("no protocol %q for env.kind=%s", how.protocol, c.Env.Kind), "it has %s", strings.Join(known, ", "))
	}
	folder := filepath.Join(a.runsDir, name)
	cp, skipped, err := evaluated(filepath.Join(folder, "checkpoints"), how.checkpoint)
	for _, s := range skipped {
		fmt.Fprintln(a.err, "warning: skipped:", s)
	}
	if err != nil && how.checkpoint == "best" {
		return nil, advice.Hint(fmt.Errorf("evaluate run %s: %w", name, err), "the last checkpoint may do: %s", a.command("eval", name, "--checkpoint", "last"))
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate run %s: %w", name, err)
	}
	return a.evaluate(c, folder, cp, how)
}

// runConfig reads the configuration of a run.
func (a *app) runConfig(name string) (config.Config, error) {
	c, err := job.ReadConfig(a.runsDir, name)
	return c, a.missingRun(err)
}
