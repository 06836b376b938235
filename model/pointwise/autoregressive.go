package pointwise

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// Pairs are all observations of a batch that have one before them; rows are time-major, [(T−1)·B, ·]. All are
// constants.
type Pairs struct {
	Last, Next autodiff.Tensor // x_{t−1} and x_t; a missing value of x_{t−1} is taken as it was last seen, or 0
	Controls   autodiff.Tensor // u_t
	Seen       autodiff.Tensor // 0 where a value of x_t is missing; no columns if none is
}

// NewPairs returns the pairs of a batch. They share its memory where nothing is missing.
func NewPairs(t *autodiff.Tape, b model.Batch) Pairs {
	rows := (b.T - 1) * b.B
	p := Pairs{
		Last: t.Constant(b.Observations, rows, b.NX), Next: t.Constant(b.Observations[b.B*b.NX:], rows, b.NX),
		Controls: t.Constant(b.Controls[b.B*b.NU:], rows, b.NU),
	}
	if b.Seen != nil {
		p.Last = Held(t, b).Slice(0, rows)
		p.Seen = t.Constant(b.Seen[b.B*b.NX:], rows, b.NX)
	}
	return p
}

// Held is the observations of a batch, [T·B, nx], a missing value as it was last seen, or 0.
func Held(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	if b.Seen == nil {
		return t.Constant(b.Observations, b.T*b.B, b.NX)
	}
	x, step := t.NewConstant(b.T*b.B, b.NX), b.B*b.NX
	for i := range x.Value {
		switch {
		case b.Seen[i] != 0:
			x.Value[i] = b.Observations[i]
		case i >= step:
			x.Value[i] = x.Value[i-step]
		default:
			x.Value[i] = 0
		}
	}
	return x
}

// seenAfter is p.Seen without the values that follow a missing one: before(i) says whether what precedes value i
// of the pairs was seen, where i counts the values of all rows. Value i of Last is value i of the batch.
func (p Pairs) seenAfter(t *autodiff.Tape, before func(i int) bool) autodiff.Tensor {
	if p.Seen.Cols == 0 {
		return p.Seen
	}
	y := t.NewConstant(p.Seen.Rows, p.Seen.Cols)
	for i, seen := range p.Seen.Value {
		y.Value[i] = seen
		if !before(i) {
			y.Value[i] = 0
		}
	}
	return y
}

// SeenTwice marks the values of x_t that were seen, and in x_{t−1} too; no columns if nothing is missing.
func (p Pairs) SeenTwice(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	return p.seenAfter(t, func(i int) bool { return b.Seen[i] != 0 })
}

// SeenAfterWhole marks the values of x_t that were seen after a whole x_{t−1}; no columns if nothing is missing.
func (p Pairs) SeenAfterWhole(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	if p.Seen.Cols == 0 {
		return p.Seen
	}
	whole := statespace.CompleteRows(t, b)
	return p.seenAfter(t, func(i int) bool { return whole.Value[i/b.NX] != 0 })
}

// Noise is N(0, σ²) with one learned σ per dimension.
type Noise struct{ sd *autodiff.Weight } // before the softplus

// NewNoise declares noise.sd, [nx], with zeros: σ is then softplus(0) + floor, about log 2.
func NewNoise(p *autodiff.Params, nx int) Noise { return Noise{p.Vector("noise.sd", nx)} }

// SD returns σ = softplus(v) + floor in so many rows, [rows, nx].
func (n Noise) SD(t *autodiff.Tape, rows int) autodiff.Tensor {
	return t.Repeat(t.Softplus(t.Param(n.sd), statespace.SDFloor), rows)
}

// noisy is what the models that are fitted by gradient have: parameters, and noise of each dimension among them.
type noisy struct {
	// data are the dimensions of the observations and controls.
	data   model.Data
	params *autodiff.Params
	noise  Noise
}

// Params are all parameters.
func (m *noisy) Params() *autodiff.Params { return m.params }

// Terms are what Loss reports: Terms of the package.
func (m *noisy) Terms() []model.Term { return Terms() }

// Noise is that of a step.
func (m *noisy) Noise() Noise { return m.noise }

// Bound says what the ELBO of these models is: nothing is latent, so it is no bound but exact.
const Bound = "exact: the log likelihood of each observation given those before it, in the mean without the first"

// Terms are what Loss reports: the loss, and the error of the prediction, which is the same value and the whole
// bound.
func Terms() []model.Term {
	const unit = "nats per sequence and predicted time step"
	return []model.Term{
		{Name: "loss", Label: "loss", Short: "loss", Unit: unit},
		{Name: "prediction", Label: "error of the prediction", Short: "pred", Unit: unit, Weight: 1, Bound: 1},
	}
}

// Loss returns the negative log likelihood nll of all pairs, divided by the numbers of sequences B and of predicted
// steps T−1, and writes its terms.
func Loss(t *autodiff.Tape, nll autodiff.Tensor, b model.Batch, terms []float32) autodiff.Tensor {
	unit := [1]float32{1 / float32(max(1, b.T-1)*b.B)}
	loss := t.WeightedSum(unit[:], nll)
	values := [2]float32{loss.Value[0], loss.Value[0]}
	copy(terms, values[:])
	return loss
}

// Check returns what does not fit together for every such model: a training sequence needs two steps.
func Check(setup model.Setup) []model.Fault {
	if setup.Sequence > 1 {
		return nil
	}
	return []model.Fault{model.Faultf([]string{"env.window", "env.length"}, "use at least 2",
		"a training sequence of %d step has nothing to predict", setup.Sequence)}
}

// firstOrder are settings of a process of order one.
type firstOrder struct{}

// Check returns what does not fit together.
func (firstOrder) Check(setup model.Setup) []model.Fault { return Check(setup) }

// Ignored returns the common setting without effect: a process of order one sees nothing before the last observation.
func (firstOrder) Ignored(model.Setup) []model.Fault {
	return []model.Fault{model.Faultf([]string{"eval.filter_window", "model.kind"}, "leave it out",
		"the model predicts from the last observation alone, whatever was before it")}
}
