package dvbf

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster { return statespace.NewShell(m, &m.Frame) }

// Systems are the base systems; Q of a system is CᵢᵀCᵢ, that of its noise alone. (Mixed noise has the covariance of
// mixed matrices, which is not the mixture of these.)
func (m *Model) Systems() model.Systems {
	d := m.Nets
	s := m.transition.Systems(d.M, d.NZ, d.NU)
	for k := range d.M {
		c := m.noiseMatrix(k)
		for i := range d.NZ {
			for j := range d.NZ {
				for w := range d.NZ {
					s.Q[(k*d.NZ+i)*d.NZ+j] += float64(c[w*d.NZ+i]) * float64(c[w*d.NZ+j])
				}
			}
		}
	}
	return s
}

// Filtered infers mean and standard deviation of z_t, given the drawn z_{t−1}, and the mixing weights α_t.
func (m *Model) Filtered(t *autodiff.Tape, b model.Batch, noise *rng.Stream) (statespace.Posterior, autodiff.Tensor) {
	p := m.infer(t, b, 1, noise)
	return m.states(t, p), p.weights
}

// states are the moments of z_t: with C = Σᵢ αᵢ Cᵢ, the mean is z_t + (μ_t − w_t)·C and the variances are the
// diagonal of Cᵀ·diag(σ_t²)·C. Both are given z_{t−1} as it was drawn: all that is random in z_t is then w_t. The
// results are constants without a gradient; moments and weights have a row for each step from the second on.
func (m *Model) states(t *autodiff.Tape, p posterior) statespace.Posterior {
	nz := m.Nets.NZ
	first := p.z.Rows - p.w.Rows
	s := statespace.Posterior{Z: p.z, Mean: t.NewConstant(p.w.Rows, nz), Variance: t.NewConstant(p.w.Rows, nz)}
	copy(s.Mean.Value, p.z.Value[first*nz:])
	clear(s.Variance.Value)
	for row := range p.w.Rows {
		mean, variance := s.Mean.Value[row*nz:][:nz], s.Variance.Value[row*nz:][:nz]
		for k := range nz {
			at := row*nz + k
			shift := p.mean.Value[at] - p.w.Value[at]
			for j := range nz {
				var c float32
				for i, alpha := range p.weights.Value[row*m.Nets.M:][:m.Nets.M] {
					c += float32(alpha * m.noiseMatrix(i)[k*nz+j])
				}
				mean[j] += float32(shift * c)
				variance[j] += float32(p.variance.Value[at] * float32(c*c))
			}
		}
	}
	return s
}

// Continued goes on from every path by draws of the noise from the prior, after another draw of the last noise of
// the prefix: the last state of a path is drawn from q(z_T | z_{T−1}) anew, as other models draw it. A prefix of
// one step has no such noise. Order of the noise: that of infer, then [steps·rows, nz] for the step that is drawn
// again, if there is one, and the horizon.
func (m *Model) Continued(t *autodiff.Tape, q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	p := m.infer(t, g.Batch, g.Paths, noise)
	nz, nu, rows := m.Nets.NZ, m.Nets.NU, g.Rows()
	// again is 1 if the prefix has a transition, whose noise is drawn once more; steps counts it and the horizon.
	again := min(p.steps, 1)
	steps := again + q.Horizon
	z, u := t.New((steps+1)*rows, nz), t.NewConstant(steps*rows, nu)
	w := statespace.Normals(t, noise, steps*rows, nz)
	copy(u.Value[again*rows*nu:], statespace.Controls(t, q, nu, g).Value)
	copy(z.Block(0, rows).Value, p.z.Block(p.steps-again, rows).Value)
	// The first block of w is then a draw of q(w_T), with the last control of the prefix, in place of the prior's.
	if again > 0 {
		for path := range g.Paths {
			copy(u.Block(path, g.N).Value, g.Batch.Controls[p.steps*g.N*nu:])
		}
		mean, variance := p.mean.Block(p.steps-1, rows), p.variance.Block(p.steps-1, rows)
		for i, e := range w.Block(0, rows).Value {
			sd := float32(math.Sqrt(float64(variance.Value[i])))
			w.Block(0, rows).Value[i] = mean.Value[i] + float32(sd*e)
		}
	}
	d := m.begin(t, z, u, w, rows)
	for i := range steps {
		d.step(i)
	}
	mean, sd := m.Emission.Predict(t, z.Slice((again+1)*rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: d.mixing.Weights.Slice(again*rows, steps*rows)}
}

// Imagined draws every noise from its prior. Order of the noise: w_1 … w_T in one draw, [steps·n, nz].
func (m *Model) Imagined(t *autodiff.Tape, steps, n int, u autodiff.Tensor, noise *rng.Stream) statespace.Drawn {
	z, w := t.New(steps*n, m.Nets.NZ), statespace.Normals(t, noise, steps*n, m.Nets.NZ)
	m.Initial.Start(t, z.Block(0, n), w.Block(0, n))
	d := m.begin(t, z, u, w.Slice(n, w.Rows), n)
	for i := range steps - 1 {
		d.step(i)
	}
	mean, sd := m.Emission.Predict(t, z)
	return statespace.Drawn{Z: z, Weights: d.mixing.Weights, Mean: mean, SD: sd}
}
