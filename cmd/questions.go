package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// Each command of this file is one question to a trained run. question checks the flags and opens the run; the
// function that it is given reads the recordings, asks, and calls tell. The shapes in the help texts are those of
// the arrays in npz files.

// forecastCommand is `forecast`: what follows the end of recordings, with quantiles. Without --controls it warns
// that the controls to come are taken as zero.
func (a *app) forecastCommand() *cobra.Command {
	f := asking{channels: true}
	q := trained.Query{}
	var levels []float64
	f.suits = func(c *cobra.Command) error { return atLeast(c, 0, "horizon", "samples") }
	c := a.question(&f, "forecast NAME", "Predict what follows recordings",
		`Predict what follows the end of recordings, with quantiles of the future observations,
in the units and under the channel names of the data. Files hold mean [horizon, channels],
quantiles [levels, horizon, channels] and levels. With several recordings, the first axis
of each array is the recording.`,
		"  "+a.invoked+" forecast mine --horizon 24 --out next.npz,next.svg\n  "+a.invoked+" forecast mine --data "+
			"today.csv --horizon 10 --controls plan.csv --quantiles 0.1,0.5,0.9",
		func(run *trained.Run) error {
			slices.Sort(levels)
			for i, level := range levels {
				if !(level > 0 && level < 1) {
					return config.Usagef("--quantiles %v: a quantile lies between 0 and 1", level)
				}
				if i > 0 && level == levels[i-1] {
					return config.Usagef("--quantiles %v: it is there twice", level)
				}
			}
			list, columns, err := a.recordings(&f, run)
			if err != nil {
				return err
			}
			if q.Horizon == 0 {
				q.Horizon = run.Horizon()
			}
			q.Seed = f.seed
			if f.controls != "" {
				if err := plan(f.controls, columns, list, q.Horizon); err != nil {
					return err
				}
			} else if len(columns.Controls) > 0 {
				a.remark("warning", "without --controls, all are zero after the recording: "+strings.Join(columns.Controls, ", "))
			}
			y, err := run.ForecastAll(list, columns, q, levels)
			if err != nil {
				return err
			}
			return a.tell(&f, y)
		})
	c.Aliases = []string{"predict"}
	f.add(c, "continue")
	f.addSeed(c)
	a.jsonFlag(c)
	c.Flags().IntVar(&q.Horizon, "horizon", 0, "time steps to predict (default: eval.horizon of the run)")
	c.Flags().IntVar(&q.Samples, "samples", 0, "sample paths per forecast (default: eval.samples of the run)")
	c.Flags().StringVar(&f.controls, "controls", "", "file with the controls of these steps: a table with named columns, "+
		"joined by time and recording if it has them, or npz or npy with u [horizon, controls]")
	c.Flags().Float64SliceVar(&levels, "quantiles", []float64{0.05, 0.25, 0.5, 0.75, 0.95}, "`LEVELS` of the quantiles")
	c.Flags().Lookup("quantiles").DefValue = "0.05,0.25,0.5,0.75,0.95" // not with six decimals each
	return c
}

