package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// recognitionNet is the measurement side of inference: q_meas(z_t | x_t) from the encoder and, on the
// features of its trunk, q_meas(s_t | x_{≥t}, u_{≥t}).
type recognitionNet struct {
	encoder statespace.Encoder

	lstm  autodiff.LSTMWeights // measurement: lstm
	mlp   model.Body           // measurement: mlp
	first model.Dense          // logits (Concrete) or mean (Normal)
	other model.Dense          // gate (Concrete) or standard deviation (Normal)
}

// newRecognitionNet declares encoder.… and, for a switch that is inferred, the networks switch.lstm or switch.mlp
// and switch.measurement.…. A gate starts with a bias of zero.
func newRecognitionNet(p *autodiff.Params, c Config, draws *rng.Stream) recognitionNet {
	n := recognitionNet{encoder: statespace.NewEncoder(p, c.EncoderConfig(), draws)}
	if c.Switching == Deterministic { // nothing to infer
		return n
	}
	in := c.EncoderHidden
	if c.MeasurementControls {
		in += c.NU
	}
	if c.Measurement == LSTM {
		n.lstm = model.NewLSTM(p, "switch.lstm", in, c.Hidden, draws)
	} else {
		n.mlp = model.NewBody(p, "switch.mlp", in, c.Hidden, c.transitionBlocks(), draws)
	}
	if c.Switching == Normal {
		n.first = model.NewDense(p, "switch.measurement.mean", c.Hidden, c.M, draws)
		n.other = model.NewDense(p, "switch.measurement.sd", c.Hidden, c.M, draws)
		c.spread(n.other)
		return n
	}
	n.first = model.NewDense(p, "switch.measurement.logits", c.Hidden, c.M, draws)
	if c.Gate {
		n.other = model.NewDense(p, "switch.measurement.gate", c.Hidden, c.M, draws)
		n.other.B.Fill(0)
	}
	return n
}

// measurement is what recognition says of every time step of a batch; rows are time-major.
type measurement struct {
	statespace.Measurement                 // of z_t
	first, other           autodiff.Tensor // of q_meas(s_t), [T·B, M]: logits and gate, or mean and variance
}

// from drops the measurements of the first rows, those of the first time step.
func (m measurement) from(rows int) measurement {
	return measurement{m.From(rows), statespace.From(m.first, rows), statespace.From(m.other, rows)}
}

// repeat is the measurement of so many paths of each of n sequences.
func (m measurement) repeat(t *autodiff.Tape, n, paths int) measurement {
	return measurement{
		m.Repeat(t, n, paths), statespace.Repeat(t, m.first, n, paths), statespace.Repeat(t, m.other, n, paths),
	}
}

// measure runs the recognition networks over the batch. An observation that misses a value gives no measurement of
// z_t, and its features are zero for the switch. All steps are computed at once: nothing of it depends on a draw.
func (n recognitionNet) measure(t *autodiff.Tape, c Config, b model.Batch) measurement {
	m := measurement{Measurement: n.encoder.Measure(t, b)}
	if c.Switching == Deterministic {
		return m
	}
	features := n.switchFeatures(t, c, b, m.Features)
	m.first = n.first.Apply(t, features)
	switch {
	case c.Switching == Normal:
		m.other = t.New(features.Rows, c.M)
		t.Variance(m.other, n.other.Apply(t, features), statespace.SDFloor)
	case c.Gate:
		m.other = t.New(features.Rows, c.M)
		t.Sigmoid(m.other, n.other.Apply(t, features))
	}
	return m
}

// switchFeatures is what the heads of the switch read, [T·B, hidden]: the output of the backward LSTM, which at
// step t has seen features and controls of steps t … T, or an MLP of those of step t.
func (n recognitionNet) switchFeatures(t *autodiff.Tape, c Config, b model.Batch,
	trunk autodiff.Tensor,
) autodiff.Tensor {
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
