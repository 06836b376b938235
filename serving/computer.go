package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// computer is what the service needs of a model. Calls of step follow each other; those of forecast may be made at any
// time, from any goroutine.
type computer interface {
	// step filters the next observation of each of several series. The states are the caller's; pasts are what came
	// before. After an error they are undefined.
	step(states []*trained.State, pasts []trained.Series, next []trained.Observation) error
	// begin is called before the first step of a series, with all that is known of it so far.
	begin(s *trained.State, list []trained.Observation) error
	// check returns an error for a state that is not one of the model.
	check(s *trained.State) error
	// forecast predicts until the context ends.
	forecast(ctx context.Context, s trained.Series, q *ForecastRequest) (ForecastAnswer, error)
}

// runComputer computes with a run.
type runComputer struct {
	run    *trained.Run
	online *trained.Online // nil: the family filters whole series only
	nu     int
}

// newComputer returns what computes with a run, and the sizes of its model. A family that filters whole series only
// is served, too, at a higher price.
func newComputer(run *trained.Run) (*runComputer, sizes, error) {
	d, paths, err := run.Sizes()
	if err != nil {
		return nil, sizes{}, err
	}
	c := &runComputer{run: run, nu: d.NU}
	if c.online, err = run.Online(); err != nil && !errors.Is(err, trained.ErrUnable) {
		return nil, sizes{}, err
	}
	return c, sizes{nx: d.NX, nu: d.NU, nz: d.NZ, m: d.M, paths: paths}, nil
}

// step implements computer. A family with a filter of single steps computes all clients together; another one
// filters the history of each client again, with the next observation behind it.
func (c *runComputer) step(states []*trained.State, pasts []trained.Series, next []trained.Observation) error {
	if c.online != nil {
		return c.online.Step(states, next)
	}
	for i, o := range next { // the family filters whole series: the last observations of each client again
		series := pasts[i].ScaledAs(states[i])
		series.Observations = append(slices.Clip(series.Observations), o.Values)
		if c.nu > 0 {
			series.Controls = append(slices.Clip(series.Controls), controlsOf(o, c.nu))
		}
		f, err := c.run.Filter(series, 0)
		if err != nil {
			return err
		}
		last := len(f.Mean) - 1
		states[i].Mean, states[i].SD, states[i].Steps = f.Mean[last], f.SD[last], states[i].Steps+1
		if len(f.Weights) > 0 {
			states[i].Weights = f.Weights[last]
		}
	}
	return nil
}

// begin implements computer. It measures the scale of a series that training did not see, where each recording has a
// scale of its own. The series keeps it, however much of its history is filtered again.
func (c *runComputer) begin(s *trained.State, list []trained.Observation) error {
	return c.run.Measure(s, list)
}

// check implements computer.
func (c *runComputer) check(s *trained.State) error {
	if c.online == nil {
		return c.run.CheckState(s) // the observations are filtered again
	}
	return c.online.Check(s)
}

// forecast implements computer: it draws paths, and takes mean and quantiles of them.
func (c *runComputer) forecast(ctx context.Context, s trained.Series, q *ForecastRequest) (ForecastAnswer, error) {
	f, err := c.run.Forecast(s, trained.Query{
		Horizon: q.Horizon, Controls: missing(q.Controls), Samples: q.Samples, Seed: q.Seed, Context: ctx,
	})
	if err != nil {
		return ForecastAnswer{}, err
	}
	y := ForecastAnswer{Mean: eval.NumberRows(f.Mean), Levels: q.Quantiles}
	for _, level := range q.Quantiles {
		if err := ctx.Err(); err != nil {
			return y, fmt.Errorf("compute quantiles: %w", err)
		}
		y.Quantiles = append(y.Quantiles, eval.NumberRows(f.Quantile(level)))
	}
	return y, nil
}

// describe says what is served. Names of channels that cannot be read are left out.
func describe(run *trained.Run, c *runComputer, z sizes, l Limits) Description {
	info := run.Info()
	d := Description{
		Run: info.Name, Family: run.Family(), Step: run.Step(), SHA256: run.SHA256(), NX: z.nx, NU: z.nu,
		Incremental: c.online != nil, History: l.History,
	}
	if names, err := run.Columns(); err == nil { // names are a convenience
		d.Observations, d.Controls, d.DT = names.Observations, names.Controls, names.DT
	}
	return d
}
