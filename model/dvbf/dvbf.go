package dvbf

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is the parameters of a DVBF-LL and the networks over them. One Model serves any number of tapes at a time, as
// long as its parameters do not change.
type Model struct {
	statespace.Frame
	anneal Anneal

	recognition recognition
	mixing      statespace.Mixing
	transition  statespace.Matrices // of inputs [u w]: the rows of transition.B are Bᵢ, then Cᵢ
}

var (
	_ model.Trainable = (*Model)(nil)
	_ statespace.Core = (*Model)(nil)
)

// New declares and initialises a model. Equal settings, data and key give equal parameters.
func New(s *Settings, d model.Data, key rng.Key) *Model {
	draws := key.At(0, 0, 0)
	nets := statespace.Nets{
		Dims: model.Dims{NX: d.NX, NU: d.NU, NZ: s.Latent, M: s.Switches}, Hidden: s.Hidden, Blocks: s.Blocks,
		InitialObservations: s.InitialObservations, Initial: s.Initial, Emission: s.Emission,
		EmissionSD: statespace.ConstantSD,
	}
	m := &Model{Frame: statespace.NewFrame(nets, &draws), anneal: s.Anneal}
	p := m.Params()
	m.recognition = newRecognition(p, nets.Dims, s, &draws)
	m.mixing = statespace.NewMixing(p, s.Switches, s.Latent, d.NU, s.Hidden, s.Blocks, statespace.Softmax, &draws)
	m.transition = statespace.NewMatrices(p, "transition", s.Switches, s.Latent, d.NU+s.Latent, s.Residual, &draws)
	m.initNoiseMatrices(&draws)
	m.Complete(&draws)
	return m
}

// initNoiseMatrices draws every Cᵢ from N(0, 1/nz): with the tiny entries that Aᵢ and Bᵢ start from, what is
// inferred of an observation would not reach the state. They take the place of the values that NewMatrices has
// drawn for these rows of transition.B.
func (m *Model) initNoiseMatrices(draws *rng.Stream) {
	sd := 1 / math.Sqrt(float64(m.Nets.NZ))
	for i := range m.Nets.M {
		c := m.noiseMatrix(i)
		for j := range c {
			c[j] = float32(sd * draws.Normal())
		}
	}
}

// noiseMatrix is Cᵢ, [nz, nz], which maps a row w to a row.
func (m *Model) noiseMatrix(i int) []float32 {
	nu, nz := m.Nets.NU, m.Nets.NZ
	return m.transition.B.Values()[(i*(nu+nz)+nu)*nz:][:nz*nz]
}

// posterior is one pass of inference over a batch.
type posterior struct {
	z               autodiff.Tensor  // draws, [T·B, nz]
	first           statespace.Start // the draw of w_1
	w               autodiff.Tensor  // draws of w_t from the second time step on, [(T−1)·B, nz]
	mean, variance  autodiff.Tensor  // of q(w_t)
	weights         autodiff.Tensor  // α_t
	controls, steps int              // columns of u, and time steps with a transition
}

// infer draws noise and state of all time steps, with so many paths of each sequence: n = B·paths rows a step,
// path j of sequence i in row j·B+i. Order of the noise: w_1, then w_t step by step, in one draw of [T·n, nz]
// numbers.
func (m *Model) infer(t *autodiff.Tape, b model.Batch, paths int, noise *rng.Stream) posterior {
	nz, steps, n := m.Nets.NZ, b.T-1, b.B*paths
	p := posterior{z: t.New(b.T*n, nz), w: t.New(steps*n, nz), controls: b.NU, steps: steps}
	// Block 0 of eps is the noise of w_1, block i+1 that of step i, which leads to block i+1 of z.
	eps := statespace.Normals(t, noise, b.T*n, nz)
	p.first.Noise = eps.Block(0, n)
	p.first.Mean, p.first.Variance = m.Initial.Infer(t, p.z.Block(0, n), b, p.first.Noise)
	// Controls[0] acts before the first step and is left out.
	u := statespace.Repeat(t, t.Constant(b.Controls[b.B*b.NU:], steps*b.B, b.NU), b.B, paths)
	q := m.recognition.steps(t, b, p.z, u)
	move := m.begin(t, p.z, u, p.w, n)
	// q(w_t) reads z_{t−1}, which is a draw, so the steps are one after another; the encoder has read all x_t at
	// once.
	for i := range steps {
		mean, variance := q.step(i)
		t.Draw(p.w.Block(i, n), mean, variance, eps.Block(i+1, n))
		move.step(i)
	}
	p.mean, p.variance = q.moments(0, steps*n)
	p.weights = move.mixing.Weights
	return p
}

// dynamics is the transition on the tape of a recurrence: step i leads from block i of z to block i+1.
type dynamics struct {
	tape   *autodiff.Tape
	block  int
	u, w   autodiff.Tensor
	in     autodiff.Tensor // [u w]
	mixing statespace.MixingSteps
	next   autodiff.Mixture
}

// begin lays out the recurrence over z, whose rows but the last block are those of the controls u and the noise w.
func (m *Model) begin(t *autodiff.Tape, z, u, w autodiff.Tensor, block int) dynamics {
	d := dynamics{
		tape: t, block: block, u: u, w: w, in: t.New(w.Rows, u.Cols+w.Cols),
		mixing: m.mixing.Steps(t, z, u, block),
	}
	d.next = m.transition.Steps(t, z.Slice(block, z.Rows), d.mixing.Weights, z.Slice(0, w.Rows), d.in, block)
	return d
}

// step computes z of block i+1 from z, u and w of step i.
func (d *dynamics) step(i int) {
	d.mixing.Step(i)
	d.tape.Concat(d.in.Block(i, d.block), d.u.Block(i, d.block), d.w.Block(i, d.block))
	d.next.Step(i)
}
