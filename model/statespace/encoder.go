package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Encoder is the inverse measurement q_meas(z_t | x_t) = N(μ, σ²), with the features of its trunk for other networks.
type Encoder struct {
	trunk    model.Body
	mean, sd model.Dense
}

// NewEncoder declares the parameters of an encoder from nx observed to nz latent dimensions.
func NewEncoder(p *autodiff.Params, nx, width, blocks, nz int, draws *rng.Stream) Encoder {
	return Encoder{
		trunk: model.NewBody(p, "encoder", nx, width, blocks, draws),
		mean:  model.NewDense(p, "encoder.mean", width, nz, draws),
		sd:    model.NewDense(p, "encoder.sd", width, nz, draws),
	}
}

// Measurement is what an encoder says of every time step of a batch; rows are time-major.
type Measurement struct {
	Mean, Variance autodiff.Tensor // of q_meas(z_t), [T·B, nz]
	Features       autodiff.Tensor // of the trunk, [T·B, width]; zero where x_t misses a value
	Seen           autodiff.Tensor // [T·B,1], 0 where x_t misses a value; no columns if none does
}

// Measure encodes every observation of the batch. One that misses a value is no measurement.
func (e Encoder) Measure(t *autodiff.Tape, b model.Batch) Measurement {
	features := e.trunk.Apply(t, t.Constant(b.Observations, b.T*b.B, b.NX))
	m := Measurement{Mean: e.mean.Apply(t, features), Features: features}
	m.Variance = t.New(m.Mean.Rows, m.Mean.Cols)
	t.Variance(m.Variance, e.sd.Apply(t, features), SDFloor)
	if b.Seen != nil {
		m.Seen = CompleteRows(t, b)
		m.Features = t.HideRows(features, m.Seen)
	}
	return m
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
		y.Value[row] = 1
		for _, s := range b.Seen[row*b.NX : (row+1)*b.NX] {
			if s == 0 {
				y.Value[row] = 0
			}
		}
	}
	return y
}
