package categorical

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Forecaster answers questions of a trained model. It never sees more than the prefix of a query. It serves one
// goroutine.
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

// Smooth averages paths of the posterior q of training.
func (f *Forecaster) Smooth(dst *model.Smoothing, b model.Batch) { statespace.Smooth(dst, f, b) }

// Filtered infers q(z_t) along one drawn path, and the beliefs b_t of all steps but the first, as probabilities
// [(T−1)·B, M].
func (m *Model) Filtered(t *autodiff.Tape, b model.Batch, noise *rng.Stream) (statespace.Posterior, autodiff.Tensor) {
	p := m.infer(t, b, 1, noise)
	return p.Posterior, t.Exp(p.steps.belief.Slice(b.B, p.Z.Rows))
}

// Continued goes on from the last state and belief of every path: it draws the switch, then the state, for
// q.Horizon steps. Noise is that of inference over the prefix, then that of roll.
func (m *Model) Continued(t *autodiff.Tape, q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	p, rows := m.infer(t, g.Batch, g.Paths, noise), g.Rows()
	z := t.New((q.Horizon+1)*rows, m.cfg.NZ)
	copy(z.Value, p.Z.Block(g.Batch.T-1, rows).Value)
	// Block 0 of state, belief and ages is the last of the prefix.
	u := statespace.Controls(t, q, m.cfg.NU, g)
	r := m.transition.begin(t, z, u, rows, false)
	copy(r.belief.Value, p.steps.belief.Block(g.Batch.T-1, rows).Value)
	if m.cfg.Ages > 0 {
		copy(r.ages.Value, p.steps.ages.Block(g.Batch.T-1, rows).Value)
	}
	m.roll(&r, m.cfg.Rollout, noise)
	mean, sd := m.Emission.Predict(t, z.Slice(rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: r.weights}
}

// Imagined draws h and s_1 from their priors and all else from the generative model, whatever kind of rollout
// forecasts have. Noise is that of h, then that of roll. u are the controls of all steps but the first.
func (m *Model) Imagined(t *autodiff.Tape, steps, n int, u autodiff.Tensor, noise *rng.Stream) statespace.Drawn {
	z := t.New(steps*n, m.cfg.NZ)
	m.Initial.Start(t, z.Block(0, n), statespace.Normals(t, noise, n, m.cfg.NZ))
	r := m.transition.begin(t, z, u, n, false)
	m.transition.first(&r)
	m.roll(&r, Sample, noise)
	mean, sd := m.Emission.Predict(t, z)
	return statespace.Drawn{Z: z, Weights: r.weights, Mean: mean, SD: sd}
}

// roll draws all blocks of z but the first. Order of the noise: of all states, then of all switches. They are
// drawn whether the rollout needs them or not, so that rollouts of different kinds have the same noise of states.
func (m *Model) roll(r *recurrence, kind Rollout, noise *rng.Stream) {
	t, b := r.tape, r.block
	eps, gumbel := statespace.Normals(t, noise, r.mean.Rows, m.cfg.NZ), t.NewConstant(r.weights.Rows, m.cfg.M)
	noise.Gumbels(gumbel.Value)
	// The largest of ln w without noise is the most likely system.
	if kind == Mode {
		clear(gumbel.Value)
	}
	for i := range r.weights.Rows / b {
		r.predict(i)
		if kind == Mean {
			copy(r.belief.Block(i+1, b).Value, r.logWeights.Block(i, b).Value)
		} else {
			r.choose(i, gumbel.Block(i, b))
		}
		r.mix(i)
		t.Draw(r.z.Block(i+1, b), r.mean.Block(i, b), r.variance.Block(i, b), eps.Block(i, b))
	}
}

// choose draws the system of step i by the Gumbel-max rule. The belief after it is certain of it, and so are the
// weights. Of equal ones the first is taken. All others are Unlikely: their logarithm is finite.
func (r *recurrence) choose(i int, gumbel autodiff.Tensor) {
	logs, w, next := r.logWeights.Block(i, r.block), r.weights.Block(i, r.block), r.belief.Block(i+1, r.block)
	m := w.Cols
	for at := 0; at < len(w.Value); at += m {
		best := 0
		for j := range m {
			if logs.Value[at+j]+gumbel.Value[at+j] > logs.Value[at+best]+gumbel.Value[at+best] {
				best = j
			}
			w.Value[at+j], next.Value[at+j] = 0, autodiff.Unlikely
		}
		w.Value[at+best], next.Value[at+best] = 1, 0
	}
}

// Systems are the base systems, copies in float64. Columns j·nz … of the layer of moves are A_jᵀ over B_jᵀ; A has
// the identity of a residual transition in it. Q is that of the model, not that of inference.
func (m *Model) Systems() model.Systems {
	c := m.cfg
	s := model.NewSystems(c.M, c.NZ, c.NU)
	s.Residual, s.Floor = c.Residual, float64(c.VarianceFloor)
	w, columns := m.transition.systems.W.Values(), c.M*c.NZ
	for k := range c.M {
		for i := range c.NZ {
			at := k*c.NZ + i
			for j := range c.NZ {
				s.A[at*c.NZ+j] = float64(w[j*columns+at])
			}
			if c.Residual {
				s.A[at*c.NZ+i]++
			}
			for j := range c.NU {
				s.B[at*c.NU+j] = float64(w[(c.NZ+j)*columns+at])
			}
			s.Bias[at] = float64(m.transition.systems.B.Values()[at])
		}
	}
	m.transition.q.Diagonals(s.Q, c.NZ)
	return s
}

// Segment averages the smoothed probabilities of the switch over so many paths of z from q. Along a path they are
// those of a Markov chain, by the backward recursion
//
//	β_{t−1}(i) = log Σ_j p(j | i, z_{t−1}, u_t)·N(z_t; μ_j, Q_j)·exp β_t(j);  p(s_t | z) ∝ b_t·exp β_t
//
// The first step has the row of the second. noise is used path after path.
func (f *Forecaster) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	c := f.m.cfg
	dst.Resize(b.T, b.B, c.M)
	clear(dst.Probability)
	for range paths {
		f.Each(b, b.T, func(g statespace.Group) {
			p := f.m.infer(f.Tape, g.Batch, 1, &noise)
			p.steps.smooth()
			for t := range b.T {
				// Block t is of the system that led to step t; none led to the first.
				from := p.steps.belief.Block(max(t, min(1, b.T-1)), g.N)
				to := dst.Probability[(t*b.B+g.First)*c.M:]
				for i, v := range from.Value {
					to[i] += v
				}
			}
		})
	}
	normalise(dst)
}

