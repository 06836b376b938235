package cmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
)

func (a *app) backtestCommand() *cobra.Command {
	var f asking
	var o switchyard.BacktestOptions
	c := a.question("backtest NAME", "Test forecasts on recordings, beside simple rules",
		`Predict recordings that training never saw from starts all along them, and score the
forecasts: MAE, RMSE, MASE, CRPS and how much of what was observed lay in the predicted
intervals, beside persistence, the last season, linear least squares and an
autoregression with controls. The rules are fitted to the training recordings. Files
hold mae, rmse, mase and crps [predictors, horizon], coverage, levels and predictors.`,
		"  "+a.invoked+" backtest mine --horizon 12\n  "+a.invoked+" backtest mine --data later.csv --season 24 --out "+
			"test.json,test.svg",
		func(name string) error {
			run, err := a.open(&f, name)
			if err != nil {
				return err
			}
			if len(f.data) > 0 {
				if o.Data, err = f.read(run); err != nil {
					return err
				}
			}
			o.Threads = a.cores
			r, err := run.Backtest(o)
			if errors.Is(err, eval.ErrOptions) {
				return config.Hint(config.Usage(err), "choose a smaller --prefix or --horizon")
			}
			if errors.Is(err, switchyard.ErrUnable) {
				return config.Hint(err, "%s", a.command("eval", name))
			}
			if err != nil {
				return err
			}
			y, err := switchyard.Backtest(r)
			if err != nil {
				return err
			}
			return a.tell(&f, y)
		})
	c.Flags().StringSliceVar(&f.data, "data", nil, "files to predict (default: what the run held out of its own)")
	c.Flags().StringSliceVar(&f.in, "in", nil, "another word for --data")
	f.reading.add(c)
	f.addOut(c)
	a.jsonFlag(c)
	c.Flags().IntVar(&o.Horizon, "horizon", 0, "time steps to predict (default: eval.horizon of the run)")
	c.Flags().IntVar(&o.Prefix, "prefix", 0, "time steps seen before a prediction (default: half a training window)")
	c.Flags().IntVar(&o.Stride, "stride", 0, "time steps from one start to the next (default: a horizon)")
	c.Flags().IntVar(&o.Season, "season", 0, "time steps of the season that a rule repeats (default: found in the "+
		"training data)")
	return c
}
