package kvae

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

var _ model.Weighing = (*Model)(nil)

// LogWeights draws the codes of every sequence and writes, with the states integrated out,
//
//	Σ_t log p(x_t|a_t) − Σ_t log q(a_t|x_t) + log p(a_1 … a_T)
//
// Where x_t misses a value there is no q(a_t|x_t): the states are drawn jointly given all codes that there are,
// and a_t from p(a_t|z_t), so that what was seen of x_t weighs the draw.
//
// dst [B] is overwritten. Noise is that of the codes, then, if anything is missing, that of drawStates and of the
// codes in its place.
func (m *Model) LogWeights(t *autodiff.Tape, b model.Batch, noise rng.Stream, dst []float64) {
	clear(dst)
	w := statespace.LogWeights{Tape: t, Sums: dst}
	rows := b.T * b.B
	mean, variance := m.codec.encode(t, readings(t, b))
	a := t.New(rows, m.state.na)
	t.Draw(a, mean, variance, statespace.Normals(t, &noise, rows, m.state.na))
	f := m.state.filter(t, newSequence(t, b, a))
	each := statespace.LogWeights{Tape: t, Sums: make([]float64, rows)} // by observation: those without a code drop out
	each.Gaussian(a, mean, variance, -1)
	for i, v := range f.logEvidence().Value {
		if f.seq.seen.Cols == 0 || f.seq.seen.Value[i] != 0 {
			dst[i%b.B] += each.Sums[i] + float64(v)
		}
	}
	if b.Seen != nil {
		drawn := f.emit(f.drawStates(&noise), 0)
		disturb(t, drawn, m.state.r, &noise)
		a = f.seq.fill(t, a, drawn, 0)
	}
	m.codec.logLikelihood(w, b, a)
}

// logLikelihood adds log p(x_t | a_t) over the values that were seen.
func (n *codec) logLikelihood(w statespace.LogWeights, b model.Batch, a autodiff.Tensor) {
	if n.up == nil {
		n.emission.LogLikelihood(w, b, a)
		return
	}
	x := w.Tape.Constant(b.Observations, a.Rows, b.NX)
	w.Add(statespace.BernoulliLogLikelihood(w.Tape, b, x, n.logits(w.Tape, a)), 1)
}

// logEvidence is log p(a_t | a_1 … a_{t−1}) of every code, from the surprises of the filter, [T·B, 1]. Those of
// missing codes have no meaning.
func (f *filtered) logEvidence() autodiff.Tensor {
	t := f.tape
	surprise, factor := f.surprise, f.factor
	surprise.Grad, factor.Grad = nil, nil
	rows := t.Add(t.SumRows(t.Square(t.LowerSolve(factor, surprise))), t.LogDet(factor))
	return t.AddScalar(t.Scale(rows, -0.5), -0.5*log2Pi*float32(f.n.na))
}

// drawStates draws z_1 … z_T jointly from their posterior, backwards: with J of smooth,
//
//	z_t ~ N(m + J(z_{t+1} − m⁻_{t+1}), (I − J A_{t+1}) P (I − J A_{t+1})ᵀ + J Q Jᵀ)
//
// Noise is that of z_T, then of each step before it that of Q and that of the rest. The draws are joint, unlike
// those of smoothed, as a weight is a density of the whole path.
func (f *filtered) drawStates(noise *rng.Stream) autodiff.Tensor {
	t, nz := f.tape, f.n.nz
	z := t.New(f.mean.Rows, nz)
	draw := func(i int, mean, cov autodiff.Tensor) {
		eps := statespace.Normals(t, noise, f.block, nz)
		t.Concat(f.at(z, i), t.Add(mean, t.BatchMul(t.Cholesky(cov), eps, nz)))
	}
	last := f.seq.steps - 1
	draw(last, f.at(f.mean, last), f.at(f.cov, last))
	rootQ := t.NewConstant(f.block, nz)
	for i := last - 1; i >= 0; i-- {
		a, p := f.at(f.a, i+1), f.at(f.cov, i)
		gain := t.CholeskySolve(t.Cholesky(f.at(f.beforeCov, i+1)), t.BatchMul(a, p, nz)) // Jᵀ
		shift := t.Sub(f.at(z, i+1), f.at(f.before, i+1))
		// The noise of the transition and that of the state are drawn apart: their covariances add up.
		copy(rootQ.Value, statespace.Normals(t, noise, f.block, nz).Value)
		kernel.Scale(rootQ.Value, float32(math.Sqrt(float64(f.n.q))))
		mean := t.Add(f.at(f.mean, i), t.BatchMulTransA(gain, t.Add(shift, rootQ), nz))
		keep := f.without(t.BatchMulTransA(gain, a, nz))
		draw(i, mean, quadratic(t, keep, p, nz))
	}
	return z
}
