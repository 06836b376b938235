package kvae

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Anneal is the schedule: first everything learns but the network of the mixing weights, so that the codes have a
// meaning before that tells them apart; and the reconstruction has less weight while the model is trained.
type Anneal struct {
	MixingFrom     uint64  `yaml:"mixing_from" want:"[0,1000000000]" doc:"first update that also trains the network of the mixing weights" source:"KVAE code: after 10 epochs, of 157 updates each"`
	Reconstruction float64 `yaml:"reconstruction" want:"(0,1000]" doc:"weight of the reconstruction in training; it is 1 at validation" source:"KVAE code: 0.3"`
}

// mixes reports whether step i trains the network of the mixing weights.
func (a Anneal) mixes(i uint64) bool { return i >= a.MixingFrom }

// reconstruction is its weight at step i.
func (a Anneal) reconstruction(i uint64) float32 {
	if i == model.EndOfSchedule {
		return 1
	}
	return float32(a.Reconstruction)
}

// Terms are what Loss reports: at validation loss = reconstruction + code + transition + emission + smoothing.
func (m *Model) Terms() []model.Term {
	const unit = "nats per sequence and time step"
	terms := []model.Term{
		{Name: "loss", Label: "loss", Short: "loss", Unit: unit},
		{Name: "reconstruction", Label: "reconstruction", Short: "rec", Unit: unit, Weight: 1},
		{Name: "code", Label: "negative entropy of the code", Short: "code", Unit: unit, Weight: 1},
		{Name: "transition", Label: "negative log density of the states", Short: "trans", Unit: unit, Weight: 1},
		{Name: "emission", Label: "negative log density of the code given the state", Short: "emit", Unit: unit, Weight: 1},
		{Name: "smoothing", Label: "negative sum of the entropies of the states", Short: "smooth", Unit: unit, Weight: 1},
		{Name: "negative_elbo", Label: "negative ELBO", Short: "nelbo", Unit: unit, Bound: 1},
	}
	return append(terms, model.UsageTerms(m.dims.M, false)...)
}

// Loss records the objective of the paper's code, divided by the numbers of sequences B and time steps T:
//
//	(1/BT)·Σ { w·Σ_t −log p(x_t|a_t) − H[q(a_t|x_t)] − log p(z_1 … z_T)
//	          − Σ_t log p(a_t|z_t) − Σ_t H[p(z_t|a_1 … a_T)] }
//
// with one draw of every a_t and, from its smoothed marginal, of every z_t; H is an entropy. Since the states are
// drawn apart and their entropies summed, −loss is an objective, not a bound: the joint entropy of z_1 … z_T is
// smaller. The bound needs no z, and is reported beside it:
//
//	negative_elbo = (1/BT)·Σ { Σ_t −log p(x_t|a_t) − H[q(a_t|x_t)] − log p(a_1 … a_T) }
//
// An observation that misses a value has no code of its own: its a_t is drawn from p(a_t|z_t), and what was seen
// of it is reconstructed from that.
//
// Noise is that of the codes of all steps, then that of the states. The gradient goes through the draws, the
// filter and the smoother.
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor {
	if !m.anneal.mixes(step) {
		m.state.freezeMixing(t)
	}
	rows := b.T * b.B
	mean, variance := m.codec.encode(t, readings(t, b))
	eps := statespace.Normals(t, &noise, rows, m.state.na)
	a := t.New(rows, m.state.na)
	t.Draw(a, mean, variance, eps)
	// Filter and smoother take the drawn codes as observations.
	f := m.state.filter(t, newSequence(t, b, a))
	z, smoothing := f.smooth().draw(t, &noise, m.dims.NZ)

	drawn := a
	if b.Seen != nil {
		// The codes' noise, which has had no use where there is no code, disturbs C_t z_t in its place.
		spread := t.NewConstant(rows, m.state.na)
		copy(spread.Value, eps.Value)
		kernel.Scale(spread.Value, float32(math.Sqrt(float64(m.state.r))))
		drawn = f.seq.fill(t, a, t.Add(f.emit(z, 0), spread), 0)
	}
	nll := m.codec.negativeLogLikelihood(t, b, drawn)
	// H of a Gaussian is ½·(log v + log 2π + 1) of each dimension, over the codes that there are.
	logs := t.Sum(f.seq.wherever(t, t.Log(variance)))
	code := t.AddScalar(t.Scale(logs, -0.5), -0.5*float32(f.seq.whole()*m.state.na)*(log2Pi+1))
	transition, emission := f.transition(z), f.emission(z)

	unit, w := 1/float32(rows), m.anneal.reconstruction(step)
	weights := [5]float32{float32(w * unit), unit, unit, unit, unit}
	loss := t.WeightedSum(weights[:], nll, code, transition, emission, smoothing)
	// The bound weighs the reconstruction by 1 at every step.
	values := [7]float32{
		loss.Value[0], unit * nll.Value[0], unit * code.Value[0], unit * transition.Value[0], unit * emission.Value[0],
		unit * smoothing.Value[0], unit * (nll.Value[0] + code.Value[0] + f.negativeLogEvidence()),
	}
	model.WriteUsage(terms[copy(terms, values[:]):], step, m.dims.M, f.systems.weights.Value)
	return loss
}

