package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// sweepBestCommand is `sweep best`.
func (a *app) sweepBestCommand(flags *sweepFlags) *cobra.Command {
	return a.sweepAskCommand(flags, sweepAsk{
		cobra.Command{Use: "best NAME", Short: "Print the best trial and the command that reproduces it"},
		func(sweeps trials.Operations, args []string) (any, func() error, error) {
			b, err := sweeps.Best(args[0])
			return b, func() error { return a.writeBest(b) }, err
		},
	})
}

// writeBest writes the best trials, and the command that trains the same again.
func (a *app) writeBest(b *trials.Best) error {
	out := &printer{w: a.out}
	for i := range b.Trials {
		t := &b.Trials[i]
		out.printf("trial %d  %s\n", t.ID, settingsText(t, b.Keys))
		for i, m := range b.Metrics {
			of := ""
			if n := len(t.Runs); n > 1 && ranksByMean(b.Aggregate) {
				of = fmt.Sprintf("  mean of %d seeds, with its 95 %% interval", n)
			} else if n > 1 {
				of = fmt.Sprintf("  of %d seeds, with the 95 %% interval of the mean", n)
			}
			out.printf("  %s %s%s\n", m.Name, estimateText(t, i, b.Aggregate), of)
		}
		for j := range b.Searched {
			if o := &b.Searched[j]; o.ID == t.Confirms {
				out.printf("  in the search it had %s: the best of many is lucky\n", searchedText(b, o))
			}
		}
	}
	if !b.Confirmed {
		out.printf("\nnote: this is the best of %d trials, and expected to be worse with other seeds; confirm: {top: 3, "+
			"seeds: 5} in the sweep file runs the best again\n", b.Tried)
	}
	if b.Command != "" {
		out.printf("\nagain, to the same bits\n  %s\n", b.Command)
	}
	return out.err
}

// searchedText are the metrics of a trial of the search, with their names if there are several.
func searchedText(b *trials.Best, t *sweep.ReportTrial) string {
	var list []string
	for i, m := range b.Metrics {
		text := estimateText(t, i, b.Aggregate)
		if len(b.Metrics) > 1 {
			text = m.Name + " " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
