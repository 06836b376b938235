package cmd

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/export"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

func (a *app) exportCommand() *cobra.Command {
	var f asking
	var o switchyard.ExportOptions
	var dir string
	c := a.question("export NAME", "Write a model for other programs",
		`Write a trained model for other programs: its tensors as safetensors or npz, with a
description of its steps that deploy/python/switchyard.py runs with numpy alone; or an
ONNX file for each step: encoder, initial, filter_step, transition, predict (so many
steps) and emission. Steps take and give the units of the data.`,
		"  "+a.invoked+" export mine --format onnx -o model\n  "+a.invoked+" export mine --format npz -o model --horizon 24",
		func(name string) error {
			run, err := a.open(&f, name)
			if err != nil {
				return err
			}
			if dir == "" {
				dir = filepath.Join(a.runsDir, name, "export")
			}
			paths, err := run.Export(dir, o)
			if errors.Is(err, export.ErrFormat) {
				return config.Usagef("--format %s: it takes safetensors, npz or onnx", o.Format)
			}
			if errors.Is(err, switchyard.ErrUnable) {
				return config.Hint(err, "--format npz and safetensors hold the tensors of every family")
			}
			if err != nil {
				return err
			}
			return a.wroteFiles(paths...)
		})
	a.jsonFlag(c)
	c.Flags().StringVar(&o.Format, "format", "npz", "safetensors, npz or onnx")
	c.Flags().StringVarP(&dir, "out", "o", "", "folder of the files (default: export in the folder of the run)")
	c.Flags().IntVar(&o.Horizon, "horizon", 0, "steps that the graph predict predicts (default: eval.horizon of the run)")
	c.Flags().StringVar(&f.checkpoint, "checkpoint", checkpoint.Best, "best (by validation) or last")
	c.RegisterFlagCompletionFunc("checkpoint", completeWords([]string{checkpoint.Best, checkpoint.Last}))
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]cobra.Completion{"safetensors", "npz", "onnx"},
		cobra.ShellCompDirectiveNoFileComp))
	return c
}
