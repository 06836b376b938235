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
	*statespace.Shell
	m *Model
}

var (
	_ model.Forecaster = (*Forecaster)(nil)
	_ model.Smoother   = (*Forecaster)(nil)
)

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return &Forecaster{statespace.NewShell(m, &m.Frame), m}
}

// Smooth averages paths of the posterior q of training, whose switches are inferred from all later observations too, if
// the measurement is the LSTM.
func (f *Forecaster) Smooth(dst *model.Smoothing, b model.Batch) { statespace.Smooth(dst, f, b) }

// Systems are the base systems. The constant of an offset is their bias.
func (m *Model) Systems() model.Systems {
	c := m.cfg
	s := m.transition.state.Systems(c.M, c.NZ, c.NU)
	if !c.Offset {
		return s
	}
	for k := range c.M {
		last := m.transition.state.B.Values()[(k*(c.NU+1)+c.NU)*c.NZ:] // row of B of the input that is always one
		for i := range c.NZ {
			s.Bias[k*c.NZ+i] = float64(last[i])
		}
	}
	return s
}

// Filtered infers q(z_t) and the mixing weights along one path of draws, at the final temperatures.
func (m *Model) Filtered(t *autodiff.Tape, b model.Batch, noise *rng.Stream) (statespace.Posterior, autodiff.Tensor) {
	p := m.infer(t, b, 1, noise, m.cfg.Anneal.Final(), 1)
	return p.Posterior, p.dynamics.weights
}

// Continued goes on from the last state and switch of every path. Order of the noise: that of infer with one
// sample, then z_T and z_{T+1} … in one draw of [(Horizon+1)·rows, nz] numbers, then the switches, [Horizon·rows,
// M].
func (m *Model) Continued(t *autodiff.Tape, q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	c, rows := m.cfg, g.Rows()
	p := m.infer(t, g.Batch, g.Paths, noise, c.Anneal.Final(), 1)
	z := t.New((q.Horizon+1)*rows, c.NZ)
	eps := statespace.Normals(t, noise, z.Rows, c.NZ)
	p.Start(t, z.Block(0, rows), eps.Block(0, rows))
	switches := c.drawSwitchNoise(t, noise, 1, q.Horizon*rows)
	// The noise is drawn all the same; without it a switch follows its mean, or its most likely system.
	if c.Rollout != RolloutSample {
		clear(switches.Value)
	}
	d := m.roll(t, c.Rollout, z, statespace.Controls(t, q, c.NU, g), eps, p.lastSwitch(rows), rows, switches)
	mean, sd := m.Emission.Predict(t, z.Slice(rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: d.weights}
}

// Imagined draws h from its prior and all else from the generative model, whatever kind of rollout forecasts have.
// Order of the noise: h, z step by step, then the switches.
func (m *Model) Imagined(t *autodiff.Tape, steps, n int, u autodiff.Tensor, noise *rng.Stream) statespace.Drawn {
	z := t.New(steps*n, m.cfg.NZ)
	eps := statespace.Normals(t, noise, z.Rows, m.cfg.NZ)
	m.Initial.Start(t, z.Block(0, n), eps.Block(0, n))
	d := m.roll(t, RolloutSample, z, u, eps, autodiff.Tensor{}, n, m.cfg.drawSwitchNoise(t, noise, 1, u.Rows))
	mean, sd := m.Emission.Predict(t, z)
	return statespace.Drawn{Z: z, Weights: d.weights, Mean: mean, SD: sd}
}

// roll draws all blocks of z but the first from the prior, with noise eps of the states and noise of the switches.
// Without columns, previous says that a sequence begins. z is [(steps+1)·rows, nz], eps has its shape, and u and
// noise have a block for each step.
func (m *Model) roll(t *autodiff.Tape, kind RolloutSwitch, z, u, eps, previous autodiff.Tensor, rows int,
	noise autodiff.Tensor,
) dynamics {
	d := m.transition.begin(t, z, u, previous, rows)
	c := m.cfg
	c.Rollout = kind
	s := c.newSwitches(&d, c.Anneal.Final(), measurement{}, noise)
	for i := range d.steps() {
		d.proposeSwitch(i, s.draws())
		s.prior(&d, i)
		d.move(i)
		t.Draw(z.Block(i+1, rows), d.state.Mean.Block(i, rows), d.state.Q.Block(i, rows), eps.Block(i+1, rows))
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
