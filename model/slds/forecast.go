package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"

	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Forecaster answers questions of a trained model: what the state is given a prefix, and what follows.
// It never sees more than the prefix of a query. Temperatures are those at the end of the schedule.
type Forecaster struct {
	m        *Model
	tape     *autodiff.Tape
	prefixes statespace.Prefixes
}

var (
	_ model.Forecaster = (*Forecaster)(nil)
	_ model.Filterer   = (*Forecaster)(nil)
)

// NewForecaster returns a forecaster over the model's parameters.
func NewForecaster(m *Model) *Forecaster {
	return &Forecaster{m: m, tape: autodiff.NewInferenceTape(m.params)}
}

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster { return NewForecaster(m) }

// Clone returns a forecaster for another goroutine.
func (f *Forecaster) Clone() model.Forecaster { return NewForecaster(f.m) }

// Dims are the sizes of the model.
func (f *Forecaster) Dims() model.Dims { return f.m.cfg.Dims }

// Filter infers q(z_t) and the mixing weights of every time step of the prefix.
func (f *Forecaster) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	c := f.m.cfg
	dst.Resize(prefix.T, prefix.B, c.NZ, c.M)
	f.prefixes.Each(f.tape, prefix, 1, prefix.T, func(g statespace.Group) {
		p := f.m.infer(f.tape, g.Batch, 1, &noise, c.Anneal.Final(), 1)
		p.Filtering(dst, g, p.dynamics.weights)
	})
}

// Forecast filters the prefix and rolls out q.Samples latent paths under the given controls.
func (f *Forecaster) Forecast(dst *model.Forecast, q model.Query) {
	c := f.m.cfg
	rows := max(q.Prefix.T, q.Horizon)
	statespace.Answer(&f.prefixes, f.tape, dst, q, c.Dims, rows, func(g statespace.Group, noise *rng.Stream) {
		p := f.m.infer(f.tape, g.Batch, g.Paths, noise, c.Anneal.Final(), 1)
		statespace.Collect(dst, q, g, f.rollOut(q, p, g, noise), noise)
	})
}

// rollOut continues the filtered paths of a group.
func (f *Forecaster) rollOut(q model.Query, p posterior, g statespace.Group, noise *rng.Stream) statespace.Paths {
	c, t, rows := f.m.cfg, f.tape, g.Rows()
	z := t.New((q.Horizon+1)*rows, c.NZ)
	eps := statespace.Normals(t, noise, z.Rows, c.NZ)
	p.Start(t, z.Block(0, rows), eps.Block(0, rows))
	previous, u := p.lastSwitch(rows), statespace.Controls(t, q, c.NU, g)
	d := f.roll(z, u, eps, previous, rows, f.rolloutNoise(noise, q.Horizon*rows))
	mean, sd := f.m.emission.Predict(t, z.Slice(rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: d.weights}
}

// roll draws all blocks of z but the first from the prior, with noise eps of the states and noise of the switches.
// Without columns, previous says that a sequence begins.
func (f *Forecaster) roll(z, u, eps, previous autodiff.Tensor, rows int, noise autodiff.Tensor) dynamics {
	d := f.m.transition.begin(f.tape, z, u, previous, rows)
	s := f.m.cfg.newSwitches(&d, f.m.cfg.Anneal.Final(), measurement{}, noise)
	for i := range d.steps() {
		d.proposeSwitch(i, s.draws())
		s.prior(&d, i)
		d.state.Step(i)
		f.tape.Draw(z.Block(i+1, rows), d.state.Mean.Block(i, rows), d.state.Q.Block(i, rows), eps.Block(i+1, rows))
	}
	return d
}

// lastSwitch is the switch that led to the end of the prefix, of so many paths; nothing after a single step.
func (p *posterior) lastSwitch(rows int) autodiff.Tensor {
	last := p.dynamics.steps() - 1
	if last < 0 {
		return autodiff.Tensor{}
	}
	return p.switches.draws().Block(last, rows)
}

func (f *Forecaster) rolloutNoise(noise *rng.Stream, rows int) autodiff.Tensor {
	x := f.m.cfg.drawSwitchNoise(f.tape, noise, 1, rows)
	if f.m.cfg.Rollout != RolloutSample {
		clear(x.Value)
	}
	return x
}
