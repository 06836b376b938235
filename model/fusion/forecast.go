package fusion

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"

	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// forecaster answers questions of a trained model. It never sees more than the prefix of a query.
type forecaster struct {
	m        *Model
	tape     *autodiff.Tape
	prefixes statespace.Prefixes
}

var _ model.Filterer = (*forecaster)(nil)

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return &forecaster{m: m, tape: autodiff.NewInferenceTape(m.params)}
}

// Clone returns a forecaster for another goroutine.
func (f *forecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Dims are the sizes of the model.
func (f *forecaster) Dims() model.Dims { return f.m.dims }

// Filter infers q(z_t) and the mixing weights α_t of every time step of the prefix.
func (f *forecaster) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	dst.Resize(prefix.T, prefix.B, f.m.dims.NZ, f.m.dims.M)
	f.prefixes.Each(f.tape, prefix, 1, prefix.T, func(g statespace.Group) {
		p := f.m.infer(f.tape, g.Batch, 1, &noise)
		p.Filtering(dst, g, p.weights)
	})
}

// Forecast filters the prefix and rolls out q.Samples latent paths under the given controls.
func (f *forecaster) Forecast(dst *model.Forecast, q model.Query) {
	rows := max(q.Prefix.T, q.Horizon)
	statespace.Answer(&f.prefixes, f.tape, dst, q, f.m.dims, rows, func(g statespace.Group, noise *rng.Stream) {
		p := f.m.infer(f.tape, g.Batch, g.Paths, noise)
		statespace.Collect(dst, q, g, f.rollOut(q, p, g, noise), noise)
	})
}

// rollOut continues the filtered paths of a group by draws of p(z_t | z_{t−1}, u_t).
func (f *forecaster) rollOut(q model.Query, p posterior, g statespace.Group, noise *rng.Stream) statespace.Paths {
	t, rows := f.tape, g.Rows()
	z := t.New((q.Horizon+1)*rows, f.m.dims.NZ)
	eps := statespace.Normals(t, noise, z.Rows, z.Cols)
	p.Start(t, z.Block(0, rows), eps.Block(0, rows))
	weights := f.roll(z, statespace.Controls(t, q, f.m.dims.NU, g), eps, rows)
	mean, sd := f.m.emission.Predict(t, z.Slice(rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: weights}
}

// roll draws all blocks of z but the first from p(z_t | z_{t−1}, u_t) with noise eps, and returns the mixing weights.
func (f *forecaster) roll(z, u, eps autodiff.Tensor, rows int) autodiff.Tensor {
	t := f.tape
	mixing := f.m.mixing.Steps(t, z, u, rows)
	transition := f.m.transition.Steps(t, mixing.Weights, z, u, rows)
	for i := range u.Rows / rows {
		mixing.Step(i)
		transition.Step(i)
		t.Draw(z.Block(i+1, rows), transition.Mean.Block(i, rows), transition.Q.Block(i, rows), eps.Block(i+1, rows))
	}
	return mixing.Weights
}