// filterCommand is `filter`: the latent state of each step by what was observed up to it. With --in - it answers
// lines of JSON as they come, and reads no file.
func (a *app) filterCommand() *cobra.Command {
	var f asking
	var of serving.LinesOptions
	f.suits = func(c *cobra.Command) error {
		if f.lines() {
			if err := unused(c, "means nothing with --in -: nothing is drawn at random", "seed"); err != nil {
				return err
			}
			return unused(c, "means nothing with --in -: lines come and go", append([]string{"out", "part"}, readNames()...)...)
		}
		return unused(c, "is about the lines of --in -", "recording", "begin")
	}
	c := a.question(&f, "filter NAME", "Infer latent states from recordings",
		`Infer the latent state and the mixing weights of each step of recordings. Files hold
mean and sd [steps, states] and weights [steps, systems].

With --in -, observations come on stdin as JSON lines, [1.2, null] or
{"observation": [1.2, null], "controls": [0.5]}, and each is answered by a line at once.
Where each recording has a scale of its own (env.normalise=recording), --recording names
it, or --begin N scales a new series by its first N lines, which are answered together.
serve --model does the same over HTTP and NATS.`,
		"  "+a.invoked+" filter mine --in data.npz --out states.npz\n  sensor | "+a.invoked+" filter mine --in -",
		func(run *trained.Run) error {
			if of.Begin < 0 {
				return config.Usagef("--begin %d: the first line by which a series is scaled is line 1", of.Begin)
			}
			if f.lines() {
				return dataFault(serving.Lines(run, a.in, terminal.Raw(a.out), of))
			}
			return a.about(&f, func(run *trained.Run, list []trained.Recording, _ trained.Columns) (*trained.Answer, error) {
				return run.FilterAll(list, f.seed)
			})(run)
		})
	f.add(c, "filter")
	f.addSeed(c)
	a.jsonFlag(c)
	c.Flags().StringVar(&of.Of, "recording", "", "with --in -: the recording of training whose scale the series has, "+
		"where each has its own")
	c.Flags().IntVar(&of.Begin, "begin", 0, "with --in -: `LINES` by which a series that training did not see is scaled, "+
		"where each has its own scale")
	return c
}

// smoothCommand is `smooth`: the latent state of each step by the whole recording.
func (a *app) smoothCommand() *cobra.Command {
	f := asking{channels: true}
	c := a.question(&f, "smooth NAME", "Infer states from whole recordings, and fill gaps",
		`Infer the latent state at each step from the whole recording, before and after it, and
the observation that the model expects there. This fills in missing values. Files hold
observations [steps, channels], mean and sd [steps, states].`,
		"  "+a.invoked+" smooth mine --data gaps.csv --out whole.csv,whole.png",
		a.about(&f, (*trained.Run).SmoothAll))
	f.add(c, "smooth")
	a.jsonFlag(c)
	return c
}

// segmentCommand is `segment`: the regimes of recordings, and how well they fit true ones where the data hold
// these.
func (a *app) segmentCommand() *cobra.Command {
	f := asking{channels: true}
	c := a.question(&f, "segment NAME", "Divide recordings into regimes",
		`Divide recordings into regimes: the probability of each regime at each step, how long
regimes last, which regime follows which, and the linear system of each regime with its
eigenvalues, time constants and periods. Files hold probability [steps, regimes] and
regime [steps], which count regimes from 0, the one with most of the training data
first; for each regime its base system, A, B, bias, Q, eigenvalues, time_constants, periods,
dwell_mean, dwell_median, visits and steps; and transitions [regimes, regimes].

If the data hold the true regime of each step, in z or in the column of --truth, the
regimes are scored against it: accuracy under the best one-to-one match, NMI, ARI and
F1 of the boundaries.`,
		"  "+a.invoked+" segment mine --out regimes.npz,regimes.svg\n  "+a.invoked+" segment mine --data "+
			"labelled.csv --truth mode",
		a.about(&f, func(run *trained.Run, list []trained.Recording, c trained.Columns) (*trained.Answer, error) {
			return run.SegmentAll(list, c, f.seed)
		}))
	f.add(c, "segment")
	f.addSeed(c)
	a.jsonFlag(c)
	c.Flags().StringVar(&f.reading.truth, "truth", "", "`COLUMN` (or array) with the true regime of each step as a whole "+
		"number (default: z)")
	c.RegisterFlagCompletionFunc("truth", completeColumns(false))
	return c
}

