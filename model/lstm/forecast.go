package lstm

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/pointwise"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// forecaster predicts with a trained model. It never sees more than the prefix of a query.
type forecaster struct {
	m        *Model
	tape     *autodiff.Tape
	prefixes statespace.Prefixes
}

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return &forecaster{m: m, tape: autodiff.NewInferenceTape(m.params)}
}

// Clone returns a forecaster for another goroutine.
func (f *forecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Dims are the sizes of the model, which has no latent state.
func (f *forecaster) Dims() model.Dims { return model.Dims{NX: f.m.data.NX, NU: f.m.data.NU} }

// Forecast reads the prefix and continues it by predictions that are fed back. Rollouts differ in their controls only:
// nothing is random but the noise of the observation.
func (f *forecaster) Forecast(dst *model.Forecast, q model.Query) {
	statespace.Answer(&f.prefixes, f.tape, dst, q, f.Dims(), q.Horizon, func(g statespace.Group, noise *rng.Stream) {
		statespace.Collect(dst, q, g, f.paths(q, g), noise)
	})
}

// paths reads x_1 … x_{T−1} with the controls of the prefix, then x_T and predictions with those after it.
func (f *forecaster) paths(q model.Query, g statespace.Group) statespace.Paths {
	t, d, rows, n := f.tape, f.m.data, g.Rows(), g.N
	known := f.newState(n)
	x := pointwise.Held(t, g.Batch)
	u := t.Constant(g.Batch.Controls, g.Batch.T*n, d.NU)
	for s := range g.Batch.T - 1 {
		f.step(&known, x.Block(s, n), u.Block(s+1, n))
	}
	state := f.newState(rows)
	for path := range g.Paths {
		copy(state.h.Block(path, n).Value, known.h.Value)
		copy(state.cell.Block(path, n).Value, known.cell.Value)
	}
	p := statespace.Paths{Mean: t.NewConstant(q.Horizon*rows, d.NX)}
	if !f.m.binary {
		p.SD = f.m.noise.SD(t, q.Horizon*rows)
	}
	after, last := statespace.Controls(t, q, d.NU, g), pointwise.Start(t, g, rows)
	for h := range q.Horizon {
		f.step(&state, last, after.Block(h, rows))
		y := f.m.predict(t, state.h, last)
		last = p.Mean.Block(h, rows)
		if f.m.binary {
			t.Sigmoid(last, y)
		} else {
			copy(last.Value, y.Value)
		}
	}
	return p
}

// state is what the layer remembers, a row for each sequence.
type state struct{ h, cell, tanh autodiff.Tensor }

func (f *forecaster) newState(rows int) state {
	units := f.m.layer.Recurrent.Rows
	s := state{f.tape.NewConstant(rows, units), f.tape.NewConstant(rows, units), f.tape.NewConstant(rows, units)}
	clear(s.h.Value)
	clear(s.cell.Value)
	return s
}

// step reads an observation and the control that acts after it.
func (f *forecaster) step(s *state, x, u autodiff.Tensor) {
	t := f.tape
	in := t.NewConstant(x.Rows, x.Cols+u.Cols)
	t.Concat(in, x, u)
	gates := t.Linear(in, f.m.layer.Input, f.m.layer.Bias, autodiff.Identity)
	kernel.Add(gates.Value, t.Linear(s.h, f.m.layer.Recurrent, nil, autodiff.Identity).Value)
	kernel.LSTMForward(gates.Value, s.cell.Value, s.cell.Value, s.h.Value, s.tanh.Value, s.h.Cols)
}
