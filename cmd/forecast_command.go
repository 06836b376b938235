package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
)

func (a *app) forecastCommand() *cobra.Command {
	var f asking
	q := switchyard.Query{}
	var controls string
	var levels []float64
	c := a.question("forecast NAME", "Predict what follows recordings",
		`Predict what follows the end of recordings, with quantiles of what will be observed,
in the units and under the names of the data. Files hold mean [horizon, channels],
quantiles [levels, horizon, channels] and levels; of several recordings, behind an axis
of recordings.`,
		"  "+a.invoked+" forecast mine --horizon 24 --out next.npz,next.svg\n  "+a.invoked+" forecast mine --data "+
			"today.csv --horizon 10 --controls plan.csv --quantiles 0.1,0.5,0.9",
		func(name string) error {
			run, err := a.open(&f, name)
			if err != nil {
				return err
			}
			for _, level := range levels {
				if !(level > 0 && level < 1) {
					return config.Usagef("--quantiles %v: a quantile lies between 0 and 1", level)
				}
			}
			slices.Sort(levels)
			list, columns, err := a.recordings(&f, name, run)
			if err != nil {
				return err
			}
			if q.Horizon == 0 {
				q.Horizon = run.Horizon()
			}
			q.Seed = f.seed
			if controls != "" {
				if q.Controls, err = readControls(controls, columns.Controls); err != nil {
					return err
				}
				if len(q.Controls) < q.Horizon {
					return config.Usagef("--controls %s has %d rows, and the horizon is %d steps", controls, len(q.Controls),
						q.Horizon)
				}
				q.Controls = q.Controls[:q.Horizon]
			} else if len(columns.Controls) > 0 {
				fmt.Fprintf(a.err, "warning: without --controls, %v are zero from the end of the recording on\n", columns.Controls)
			}
			forecasts, err := each(list, func(s switchyard.Series) (switchyard.Forecast, error) { return run.Forecast(s, q) })
			if err != nil {
				return err
			}
			return a.tell(&f, switchyard.Forecasts(list, forecasts, columns, levels))
		})
	c.Aliases = []string{"predict"}
	f.add(c, "continue")
	a.jsonFlag(c)
	c.Flags().IntVar(&q.Horizon, "horizon", 0, "time steps to predict (default: eval.horizon of the run)")
	c.Flags().IntVar(&q.Samples, "samples", 0, "paths of the forecast (default: eval.samples of the run)")
	c.Flags().StringVar(&controls, "controls", "", "file with the controls of these steps: CSV with their names, or "+
		"npz or npy with u [horizon, controls]")
	c.Flags().Float64SliceVar(&levels, "quantiles", []float64{0.05, 0.25, 0.5, 0.75, 0.95}, "levels of the quantiles")
	return c
}
