package dvbf

import (
	"cmp"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// recognition is q(w_t | z_{t−1}, x_t, u_t) = N(μ_t, σ_t²): an encoder of x_t, then a network of all three.
type recognition struct {
	encoder  model.Body
	body     model.Body
	mean, sd model.Dense
}

// newRecognition declares the parameters encoder.… and recognition.…; the network behind the encoder has at most
// one residual block.
func newRecognition(p *autodiff.Params, d model.Dims, s *Settings, draws *rng.Stream) recognition {
	width := cmp.Or(s.EncoderHidden, s.Hidden)
	return recognition{
		encoder: model.NewBody(p, "encoder", d.NX, width, s.Blocks, draws),
		body:    model.NewBody(p, "recognition", d.NZ+width+d.NU, s.Hidden, min(s.Blocks, 1), draws),
		mean:    model.NewDense(p, "recognition.mean", s.Hidden, d.NZ, draws),
		sd:      model.NewDense(p, "recognition.sd", s.Hidden, d.NZ, draws),
	}
}

// recognitionSteps is a recognition on the tape of a recurrence; block i belongs to the step that leads to x_{i+1}.
type recognitionSteps struct {
	tape    *autodiff.Tape
	block   int
	z, x, u autodiff.Tensor // z_{t−1}, features of x_t, and u_t
	// [z x u] of all steps, the input of the body
	in             autodiff.Tensor
	body           model.BodySteps
	meanHead       autodiff.StepLinear
	sdHead         autodiff.StepLinear
	mean, variance autodiff.Tensor
	sd             autodiff.Tensor // before the softplus
	seen, hidden   autodiff.Tensor // [rows,1]: 1 where x_t was seen whole, and where not; no columns if nothing is missing
}

// steps lays out the recurrence; u are the controls from the second time step on. z and u may have several paths of
// each sequence of the batch.
func (n recognition) steps(t *autodiff.Tape, b model.Batch, z, u autodiff.Tensor) recognitionSteps {
	rows, nz, block := u.Rows, z.Cols, z.Rows/b.T
	read, complete := statespace.Readings(t, b)
	x := n.encoder.Apply(t, read)
	s := recognitionSteps{
		tape: t, block: block, z: z, u: u, mean: t.New(rows, nz), variance: t.New(rows, nz), sd: t.New(rows, nz),
	}
	// Features of an observation that does not count are zeros, so that what stands there has no influence.
	if complete.Cols > 0 {
		x = t.HideRows(x, complete)
		s.seen = statespace.Repeat(t, complete.Slice(b.B, complete.Rows), b.B, block/b.B)
		s.hidden = t.NewConstant(rows, 1)
		for i, v := range s.seen.Value {
			s.hidden.Value[i] = 1 - v
		}
	}
	s.x = statespace.Repeat(t, x.Slice(b.B, x.Rows), b.B, block/b.B)
	// The encoder runs over all x_t at once; what depends on z_{t−1} comes step by step.
	s.in = t.Activation(rows, z.Cols+x.Cols+u.Cols)
	s.body = n.body.Steps(t, s.in, block)
	s.meanHead = n.mean.Steps(t, s.mean, s.body.Y, block)
	s.sdHead = n.sd.Steps(t, s.sd, s.body.Y, block)
	return s
}

// step returns mean and variance of q(w_t) of step i.
func (s *recognitionSteps) step(i int) (mean, variance autodiff.Tensor) {
	block := func(x autodiff.Tensor) autodiff.Tensor { return x.Block(i, s.block) }
	s.tape.Concat(block(s.in), block(s.z), block(s.x), block(s.u))
	s.body.Step(i)
	s.meanHead.Step(i)
	s.sdHead.Step(i)
	s.tape.Variance(block(s.variance), block(s.sd), statespace.SDFloor)
	return s.moments(i*s.block, (i+1)*s.block)
}

// moments are mean and variance of rows lo … hi−1. Where x_t misses a value, q(w_t) is the prior N(0, I).
func (s *recognitionSteps) moments(lo, hi int) (mean, variance autodiff.Tensor) {
	mean, variance = s.mean.Slice(lo, hi), s.variance.Slice(lo, hi)
	if s.seen.Cols == 0 {
		return mean, variance
	}
	seen := s.seen.Slice(lo, hi)
	return s.tape.HideRows(mean, seen), s.tape.Add(s.tape.HideRows(variance, seen), s.hidden.Slice(lo, hi))
}
