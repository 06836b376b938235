package pointwise

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// lstmForecaster predicts with a trained model. It never sees more than the prefix of a query.
type lstmForecaster struct {
	m        *LSTMModel
	tape     *autodiff.Tape
	prefixes statespace.Prefixes
}

// NewForecaster returns a forecaster over the model's parameters.
func (m *LSTMModel) NewForecaster() model.Forecaster {
	return &lstmForecaster{m: m, tape: autodiff.NewInferenceTape(m.params)}
}

// Clone returns a forecaster for another goroutine.
func (f *lstmForecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Dims are the sizes of the model, which has no latent state.
func (f *lstmForecaster) Dims() model.Dims { return model.Dims{NX: f.m.data.NX, NU: f.m.data.NU} }

// Forecast reads the prefix and continues it by draws that are fed back. The mean is the path without noise. Of binary
// observations the probabilities are fed back, and rollouts differ in their controls only.
func (f *lstmForecaster) Forecast(dst *model.Forecast, q model.Query) {
	statespace.Answer(&f.prefixes, f.tape, dst, q, f.Dims(), q.Horizon, f.paths)
}

// paths reads x_1 … x_{T−1} with the controls of the prefix, then x_T and predictions with those after it.
// Inference draws nothing, so the prefix is read once for all paths of a sequence. Order of the noise: all steps
// of a group at once, [Horizon·rows, nx]; a binary model has none.
func (f *lstmForecaster) paths(q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	t, d, rows, n := f.tape, f.m.data, g.Rows(), g.N
	known := f.newState(n)
	x := Held(t, g.Batch)
	u := t.Constant(g.Batch.Controls, g.Batch.T*n, d.NU)
	for s := range g.Batch.T - 1 {
		f.step(&known, x.Block(s, n), u.Block(s+1, n))
	}
	after := statespace.Controls(t, q, d.NU, g)
	p := statespace.Paths{Mean: t.NewConstant(q.Horizon*rows, d.NX)}
	if f.m.binary {
		f.continued(p.Mean, f.repeated(known, g), Start(t, g, rows), after, nil)
		return p
	}
	p.Expected, p.SD = t.NewConstant(q.Horizon*rows, d.NX), t.NewConstant(q.Horizon*rows, d.NX)
	clear(p.SD.Value) // what is drawn is the observation
	f.continued(p.Expected, f.repeated(known, g), Start(t, g, rows), after, nil)
	noise.Normals(p.Mean.Value)
	f.continued(p.Mean, f.repeated(known, g), Start(t, g, rows), after, f.m.noise.SD(t, rows).Value)
	return p
}

// continued writes a path of so many rows into y, whose steps hold standard normal noise, for deviations sd; without
// deviations, what is expected.
func (f *lstmForecaster) continued(y autodiff.Tensor, s lstmState, last, u autodiff.Tensor, sd []float32) {
	rows := last.Rows
	for h := range y.Rows / rows {
		f.step(&s, last, u.Block(h, rows))
		mean := f.m.predict(f.tape, s.h, last)
		last = y.Block(h, rows)
		switch {
		case f.m.binary:
			f.tape.Sigmoid(last, mean)
		case sd == nil:
			copy(last.Value, mean.Value)
		default:
			for i, e := range last.Value {
				last.Value[i] = mean.Value[i] + float32(sd[i]*e)
			}
		}
	}
}

// repeated is a state once for each path of a group.
func (f *lstmForecaster) repeated(s lstmState, g statespace.Group) lstmState {
	all := f.newState(g.Rows())
	for path := range g.Paths {
		copy(all.h.Block(path, g.N).Value, s.h.Value)
		copy(all.cell.Block(path, g.N).Value, s.cell.Value)
	}
	return all
}

// lstmState is what the layer remembers, a row for each sequence.
type lstmState struct{ h, cell, tanh autodiff.Tensor }

// newState is a state of zeros, [rows, units]; tanh is scratch memory of the kernel and has any values.
func (f *lstmForecaster) newState(rows int) lstmState {
	units := f.m.layer.Recurrent.Rows
	s := lstmState{f.tape.NewConstant(rows, units), f.tape.NewConstant(rows, units), f.tape.NewConstant(rows, units)}
	clear(s.h.Value)
	clear(s.cell.Value)
	return s
}

// step reads an observation and the control that acts after it, and updates the state in place: the equations of
// Tape.ForwardLSTM for one step, by the same kernels.
func (f *lstmForecaster) step(s *lstmState, x, u autodiff.Tensor) {
	t := f.tape
	in := t.NewConstant(x.Rows, x.Cols+u.Cols)
	t.Concat(in, x, u)
	gates := t.Linear(in, f.m.layer.Input, f.m.layer.Bias, autodiff.Identity)
	kernel.Add(gates.Value, t.Linear(s.h, f.m.layer.Recurrent, nil, autodiff.Identity).Value)
	kernel.LSTMForward(gates.Value, s.cell.Value, s.cell.Value, s.h.Value, s.tanh.Value, s.h.Cols)
}
