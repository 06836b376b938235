package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

var _ model.Weighing = (*Model)(nil)

// LogWeights draws h, s and z of every sequence and writes
//
//	Σ_t log p(x_t|z_t) + log p(h)/q(h) + Σ_{t≥2} log p(z_t|z_{t−1},s_t,u_t)/q(z_t) + Σ_{t≥2} log p(s_t|·)/q(s_t)
//
// at the final temperatures.
func (m *Model) LogWeights(t *autodiff.Tape, b model.Batch, noise rng.Stream, dst []float64) {
	clear(dst)
	w := statespace.LogWeights{Tape: t, Sums: dst}
	p := m.infer(t, b, 1, &noise, m.cfg.Anneal.Final(), 1)
	m.Emission.LogLikelihood(w, b, p.Z)
	w.Start(p.First)
	z := p.Z.Slice(b.B, p.Z.Rows)
	w.Gaussian(z, p.dynamics.state.Mean, p.dynamics.state.Q, 1)
	w.Gaussian(z, p.Mean, p.Variance, -1)
	// A deterministic switch adds nothing: it is the same in p and q.
	switch m.cfg.Switching {
	case Normal:
		s := p.switches.gaussian
		w.Gaussian(s.s, p.dynamics.heads[0], s.vp, 1)
		w.Gaussian(s.s, s.mean, s.variance, -1)
	case Concrete:
		w.Add(p.switches.concrete.logRatio(&p.dynamics), 1)
	}
}

// logRatio is log p(s_t) − log q(s_t) of every draw, [steps·B, 1]: minus the one-draw estimate of the divergence, row
// by row.
func (c *concreteSwitch) logRatio(d *dynamics) autodiff.Tensor {
	// One row at a time: the divergence of a single draw is minus its log ratio.
	one := *c
	ratio := d.tape.NewConstant(c.logits.Rows, 1)
	heads := d.heads[0]
	row := *d
	for i := range ratio.Value {
		one.logits, one.noise, row.heads[0] = c.logits.Slice(i, i+1), c.noise.Slice(i, i+1), heads.Slice(i, i+1)
		ratio.Value[i] = -one.divergence(&row).Value[0]
	}
	return ratio
}
