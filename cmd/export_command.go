package cmd

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/export"
	"github.com/switchyard-ml/switchyard/trained"
)

// exportCommand is `export`: it writes a model for other programs. An unknown format, and a family of models that
// the format has no graphs for, are usage errors.
func (a *app) exportCommand() *cobra.Command {
	var f asking
	var o trained.ExportOptions
	var dir string
	f.suits = func(c *cobra.Command) error { return atLeast(c, 0, "horizon") }
	c := a.question(&f, "export NAME", "Export a model for other programs",
		`Write a trained model for other programs: its tensors as safetensors or npz, with a
description of its steps that deploy/python/switchyard.py runs with numpy alone; or an
ONNX file for each step: encoder, initial, filter_step, transition, predict
(--horizon steps at once) and emission. They use the units of the data.`,
		"  "+a.invoked+" export mine --format onnx -o model\n  "+a.invoked+" export mine --format npz -o model --horizon 24",
		func(run *trained.Run) error {
			if dir == "" {
				dir = filepath.Join(a.runsDir, run.Info().Name, "export")
			}
			var outputs []string
			for _, name := range export.TensorFiles {
				outputs = append(outputs, filepath.Join(dir, name))
			}
			if err := a.spare(run.Info().Name, outputs, nil); err != nil {
				return err
			}
			paths, err := run.Export(dir, o)
			if errors.Is(err, export.ErrFormat) {
				return config.Usagef("--format %s: must be safetensors, npz or onnx", o.Format)
			}
			if errors.Is(err, trained.ErrUnable) {
				return config.Hint(err, "--format npz and --format safetensors work with every family")
			}
			if err != nil {
				return err
			}
			if o.Format == string(export.ONNX) {
				a.warnRounded(run)
			}
			return a.wroteFiles(paths...)
		})
	a.jsonFlag(c)
	c.Flags().StringVar(&o.Format, "format", "npz", "safetensors, npz or onnx")
	c.Flags().StringVarP(&dir, "out", "o", "", "output folder (default: export in the run's folder)")
	c.Flags().IntVar(&o.Horizon, "horizon", 0, "time steps in the predict graph (default: eval.horizon of the run)")
	f.addCheckpoint(c)
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]cobra.Completion{"safetensors", "npz", "onnx"},
		cobra.ShellCompDirectiveNoFileComp))
	return c
}

// warnRounded warns of channels that ONNX files, whose numbers are float32, round by more than a trifle.
func (a *app) warnRounded(run *trained.Run) {
	for _, text := range run.Rounded() {
		a.remark("warning", text+"; use --format npz, whose program computes in float64, or subtract a number near its mean "+
			"from the data before training")
	}
}