// log2Pi is ln 2π.
const log2Pi = 1.83787706640934548356

// draw draws every z_t from its smoothed marginal, apart from the others, and returns the scalar −Σ_t H[p(z_t |
// a_1 … a_T)]. H is ½·log det P + ½·nz·(log 2π + 1), from the Cholesky factor that the draw needs anyhow.
func (s smoothed) draw(t *autodiff.Tape, noise *rng.Stream, nz int) (z, entropy autodiff.Tensor) {
	factor := t.Cholesky(s.cov)
	z = t.Add(s.mean, t.BatchMul(factor, statespace.Normals(t, noise, s.mean.Rows, nz), nz))
	entropy = t.AddScalar(t.Scale(t.Sum(t.LogDet(factor)), -0.5), -0.5*float32(len(s.mean.Value))*(log2Pi+1))
	return z, entropy
}

// transition is the scalar −log p(z_1 … z_T | u_2 … u_T), summed over the sequences. z_1 is under its prior, the
// others under the matrices that the filter has mixed.
func (f *filtered) transition(z autodiff.Tensor) autodiff.Tensor {
	t := f.tape
	y := isotropic(t, z.Block(0, f.block), f.n.start, f.block*f.n.nz)
	if f.seq.steps == 1 {
		return y
	}
	rows := z.Rows - f.block
	moved := f.move(z.Slice(0, rows), f.seq.u.Slice(f.block, z.Rows), f.block)
	return t.Add(y, isotropic(t, t.Sub(z.Slice(f.block, z.Rows), moved), f.n.q, rows*f.n.nz))
}

// emission is the scalar −Σ_t log p(a_t | z_t) over the codes of what was seen.
func (f *filtered) emission(z autodiff.Tensor) autodiff.Tensor {
	t := f.tape
	rest := f.seq.wherever(t, t.Sub(f.seq.a, f.emit(z, 0)))
	return isotropic(t, rest, f.n.r, f.seq.whole()*f.n.na)
}

// isotropic is the scalar −Σ log N(x; 0, variance) = Σ x²/(2·variance) + ½·count·log(2π·variance) over so many
// values; those beyond which are zero.
func isotropic(t *autodiff.Tape, x autodiff.Tensor, variance float32, count int) autodiff.Tensor {
	return t.AddScalar(t.Scale(t.Sum(t.Square(x)), 0.5/variance), 0.5*float32(count)*(log2Pi+logOf(variance)))
}

// negativeLogEvidence is −log p(a_1 … a_T), summed over the sequences, from the surprises e of the filter:
//
//	½·Σ_t (|L⁻¹ e|² + log det L Lᵀ + na·log 2π),  L Lᵀ = S
//
// over the codes that there are. It is not differentiated.
func (f *filtered) negativeLogEvidence() float32 {
	t, surprise, factor := f.tape, f.surprise, f.factor
	surprise.Grad, factor.Grad = nil, nil
	rows := t.Add(t.SumRows(t.Square(t.LowerSolve(factor, surprise))), t.LogDet(factor))
	if f.seq.seen.Cols > 0 {
		rows = t.Mul(rows, f.seq.seen)
	}
	count := float32(f.seq.whole() * f.n.na)
	return 0.5 * (t.Sum(rows).Value[0] + float32(count*log2Pi))
}

// logOf is the logarithm that has the same bits on every machine.
func logOf(x float32) float32 {
	v := [1]float32{x}
	kernel.Log(v[:], v[:])
	return v[0]
}
