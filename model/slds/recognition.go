package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// recognitionNet is the measurement side of inference: q_meas(z_t | x_t) from the encoder and, on the
// features of its trunk, q_meas(s_t | x_{≥t}, u_{≥t}).
type recognitionNet struct {
	trunk    model.Body
	mean, sd model.Dense

	lstm  autodiff.LSTMWeights // measurement: lstm
	mlp   model.Body           // measurement: mlp
	first model.Dense          // logits (Concrete) or mean (Normal)
	other model.Dense          // gate (Concrete) or standard deviation (Normal)
}

func newRecognitionNet(p *autodiff.Params, c Config, draws *rng.Stream) recognitionNet {
	n := recognitionNet{
		trunk: model.NewBody(p, "encoder", c.NX, c.EncoderHidden, c.Blocks, draws),
		mean:  model.NewDense(p, "encoder.mean", c.EncoderHidden, c.NZ, draws),
		sd:    model.NewDense(p, "encoder.sd", c.EncoderHidden, c.NZ, draws),
	}
	in := c.EncoderHidden
	if c.MeasurementControls {
		in += c.NU
	}
	if c.Measurement == LSTM {
		n.lstm = newLSTM(p, "switch.lstm", in, c.Hidden, draws)
	} else {
		n.mlp = model.NewBody(p, "switch.mlp", in, c.Hidden, c.transitionBlocks(), draws)
	}
	if c.Switching == Normal {
		n.first = model.NewDense(p, "switch.measurement.mean", c.Hidden, c.M, draws)
		n.other = model.NewDense(p, "switch.measurement.sd", c.Hidden, c.M, draws)
		return n
	}
	n.first = model.NewDense(p, "switch.measurement.logits", c.Hidden, c.M, draws)
	if c.Gate {
		n.other = model.NewDense(p, "switch.measurement.gate", c.Hidden, c.M, draws)
		n.other.B.Fill(0)
	}
	return n
}

// newLSTM draws all weights from U(±1/√H) and raises the bias of the forget gate by one.
func newLSTM(p *autodiff.Params, name string, in, units int, draws *rng.Stream) autodiff.LSTMWeights {
	w := autodiff.LSTMWeights{
		Input:     p.Matrix(name+".input", in, 4*units),
		Recurrent: p.Matrix(name+".recurrent", units, 4*units),
		Bias:      p.Vector(name+".bias", 4*units),
	}
	w.Input.InitFanIn(draws, units)
	w.Recurrent.InitFanIn(draws, units)
	w.Bias.InitFanIn(draws, units)
	forget := w.Bias.Values()[units : 2*units]
	for i := range forget {
		forget[i]++
	}
	return w
}

// measurement is what recognition says of every time step of a batch; rows are time-major.
type measurement struct {
	mean, variance autodiff.Tensor // of q_meas(z_t), [T·B, nz]
	first, other   autodiff.Tensor // of q_meas(s_t), [T·B, M]: logits and gate, or mean and variance
	seen           autodiff.Tensor // [T·B,1], 0 where x_t misses a value; no columns if none does
}

// seenBlock is the block of a step, or nothing if no value is missing.
func (m measurement) seenBlock(i, n int) autodiff.Tensor {
	if m.seen.Cols == 0 {
		return autodiff.Tensor{}
	}
	return m.seen.Block(i, n)
}

// measure runs the recognition networks over the batch. An observation that misses a value gives no
// measurement of z_t, and its features are zero for the switch.
func (n recognitionNet) measure(t *autodiff.Tape, c Config, b model.Batch) measurement {
	x := t.Constant(b.Observations, b.T*b.B, c.NX)
	trunk := n.trunk.Apply(t, x)
	m := measurement{mean: n.mean.Apply(t, trunk), variance: t.New(x.Rows, c.NZ)}
	t.Variance(m.variance, n.sd.Apply(t, trunk), sdFloor)

	if b.Seen != nil {
		m.seen = completeRows(t, b)
		trunk = t.HideRows(trunk, m.seen)
	}
	features := n.switchFeatures(t, c, b, trunk)
	m.first = n.first.Apply(t, features)
	switch {
	case c.Switching == Normal:
		m.other = t.New(x.Rows, c.M)
		t.Variance(m.other, n.other.Apply(t, features), sdFloor)
	case c.Gate:
		m.other = t.New(x.Rows, c.M)
		t.Sigmoid(m.other, n.other.Apply(t, features))
	}
	return m
}

// completeRows marks the observations without a missing value.
func completeRows(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
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

func (n recognitionNet) switchFeatures(t *autodiff.Tape, c Config, b model.Batch, trunk autodiff.Tensor) autodiff.Tensor {
	var u autodiff.Tensor
	if c.MeasurementControls && c.NU > 0 {
		u = t.Constant(b.Controls, trunk.Rows, c.NU)
	}
	if c.Measurement == LSTM {
		return t.BackwardLSTM(trunk, u, n.lstm, b.B)
	}
	if u.Cols == 0 {
		return n.mlp.Apply(t, trunk)
	}
	in := t.Activation(trunk.Rows, trunk.Cols+c.NU)
	t.Concat(in, trunk, u)
	return n.mlp.Apply(t, in)
}