// normalise makes rows sum to 1.
func normalise(s *model.Segmentation) {
	for i := 0; i < len(s.Probability); i += s.M {
		row, sum := s.Probability[i:i+s.M], float32(0)
		for _, v := range row {
			sum += v
		}
		for j := range row {
			row[j] /= sum
		}
	}
}

// smooth turns the filtered beliefs of all steps into smoothed probabilities, in place. β of the last block is 0.
// N(z_t; μ_j, Q_j) is taken from filtering: b_t ∝ w_t·N, so that ln N = ln b_t − ln w_t up to a constant.
func (r *recurrence) smooth() {
	if r.ages.Cols > 0 {
		r.smoothAged()
		return
	}
	t, n, m := r.tape, r.block, r.weights.Cols
	beta := t.NewConstant(n, m)
	clear(beta.Value)
	next, joint := t.NewConstant(n*m, m), t.NewConstant(n, m)
	for i := r.weights.Rows/n - 1; i >= 0; i-- {
		after, logs := r.belief.Block(i+1, n), r.logWeights.Block(i, n)
		for k, b := range after.Value { // log N + β, up to a constant of the row
			joint.Value[k] = b - logs.Value[k] + beta.Value[k]
			after.Value[k] = b + beta.Value[k]
		}
		t.Softmax(after, after)
		autodiff.SwitchRows(next, r.scores.Block(i, n), r.stay)
		for row := range n * m {
			v := next.Value[row*m:][:m]
			kernel.Add(v, joint.Value[row/m*m:][:m])
			beta.Value[row] = logSum(v)
		}
	}
	first := r.belief.Block(0, n)
	kernel.Add(first.Value, beta.Value)
	t.Softmax(first, first)
}

// logSum is log Σ exp x of at least one number; it overwrites x. The exponential and the logarithm are those of
// the kernels, which have the same bits on every machine.
func logSum(x []float32) float32 {
	most := x[0]
	for _, v := range x {
		most = max(most, v)
	}
	for i := range x {
		x[i] -= most
	}
	kernel.Exp(x, x)
	sum := [1]float32{}
	for _, v := range x {
		sum[0] += v
	}
	kernel.Log(sum[:], sum[:])
	return most + sum[0]
}