// linearizeCommand is `linearize`: the linear system at each step of recordings.
func (a *app) linearizeCommand() *cobra.Command {
	var f asking
	c := a.question(&f, "linearize NAME", "Print the linear system at each step of recordings",
		`Print the linear system z' = A z + B u + bias that leads to each step of recordings, at
the mixing weights that the filter infers there, and C, the sensitivity of the observed
channels to the latent state. B and C are in the units of the data. Files hold
A [steps, states, states], B, bias, C, state and moduli; the first step has none.`,
		"  "+a.invoked+" linearize mine --data today.csv --out systems.npz",
		a.about(&f, func(run *trained.Run, list []trained.Recording, c trained.Columns) (*trained.Answer, error) {
			return run.LinearizeAll(list, c, f.seed)
		}))
	f.add(c, "linearize along")
	f.addSeed(c)
	a.jsonFlag(c)
	return c
}

// simulateCommand is `simulate`: series from the model alone, with given controls, or like each of given
// recordings.
func (a *app) simulateCommand() *cobra.Command {
	f := asking{channels: true}
	var q trained.SimulateQuery
	f.suits = func(c *cobra.Command) error {
		if len(f.data) > 0 {
			return unused(c, "means nothing with --in: each recording has its own", "steps", "episodes", "controls", "recording")
		}
		if f.controls != "" {
			if err := unused(c, "means nothing with --controls: it has a row for each step", "steps"); err != nil {
				return err
			}
		}
		return atLeast(c, 1, "steps", "episodes")
	}
	c := a.question(&f, "simulate NAME", "Generate series from the model",
		`Draw series from the trained model alone: initial states, regimes, noise and
observations, in the units and under the names of the data. Files hold y and mean
[steps, channels], states [steps, states] and weights [steps, systems], behind an axis
of episodes if there are several: data commands read the npz.`,
		"  "+a.invoked+" simulate mine --steps 500 --episodes 3 --out made.npz,made.svg\n  "+
			a.invoked+" simulate mine --in data.npz --out made.npz",
		func(run *trained.Run) error {
			q.Seed = f.seed
			if len(f.data) > 0 {
				list, columns, err := a.recordings(&f, run)
				if err != nil {
					return err
				}
				made, err := run.SimulateLike(list, f.seed)
				if err != nil {
					return err
				}
				return a.tell(&f, trained.Simulations(made, columns))
			}
			columns, err := run.Columns()
			if err != nil {
				return err
			}
			if err := f.drawn(columns); err != nil {
				return err
			}
			if f.controls != "" {
				p, err := readControls(f.controls, columns, trained.Recording{})
				if err != nil {
					return err
				}
				q.Controls, q.Steps = p.Rows, len(p.Rows)
			}
			if err := scaledAs(run, q.Of); err != nil {
				return err
			}
			// Without --in every series begins at a drawn initial state.
			list, err := run.Simulate(q)
			if err != nil {
				return err
			}
			return a.tell(&f, trained.Simulations(list, columns))
		})
	f.addOut(c)
	f.addSeed(c)
	a.jsonFlag(c)
	f.reading.add(c, true)
	c.Flags().StringSliceVar(&f.in, "in", nil, "files with recordings: generate one series for each, with its controls "+
		"and its length")
	c.Flags().StringVar(&f.controls, "controls", "", "file with the controls, one row per step, instead of --steps: CSV, "+
		"npz or npy")
	c.Flags().IntVar(&q.Steps, "steps", 100, "time steps per series")
	c.Flags().IntVar(&q.Episodes, "episodes", 1, "number of series")
	c.Flags().StringVar(&q.Of, "recording", "", "the recording of training whose scale the series have, where each "+
		"has its own (env.normalise=recording)")
	return c
}

// scaledAs returns a usage error for a recording that has no scale, where each has one of its own. Where all
// recordings share a scale, name means nothing and is not checked.
func scaledAs(run *trained.Run, name string) error {
	known := run.Scaled()
	if known == nil || slices.Contains(known, name) {
		return nil
	}
	const most = 8
	list := strings.Join(known[:min(len(known), most)], ", ")
	if len(known) > most {
		list += fmt.Sprintf(" and %d more", len(known)-most)
	}
	return config.Hint(config.Usagef("--recording %q: each recording has a scale of its own: name one of training", name),
		"it saw %s", list)
}

