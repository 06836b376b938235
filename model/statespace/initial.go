package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Initial infers the start of a sequence from its first observations and controls:
//
//	q(h | x_{1:k}, u_{1:k}) = N(μ_h, σ_h²);  z_1 = t(h)
//
// with a prior N(0, I) of h. (Becker-Ehmck et al. 2019, "Structured Inference of Gaussian Latent State".)
type Initial struct {
	cfg      InitialConfig
	body     model.Body
	lstm     autodiff.LSTMWeights // behind the body, if the net is one
	mean, sd model.Dense
	hidden   model.Dense // t(h): one rectified hidden layer
	out      model.Dense
	skip     skip // from the pairs to the mean of h
}

// InitialNet names what reads the first observations.
type InitialNet string

// MLP is one network over all of them side by side; LSTM a network for each, and a backward LSTM over its features.
const (
	MLP  InitialNet = "mlp"
	LSTM InitialNet = "lstm"
)

// InitialConfig says what an Initial reads and how large it is.
type InitialConfig struct {
	NX, NU, NZ     int
	Observations   int // k; a sequence shorter than k repeats its last step
	Hidden, Blocks int
	Net            InitialNet
	// Skip adds a linear map of the pairs to the mean of h, and h itself to t(h).
	Skip bool
}

// NewInitial declares the parameters of an Initial: initial.… for q(h) and start.… for t.
func NewInitial(p *autodiff.Params, c InitialConfig, draws *rng.Stream) Initial {
	n := Initial{cfg: c}
	if c.Net == LSTM {
		n.body = model.NewBody(p, "initial", c.NX+c.NU, c.Hidden, c.Blocks, draws)
		n.lstm = model.NewLSTM(p, "initial.lstm", c.Hidden, c.Hidden, draws)
	} else {
		n.body = model.NewBody(p, "initial", c.Observations*(c.NX+c.NU), c.Hidden, c.Blocks, draws)
	}
	n.mean = model.NewDense(p, "initial.mean", c.Hidden, c.NZ, draws)
	n.sd = model.NewDense(p, "initial.sd", c.Hidden, c.NZ, draws)
	n.hidden = model.NewDense(p, "start.hidden", c.NZ, c.Hidden, draws)
	n.out = model.NewDense(p, "start.out", c.Hidden, c.NZ, draws)
	n.skip = newSkip(p, c.Skip, "initial.skip", c.Observations*(c.NX+c.NU), c.NZ, draws)
	return n
}

// Infer draws h, writes z_1 of every path into z1 and returns mean and variance of q(h), [paths·B, nz]. The noise has a
// row for each path of each sequence.
func (n Initial) Infer(t *autodiff.Tape, z1 autodiff.Tensor, b model.Batch, noise autodiff.Tensor) (mean,
	variance autodiff.Tensor,
) {
	features, paths := n.features(t, b), noise.Rows/b.B
	mean = n.mean.Apply(t, features)
	if n.cfg.Skip {
		mean = n.skip.add(t, mean, n.pairs(t, b))
	}
	mean = Repeat(t, mean, b.B, paths)
	// Networks run once for each sequence; only the draw differs between its paths.
	variance = t.New(b.B, n.cfg.NZ)
	h := t.New(noise.Rows, n.cfg.NZ)
	t.Variance(variance, n.sd.Apply(t, features), SDFloor)
	variance = Repeat(t, variance, b.B, paths)
	t.Draw(h, mean, variance, noise)
	n.Start(t, z1, h)
	return mean, variance
}

// Begin writes the belief after the first observations: z_1 = t(h) for the mean of q(h), with no switch yet. It resets
// the tape.
func (n Initial) Begin(t *autodiff.Tape, dst *model.Belief, first model.Batch, d model.Dims) {
	t.Reset()
	dst.Resize(first.B, d, false)
	z := t.New(first.B, n.cfg.NZ)
	n.Infer(t, z, first, Disturbance(t, nil, first.B, n.cfg.NZ))
	copy(dst.Z, z.Value)
	copy(dst.Mean, z.Value)
	clear(dst.Variance)
}

// Disturbance is the given noise of one step, [rows, cols], or zeros.
func Disturbance(t *autodiff.Tape, given []float32, rows, cols int) autodiff.Tensor {
	if given != nil {
		return t.Constant(given, rows, cols)
	}
	x := t.NewConstant(rows, cols)
	clear(x.Value)
	return x
}

// Start writes z_1 = t(h). Standard normal h are draws from the prior.
func (n Initial) Start(t *autodiff.Tape, z1, h autodiff.Tensor) {
	hidden := t.Linear(h, n.hidden.W, n.hidden.B, autodiff.ReLU)
	if n.cfg.Skip {
		t.Concat(z1, t.Add(n.out.Apply(t, hidden), h))
		return
	}
	n.out.Steps(t, z1, hidden, h.Rows).Step(0)
}

// features reads the first k pairs (x_t, u_t): [B, hidden]. With an LSTM the body reads all pairs as rows of their
// own, time-major, and the output of the layer at the first step has seen them all.
func (n Initial) features(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	pair, k := n.cfg.NX+n.cfg.NU, n.cfg.Observations
	if n.cfg.Net != LSTM {
		return n.body.Apply(t, n.pairs(t, b))
	}
	y := t.NewConstant(k*b.B, pair)
	for row := range y.Rows {
		n.pair(y.Value[row*pair:], b, row/b.B, row%b.B)
	}
	return t.BackwardLSTM(n.body.Apply(t, y), autodiff.Tensor{}, n.lstm, b.B).Block(0, b.B)
}

// pairs has the first k pairs of a sequence side by side, [B, k·(nx+nu)].
func (n Initial) pairs(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	pair, k := n.cfg.NX+n.cfg.NU, n.cfg.Observations
	y := t.NewConstant(b.B, k*pair)
	for i := range b.B {
		for s := range k {
			n.pair(y.Value[(i*k+s)*pair:], b, s, i)
		}
	}
	return y
}

// pair writes x_s and u_s of sequence i, or those of its last step.
func (n Initial) pair(dst []float32, b model.Batch, s, i int) {
	at := min(s, b.T-1)*b.B + i
	copy(dst, b.Observations[at*b.NX:(at+1)*b.NX])
	copy(dst[b.NX:], b.Controls[at*b.NU:(at+1)*b.NU])
}
