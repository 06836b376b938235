package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

func (a *app) runsCommand() *cobra.Command {
	c := group("runs", "List and show runs", "")
	c.AddCommand(a.runsListCommand(), a.runsShowCommand())
	return c
}

func (a *app) runsListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the runs, the latest first",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			list, err := runs.List(a.runsDir)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(append([]runs.Info{}, list...)) // an empty list, not null
			}
			if len(list) == 0 {
				return a.printf("no runs in %s; start one with: %s\n", a.runsDir, a.command("train", "fhn"))
			}
			table := terminal.NewTable("name", "state", "step", "best elbo", "preset", "started").Left(1, 4, 5)
			for _, r := range list {
				table.Row(r.Name, string(r.State), terminal.Group(r.Step)+"/"+terminal.Group(r.Steps), metric(r, "best_validation_elbo"), r.Preset, r.Started.Local().Format(time.DateTime))
			}
			_, err = table.WriteTo(a.out)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of run.json objects")
	return c
}

func (a *app) runsShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show state, metrics and files of a run",
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			info, err := runs.Load(a.runsDir, args[0])
			if err != nil {
				return a.missingRun(err)
			}
			if asJSON {
				return a.printJSON(info)
			}
			return a.showRun(info, filepath.Join(a.runsDir, args[0]))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print run.json")
	return c
}

func (a *app) showRun(info runs.Info, folder string) error {
	table := terminal.NewTable("run", info.Name).Left(1)
	state := string(info.State)
	if info.ExitReason != "" {
		state += ": " + info.ExitReason
	}
	table.Row("state", state)
	table.Row("step", terminal.Group(info.Step)+" of "+terminal.Group(info.Steps))
	table.Row("preset", info.Preset+", seed "+strconv.FormatUint(info.Seed, 10))
	table.Row("parameters", terminal.Group(info.Parameters))
	table.Row("checkpoint", fmt.Sprintf("step %s, params_sha256 %s", terminal.Group(info.Checkpoint), info.ParametersSHA256))
	table.Row("validation", fmt.Sprintf("elbo %s, best %s at step %s", metric(info, "validation_elbo"), metric(info, "best_validation_elbo"), metric(info, "best_step")))
	table.Row("time", fmt.Sprintf("started %s, updated %s", info.Started.Local().Format(time.DateTime), info.Updated.Local().Format(time.DateTime)))
	table.Row("program", fmt.Sprintf("%s, revision %s, %s kernels", info.Versions["switchyard"], cmp.Or(info.GitRevision, "unknown"), info.Versions["kernels"]))
	table.Row("folder", folder)
	_, err := table.WriteTo(a.out)
	return err
}

func metric(info runs.Info, name string) string {
	v, ok := info.Metrics[name]
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}

func (a *app) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return a.printf("%s\n", data)
}

// missingRun adds the nearest run to an error that says there is none.
func (a *app) missingRun(err error) error {
	if !errors.Is(err, runs.ErrNotFound) {
		return err
	}
	list, listErr := runs.List(a.runsDir)
	if listErr != nil || len(list) == 0 {
		return withHint(err, "there are no runs in %s yet", a.runsDir)
	}
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	if near := config.Nearest(filepath.Base(err.Error()), names); near != "" {
		return withHint(err, "did you mean %s?", near)
	}
	return withHint(err, "%s lists them", a.command("runs", "ls"))
}
