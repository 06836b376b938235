package dvbf

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// fusionForecaster answers questions of a trained model. It never sees more than the prefix of a query.
type fusionForecaster struct {
	*statespace.Shell
	m *Fusion
}

// NewForecaster returns a forecaster over the model's parameters.
func (m *Fusion) NewForecaster() model.Forecaster {
	return &fusionForecaster{statespace.NewShell(m, &m.Frame), m}
}

// Systems are the base systems.
func (m *Fusion) Systems() model.Systems { return m.transition.Systems(m.Nets.M, m.Nets.NZ, m.Nets.NU) }

// Filtered infers q(z_t) and the mixing weights α_t.
func (m *Fusion) Filtered(t *autodiff.Tape, b model.Batch, noise *rng.Stream) (statespace.Posterior, autodiff.Tensor) {
	p := m.infer(t, b, 1, noise)
	return p.Posterior, p.weights
}

// Continued goes on from the last state of every path by draws of p(z_t | z_{t−1}, u_t). The last state of the
// prefix is drawn from q(z_T) anew. Order of the noise: that of infer, then z_T and z_{T+1} … in one draw of
// [(Horizon+1)·rows, nz] numbers.
func (m *Fusion) Continued(t *autodiff.Tape, q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	p, rows := m.infer(t, g.Batch, g.Paths, noise), g.Rows()
	z := t.New((q.Horizon+1)*rows, m.Nets.NZ)
	eps := statespace.Normals(t, noise, z.Rows, z.Cols)
	p.Start(t, z.Block(0, rows), eps.Block(0, rows))
	weights := m.roll(t, z, statespace.Controls(t, q, m.Nets.NU, g), eps, rows)
	mean, sd := m.Emission.Predict(t, z.Slice(rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: weights}
}

// Imagined draws h from its prior and all else from the generative model. Order of the noise: h, then z step by
// step.
func (m *Fusion) Imagined(t *autodiff.Tape, steps, n int, u autodiff.Tensor, noise *rng.Stream) statespace.Drawn {
	z := t.New(steps*n, m.Nets.NZ)
	eps := statespace.Normals(t, noise, z.Rows, z.Cols)
	m.Initial.Start(t, z.Block(0, n), eps.Block(0, n))
	weights := m.roll(t, z, u, eps, n)
	mean, sd := m.Emission.Predict(t, z)
	return statespace.Drawn{Z: z, Weights: weights, Mean: mean, SD: sd}
}

// roll draws all blocks of z but the first from p(z_t | z_{t−1}, u_t) with noise eps, and returns the mixing
// weights. Block i of eps belongs to block i of z, u has a block less than z, and the weights as many as u.
func (m *Fusion) roll(t *autodiff.Tape, z, u, eps autodiff.Tensor, rows int) autodiff.Tensor {
	mixing := m.mixing.Steps(t, z, u, rows)
	transition := m.transition.Steps(t, mixing.Weights, z, u, rows)
	for i := range u.Rows / rows {
		mixing.Step(i)
		transition.Step(i)
		t.Draw(z.Block(i+1, rows), transition.Mean.Block(i, rows), transition.Q.Block(i, rows), eps.Block(i+1, rows))
	}
	return mixing.Weights
}
