package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Encoder is the inverse measurement
//
//	q_meas(z_t | x_t) = N(μ(x_t), diag σ(x_t)²),  σ = softplus(s(x_t)) + SDFloor
//
// and the features of its trunk for other networks.
type Encoder struct {
	trunk    model.Body
	mean, sd model.Dense
	skip     skip
}

// EncoderConfig is the size of an encoder.
type EncoderConfig struct {
	NX, NZ        int
	Width, Blocks int
	Skip          bool // whether the mean has a linear map of x_t in it, beside the network
}

// NewEncoder declares the parameters encoder.… of an encoder.
func NewEncoder(p *autodiff.Params, c EncoderConfig, draws *rng.Stream) Encoder {
	return Encoder{
		trunk: model.NewBody(p, "encoder", c.NX, c.Width, c.Blocks, draws),
		mean:  model.NewDense(p, "encoder.mean", c.Width, c.NZ, draws),
		sd:    model.NewDense(p, "encoder.sd", c.Width, c.NZ, draws),
		skip:  newSkip(p, c.Skip, "encoder.skip", c.NX, c.NZ, draws),
	}
}

// Measurement is what an encoder says of every time step of a batch; rows are time-major.
type Measurement struct {
	Mean, Variance autodiff.Tensor // of q_meas(z_t), [T·B, nz]
	Features       autodiff.Tensor // of the trunk, [T·B, width]; zero where x_t misses a value
	Seen           autodiff.Tensor // [T·B,1], 0 where x_t misses a value; no columns if none does
}

// Measure encodes every observation of the batch at once, before a recurrence over its steps begins. One that
// misses a value is no measurement, unless all do.
func (e Encoder) Measure(t *autodiff.Tape, b model.Batch) Measurement {
	x, seen := Readings(t, b)
	features := e.trunk.Apply(t, x)
	m := Measurement{Mean: e.skip.add(t, e.mean.Apply(t, features), x), Features: features}
	m.Variance = t.New(m.Mean.Rows, m.Mean.Cols)
	t.Variance(m.Variance, e.sd.Apply(t, features), SDFloor)
	if seen.Cols > 0 {
		m.Seen = seen
		m.Features = t.HideRows(features, m.Seen)
	}
	return m
}

// Readings are the observations that an encoder reads, [T·B, nx], and which of them count, [T·B,1]; no columns if
// nothing is missing. See model.Batch.Measured.
func Readings(t *autodiff.Tape, b model.Batch) (x, seen autodiff.Tensor) {
	if b.Seen == nil {
		return t.Constant(b.Observations, b.T*b.B, b.NX), autodiff.Tensor{}
	}
	x, seen = t.NewConstant(b.T*b.B, b.NX), t.NewConstant(b.T*b.B, 1)
	b.Measured(x.Value, seen.Value)
	return x, seen
}

// From drops the measurements of the first rows.
func (m Measurement) From(rows int) Measurement {
	return Measurement{From(m.Mean, rows), From(m.Variance, rows), From(m.Features, rows), From(m.Seen, rows)}
}

// Repeat is the measurement of so many paths of each of n sequences, without features: Repeat of its parts.
func (m Measurement) Repeat(t *autodiff.Tape, n, paths int) Measurement {
	return Measurement{
		Mean: Repeat(t, m.Mean, n, paths), Variance: Repeat(t, m.Variance, n, paths),
		Seen: Repeat(t, m.Seen, n, paths),
	}
}

// SeenBlock is the block of a step of n rows, or nothing if no value is missing.
func (m Measurement) SeenBlock(i, n int) autodiff.Tensor {
	if m.Seen.Cols == 0 {
		return autodiff.Tensor{}
	}
	return m.Seen.Block(i, n)
}

// From is x without its first rows; a tensor without columns stays one.
func From(x autodiff.Tensor, rows int) autodiff.Tensor {
	if x.Cols == 0 {
		return x
	}
	return x.Slice(rows, x.Rows)
}

// CompleteRows marks the observations without a missing value, [T·B,1].
func CompleteRows(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	y := t.NewConstant(b.T*b.B, 1)
	for row := range y.Value {
		if y.Value[row] = 0; b.Complete(row/b.B, row%b.B) {
			y.Value[row] = 1
		}
	}
	return y
}
