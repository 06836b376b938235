package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// LogWeights collects log p(x, z) − log q(z | x) of every sequence of a batch, one factor after another, on a tape that
// does not record. Rows are time-major.
type LogWeights struct {
	Tape *autodiff.Tape
	Sums []float64 // by sequence; they begin at zero
}

// Add adds rows·sign, [steps·B, 1], to the sequences that they belong to.
func (w LogWeights) Add(rows autodiff.Tensor, sign float64) {
	for i, v := range rows.Value {
		w.Sums[i%len(w.Sums)] += float64(sign * float64(v))
	}
}

// Gaussian adds log N(x; mean, variance)·sign for rows x, mean and variance [steps·B, n]:
//
//	−½·Σ ((x − mean)²/variance + log variance + log 2π)
func (w LogWeights) Gaussian(x, mean, variance autodiff.Tensor, sign float64) {
	t := w.Tape
	w.normal(t.Add(t.Div(t.Square(t.Sub(x, mean)), variance), t.Log(variance)), sign)
}

// Standard adds log N(x; 0, I)·sign.
func (w LogWeights) Standard(x autodiff.Tensor, sign float64) { w.normal(w.Tape.Square(x), sign) }

// Start is the draw of h behind z_1, or of w_1: mean and variance of q, and the noise.
type Start struct{ Mean, Variance, Noise autodiff.Tensor }

// Start adds log p(h) − log q(h) with the standard normal prior.
func (w LogWeights) Start(s Start) {
	h := w.Tape.New(s.Mean.Rows, s.Mean.Cols)
	w.Tape.Draw(h, s.Mean, s.Variance, s.Noise)
	w.Standard(h, 1)
	w.Gaussian(h, s.Mean, s.Variance, -1)
}

// normal adds −½·Σ (y + log 2π)·sign over the columns of y.
func (w LogWeights) normal(y autodiff.Tensor, sign float64) {
	t := w.Tape
	w.Add(t.AddScalar(t.Scale(t.SumRows(y), -0.5), -0.5*log2Pi*float32(y.Cols)), sign)
}

const log2Pi = 1.83787706640934548356

// LogLikelihood adds log p(x_t | z_t) of a batch; missing values do not count.
func (n Emission) LogLikelihood(w LogWeights, b model.Batch, z autodiff.Tensor) {
	t := w.Tape
	x := t.Constant(b.Observations, b.T*b.B, b.NX)
	mean, sd := n.decode(t, z)
	if n.binary {
		w.Add(BernoulliLogLikelihood(t, b, x, mean), 1)
		return
	}
	y := t.Scale(t.Square(t.Div(t.Sub(x, mean), sd)), -0.5)
	y = t.AddScalar(t.Sub(y, t.Log(sd)), -0.5*log2Pi)
	w.Add(t.SumRows(seenOnly(t, b, y)), 1)
}

// BernoulliLogLikelihood is Σ x·l − softplus(l) over the values of every row that were seen, with the logits l.
func BernoulliLogLikelihood(t *autodiff.Tape, b model.Batch, x, logits autodiff.Tensor) autodiff.Tensor {
	return t.SumRows(seenOnly(t, b, t.Sub(t.Mul(x, logits), t.Softplus(logits, 0))))
}

// seenOnly is y with zeros for missing values.
func seenOnly(t *autodiff.Tape, b model.Batch, y autodiff.Tensor) autodiff.Tensor {
	if b.Seen == nil {
		return y
	}
	return t.Mul(y, t.Constant(b.Seen, y.Rows, y.Cols))
}