// readControls reads the controls of coming steps, a row each. like is a recording that they follow, whose columns
// of times and names join the rows to it. A model without controls is a usage error.
func readControls(path string, c trained.Columns, like trained.Recording) (*files.Plan, error) {
	if len(c.Controls) == 0 {
		return nil, config.Usagef("--controls %s: the model takes no controls", path)
	}
	var times []string
	if like.Times != nil {
		times = like.Times.Columns
	}
	p, err := files.ReadPlan(path, c.Controls, times, like.KeyColumns)
	return p, dataFault(err)
}

// plan gives recordings the controls of the horizon steps that follow each. All recordings are of one data set: the
// columns of the first are those of all, and those of the first that has times.
func plan(path string, c trained.Columns, list []trained.Recording, horizon int) error {
	dated := slices.IndexFunc(list, func(r trained.Recording) bool { return r.Times != nil })
	p, err := readControls(path, c, list[max(0, dated)])
	for i := 0; err == nil && i < len(list); i++ {
		list[i].Coming, err = p.After(list[i].Key, list[i].Times, len(list[i].Observations), horizon)
	}
	return dataFault(err)
}

// backtestCommand is `backtest`: forecasts of held-out recordings, scored beside simple rules. A prefix or horizon
// that no recording is long enough for is a usage error.
func (a *app) backtestCommand() *cobra.Command {
	var f asking
	var q eval.Question
	f.suits = func(c *cobra.Command) error { return atLeast(c, 0, "horizon", "prefix", "stride", "season") }
	c := a.question(&f, "backtest NAME", "Test forecasts on recordings against simple rules",
		`Predict held-out recordings from many starting points along each, and score the
forecasts: MAE, RMSE, MASE, CRPS and how much of what was observed lay in the predicted
intervals, beside persistence, the last season, linear least squares and an
autoregression with controls. The rules are fitted to the training recordings. Files
hold mae, rmse, mase and crps [predictors, horizon], coverage, levels and predictors.`,
		"  "+a.invoked+" backtest mine --horizon 12\n  "+a.invoked+" backtest mine --data later.csv --season 24 --out "+
			"test.json,test.svg",
		func(run *trained.Run) error {
			data, err := f.read(run)
			if err != nil {
				return err
			}
			q.Threads, q.Seed = a.cores, f.seed
			r, err := run.Backtest(data, q)
			if errors.Is(err, eval.ErrOptions) {
				return config.Hint(config.Usage(err), "choose a smaller --prefix or --horizon")
			}
			if errors.Is(err, trained.ErrUnable) {
				return config.Hint(err, "%s", a.command("eval", run.Info().Name))
			}
			if err != nil {
				return err
			}
			y, err := trained.Backtest(r)
			if err != nil {
				return err
			}
			if r.Horizon < q.Horizon {
				y.Warnings = append(y.Warnings, fmt.Sprintf("--horizon %d: the recordings are long enough for %s behind a prefix "+
					"of %d", q.Horizon, terminal.Count(r.Horizon, "step"), r.Options.Prefix))
			}
			return a.tell(&f, y)
		})
	c.Flags().StringSliceVar(&f.data, "data", nil, "files to predict (default: the recordings that the run held out)")
	c.Flags().StringSliceVar(&f.in, "in", nil, "same as --data")
	f.reading.add(c, true)
	f.addOut(c)
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random paths (default: that of the run)")
	a.jsonFlag(c)
	c.Flags().IntVar(&q.Horizon, "horizon", 0, "time steps to predict (default: eval.horizon of the run)")
	c.Flags().IntVar(&q.Prefix, "prefix", 0, "time steps seen before a prediction (default: half a training window, "+
		"or a whole one if recordings are split by time)")
	c.Flags().IntVar(&q.Stride, "stride", 0, "time steps between starting points (default: the horizon, or "+
		"fewer where that gives few starts)")
	c.Flags().IntVar(&q.Season, "season", 0, "season of the seasonal rule, in time steps (default: found in the "+
		"training data)")
	return c
}
