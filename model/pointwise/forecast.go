package pointwise

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Process is a linear process of order one: E[x_t | x_{t−1}, u_t] and noise.
type Process interface {
	model.Model
	// Predict returns E[x_t | x_{t−1}, u_t] of every row; it is linear in x_{t−1}, so that its value at the mean
	// of x_{t−1} is the mean of x_t. last is [n, nx], u is [n, nu].
	Predict(t *autodiff.Tape, last, u autodiff.Tensor) autodiff.Tensor
	// Noise is that which is added to the expectation at every step.
	Noise() Noise
}

// forecaster draws paths of a process. It never sees more than the last values of the prefix of a query.
type forecaster struct {
	process  Process
	dims     model.Dims
	tape     *autodiff.Tape
	prefixes statespace.Prefixes
}

// NewForecaster returns a forecaster of a process with nx observed and nu control dimensions.
func NewForecaster(p Process, nx, nu int) model.Forecaster {
	return &forecaster{process: p, dims: model.Dims{NX: nx, NU: nu}, tape: autodiff.NewInferenceTape(p.Params())}
}

// Clone returns a forecaster for another goroutine.
func (f *forecaster) Clone() model.Forecaster { return NewForecaster(f.process, f.dims.NX, f.dims.NU) }

// Dims are the sizes of the process, which has no latent state.
func (f *forecaster) Dims() model.Dims { return f.dims }

// Forecast draws q.Samples paths from the last observation on. The mean is exact: the path without noise.
func (f *forecaster) Forecast(dst *model.Forecast, q model.Query) {
	statespace.Answer(&f.prefixes, f.tape, dst, q, f.dims, q.Horizon, f.paths)
}

// paths draws the paths of a group, x_t = E[x_t | x_{t−1}, u_t] + σ ⊙ ε, and the path of the expectation beside
// them. What is drawn is fed back, so the spread grows with the horizon. Order of the noise: all steps of the
// group at once, [Horizon·rows, nx].
func (f *forecaster) paths(q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	t, nx, rows := f.tape, f.dims.NX, g.Rows()
	u := statespace.Controls(t, q, f.dims.NU, g)
	drawn, expected := Start(t, g, rows), Start(t, g, rows)
	p := statespace.Paths{
		Mean: t.NewConstant(q.Horizon*rows, nx), Expected: t.NewConstant(q.Horizon*rows, nx),
		SD: t.NewConstant(q.Horizon*rows, nx),
	}
	clear(p.SD.Value) // what is drawn is the observation
	noise.Normals(p.Mean.Value)
	sd := f.process.Noise().SD(t, rows)
	// p.Mean holds ε until its step turns it into the observation that was drawn.
	for h := range q.Horizon {
		expected = f.process.Predict(t, expected, u.Block(h, rows))
		copy(p.Expected.Block(h, rows).Value, expected.Value)
		mean := f.process.Predict(t, drawn, u.Block(h, rows))
		drawn = p.Mean.Block(h, rows)
		for i, e := range drawn.Value {
			drawn.Value[i] = mean.Value[i] + float32(sd.Value[i]*e)
		}
	}
	return p
}

// Start is the last observation of every sequence of a group, missing values as they were last seen, for so many
// rows of paths, [rows, nx]. Row j·N+i is that of sequence i.
func Start(t *autodiff.Tape, g statespace.Group, rows int) autodiff.Tensor {
	last := Held(t, g.Batch).Block(g.Batch.T-1, g.Batch.B)
	x := t.NewConstant(rows, g.Batch.NX)
	for path := range rows / last.Rows {
		copy(x.Block(path, last.Rows).Value, last.Value)
	}
	return x
}
