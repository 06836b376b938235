package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
)

func (a *app) diffCommand() *cobra.Command {
	var workers int
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Find the first step at which two runs part, and why",
		Long: `Find the first step after which two runs have different parameters, by the hashes in
their logs. The step is then recomputed here from the last common parameters: that
names the keys of the configuration, the shard and the tensor at which the programs of
the runs part, or else the worker whose results are not what this machine computes.`,
		Args: exactly("A", "B"), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if workers < 1 {
				return config.Usagef("--workers %d: at least one is needed", workers)
			}
			d, err := a.diff(args[0], args[1], workers)
			if err != nil {
				return err
			}
			if a.asJSON {
				err = a.printJSON(d)
			} else {
				err = a.printComparison(d)
			}
			if err != nil || d.Equal {
				return err
			}
			return fmt.Errorf("runs %s and %s: %w", d.A, d.B, errOtherBits)
		},
	}
	c.Flags().IntVar(&workers, "workers", a.cores, "workers in this process; changes speed, never results")
	a.jsonFlag(c)
	return c
}

func (a *app) diff(nameA, nameB string, workers int) (d *lead.Comparison, err error) {
	err = a.untilInterrupted(a.err, "stopping", func(ctx context.Context) error {
		ra, err := lead.Open(a.kinds, a.runsDir, nameA)
		if err != nil {
			return a.missingRun(err)
		}
		rb, err := lead.Open(a.kinds, a.runsDir, nameB)
		if err != nil {
			return a.missingRun(err)
		}
		d, err = lead.Diff(ctx, ra, rb, a.recomputing(workers))
		return err
	})
	return d, err
}

func (a *app) printComparison(d *lead.Comparison) error {
	if d.Equal {
		return a.printf("runs %s and %s: same bits in all %s steps that both have\n", d.A, d.B, terminal.Group(d.Common))
	}
	lines := []string{fmt.Sprintf("runs %s and %s part at step %s", d.A, d.B, terminal.Group(d.Step))}
	if d.Step == 0 {
		lines[0] = fmt.Sprintf("runs %s and %s begin with different parameters", d.A, d.B)
	}
	lines = append(lines, fmt.Sprintf("  hash in %s: %s, in %s: %s", d.A, d.HashA, d.B, d.HashB))
	for _, k := range d.Keys {
		lines = append(lines, fmt.Sprintf("  %s is %s in %s, %s in %s", k.Key, k.A, d.A, k.B, d.B))
	}
	if len(d.Keys) == 0 {
		lines = append(lines, "  their configurations decide the same bits")
	}
	if p := d.Place; p != nil {
		lines = append(lines, "  "+placeText(p, d.Step))
	}
	for _, s := range d.Suspects {
		lines = append(lines, "  "+s.String())
	}
	if d.Note != "" {
		lines = append(lines, "  "+d.Note)
	}
	for _, line := range lines {
		if err := a.printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// placeText says where two runs differ first.
func placeText(p *lead.Parting, step uint64) string {
	if p.What == "model" {
		return fmt.Sprintf("their models differ, first in tensor %s", p.Tensor)
	}
	where := ""
	if step > 0 {
		where = fmt.Sprintf("of step %d, shard %d, ", step, p.Shard)
	}
	return fmt.Sprintf("the %s %sdiffer first in tensor %s: %d of %d elements, element %d is %g and %g",
		p.What, where, p.Tensor, p.Count, p.Size, p.Element, p.A, p.B)
}
