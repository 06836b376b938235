package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/paper"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

func (a *app) reportCommand() *cobra.Command {
	var out string
	var wanted []string
	c := &cobra.Command{
		Use:   "report NAME...",
		Short: "Write settings, training, measurements and figures as a page",
		Long: `Write one report of runs: index.html, which opens from disk, report.md, numbers.csv and figures. It shows
what was measured; --protocol measures more, where a run has no such measurement yet.`,
		Args:              atLeastOne("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE:              func(_ *cobra.Command, args []string) error { return a.reportRuns(args, wanted, out) },
	}
	a.jsonFlag(c)
	c.Flags().StringVarP(&out, "out", "o", "report", "folder of the report")
	c.Flags().StringSliceVar(&wanted, "protocol", nil, "evaluation protocols that the report is to have")
	c.RegisterFlagCompletionFunc("protocol", a.completeProtocols) // it fails for a flag that does not exist
	return c
}

func (a *app) reportRuns(names, protocols []string, out string) error {
	var list []paper.Run
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return config.Usagef("run %s is named twice", name)
		}
		info, err := store.Load(a.runsDir, name)
		if err != nil {
			return a.missingRun(err)
		}
		overrides, err := os.ReadFile(filepath.Join(a.runsDir, name, "overrides.txt"))
		if err != nil {
			return fmt.Errorf("read the settings of run %s: %w", name, err)
		}
		list = append(list, paper.Run{Info: info, Overrides: strings.Fields(string(overrides))})
	}
	err := a.untilInterrupted(a.err, "finishing the measurement", func(ctx context.Context) error {
		for _, name := range names {
			for _, p := range protocols {
				if _, err := os.Stat(filepath.Join(a.runsDir, name, "tables", p+".json")); err == nil || ctx.Err() != nil {
					continue
				}
				if _, err := a.evaluateRun(name, trained.Best, eval.Question{Protocol: p}); err != nil {
					return err
				}
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if err := paper.Write(out, a.runsDir, list); err != nil {
		return err
	}
	page := filepath.Join(out, "index.html")
	return a.result(written{[]string{page}}, func() error { return a.printf("report   %s\n", page) })
}
