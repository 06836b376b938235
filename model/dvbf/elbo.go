package dvbf

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Anneal is the schedule of the weight c of what the generative model says (Karl et al. 2017a, section 2.4, "Annealed
// KL divergence"; the paper prints max for min):
//
//	c(i) = min(1, 0.01 + i/Updates)
type Anneal struct {
	Updates uint64 `yaml:"updates" want:"[0,1000000000]" doc:"updates over which the weight of likelihood and prior rises from 0.01 to 1; 0: it is 1 from the start" source:"DVBF paper: 100000"`
}

// At returns the weight c of step i, counted from 0; it is 1 at model.EndOfSchedule and without a schedule.
func (a Anneal) At(i uint64) float32 {
	if i >= a.Updates {
		return 1
	}
	return min(1, 0.01+float32(float64(i)/float64(a.Updates)))
}

// Terms are what Loss reports: at the end of the schedule loss = reconstruction + kl_initial + kl_noise.
func (m *Model) Terms() []model.Term {
	terms := statespace.Terms()
	terms[2].Short = "kl_1"
	terms[3].Name, terms[3].Label, terms[3].Short = "kl_noise", "KL noise", "kl_w"
	return append(terms, model.UsageTerms(m.Nets.M, false)...)
}

// Loss records the negative evidence lower bound of the batch, divided by the numbers of sequences B and time steps T:
//
//	(1/BT)·Σ { Σ_t −log p(x_t|z_t) + Σ_t KL[q(w_t)‖N(0, I)] }
//
// with one draw of every w_t; densities are summed over dimensions. While the schedule has a weight c < 1 for log p(x)
// and log p(w), the loss is up to a constant
//
//	(1/BT)·Σ { Σ_t −c·log p(x_t|z_t) + Σ_t KL[q(w_t)‖N(0, I/c)] },
//
// since p(w)^c is proportional to N(0, I/c). All terms but the loss are those of c = 1, so that they compare
// between updates.
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor {
	p := m.infer(t, b, 1, &noise)
	nll := m.Emission.NegativeLogLikelihood(t, b, p.z)
	klInitial := t.StandardKL(p.first.Mean, p.first.Variance)
	klNoise := t.StandardKL(p.mean, p.variance)

	unit, c := 1/float32(b.T*b.B), m.anneal.At(step)
	first, rest := klInitial, klNoise
	if c < 1 {
		first, rest = tempered(t, p.first.Mean, p.first.Variance, c), tempered(t, p.mean, p.variance, c)
	}
	weights := [3]float32{float32(unit * c), unit, unit}
	loss := t.WeightedSum(weights[:], nll, first, rest)
	values := [4]float32{loss.Value[0], unit * nll.Value[0], unit * klInitial.Value[0], unit * klNoise.Value[0]}
	model.WriteUsage(terms[copy(terms, values[:]):], step, m.Nets.M, p.weights.Value)
	return loss
}

var _ model.Weighing = (*Model)(nil)

// LogWeights draws the noise of every sequence and writes Σ_t log p(x_t|z_t) + Σ_t log p(w_t)/q(w_t), with c = 1.
func (m *Model) LogWeights(t *autodiff.Tape, b model.Batch, noise rng.Stream, dst []float64) {
	clear(dst)
	w := statespace.LogWeights{Tape: t, Sums: dst}
	p := m.infer(t, b, 1, &noise)
	m.Emission.LogLikelihood(w, b, p.z)
	w.Start(p.first)
	w.Standard(p.w, 1)
	w.Gaussian(p.w, p.mean, p.variance, -1)
}

// tempered is the scalar Σ KL[N(mean, variance) ‖ N(0, 1/c)].
func tempered(t *autodiff.Tape, mean, variance autodiff.Tensor, c float32) autodiff.Tensor {
	zero, inverse := t.New(mean.Rows, mean.Cols), t.New(mean.Rows, mean.Cols)
	clear(zero.Value)
	for i := range inverse.Value {
		inverse.Value[i] = 1 / c
	}
	return t.GaussianKL(mean, variance, zero, inverse)
}
