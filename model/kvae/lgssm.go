package kvae

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// lgssm is the linear Gaussian state-space model of the codes, with the network that mixes its base matrices. Vectors
// are columns, a matrix stands row by row in a row of a tensor.
type lgssm struct {
	nz, na, nu int
	q, r       float32 // variances of a transition and of a code given its state
	start      float32 // variance of z_1

	a, b, c *autodiff.Weight // base matrices, [K, nz·nz], [K, nz·nu] and [K, na·nz]; b is nil without controls
	code    *autodiff.Weight // a_0
	lstm    autodiff.LSTMWeights
	scores  model.Dense
}

// baseSD is the standard deviation of the initial base matrices; those of A are the identity.
const baseSD = 0.05

// newLGSSM declares the parameters. Every A_k begins as the identity, so that a state lasts; B and C are small and
// random, and a_0 is zero.
func newLGSSM(p *autodiff.Params, s *Settings, na, nu int, draws *rng.Stream) lgssm {
	n := lgssm{
		nz: s.Latent, na: na, nu: nu,
		q: float32(s.TransitionVariance), r: float32(s.CodeVariance), start: float32(s.InitialVariance),
		a: p.Matrix("transition.A", s.Switches, s.Latent*s.Latent),
		c: p.Matrix("transition.C", s.Switches, na*s.Latent),
	}
	for i := range n.a.Values() {
		if i%n.a.Cols%(n.nz+1) == 0 {
			n.a.Values()[i] = 1
		}
	}
	n.c.InitNormal(draws, baseSD)
	if nu > 0 {
		n.b = p.Matrix("transition.B", s.Switches, s.Latent*nu)
		n.b.InitNormal(draws, baseSD)
	}
	n.code = p.Vector("mixing.start", na)
	n.lstm = model.NewLSTM(p, "mixing.lstm", na, s.Units, draws)
	n.scores = model.NewDense(p, "mixing.scores", s.Units, s.Switches, draws)
	return n
}

// freezeMixing makes the network of the mixing weights, LSTM and scores, a constant of the tape. It must come
// before the network is used.
func (n *lgssm) freezeMixing(t *autodiff.Tape) {
	t.Freeze(n.lstm.Input, n.lstm.Recurrent, n.lstm.Bias, n.scores.W, n.scores.B)
}

// systems are mixing weights and mixed matrices on the tape of a recurrence; a block belongs to a time step.
type systems struct {
	codes   autodiff.Tensor // a_{t−1}, what the LSTM reads at step t
	weights autodiff.Tensor // α_t
	a, b, c autodiff.Tensor // A_t, B_t and C_t; b has no columns without controls

	tape                *autodiff.Tape
	block               int
	lstm                autodiff.LSTMSteps
	score               autodiff.Tensor
	scores              autodiff.StepLinear
	mixA, mixB, mixC    autodiff.StepLinear
	controls, nz, codeN int
}

// begin lays out the systems of so many steps of block sequences, from the given state of the LSTM on. step fills
// a block of each.
func (n *lgssm) begin(t *autodiff.Tape, steps, block int, from autodiff.LSTMState) systems {
	rows := steps * block
	s := systems{
		tape: t, block: block, controls: n.nu, nz: n.nz, codeN: n.na,
		codes: t.New(rows, n.na), weights: t.New(rows, n.a.Rows), a: t.New(rows, n.a.Cols), c: t.New(rows, n.c.Cols),
		score: t.New(rows, n.a.Rows),
	}
	// Each layer is put on the tape once; step runs it block by block.
	s.lstm = t.StepLSTM(s.codes, n.lstm, block, from)
	s.scores = n.scores.Steps(t, s.score, s.lstm.H, block)
	s.mixA = t.StepLinear(s.a, s.weights, n.a, nil, autodiff.Identity, block)
	s.mixC = t.StepLinear(s.c, s.weights, n.c, nil, autodiff.Identity, block)
	if n.nu > 0 {
		s.b = t.New(rows, n.b.Cols)
		s.mixB = t.StepLinear(s.b, s.weights, n.b, nil, autodiff.Identity, block)
	}
	return s
}

// step computes weights and matrices of step i from the code before it, [block, na]: one step of the LSTM, α =
// softmax, and the three mixtures. Steps go in order.
func (s *systems) step(i int, code autodiff.Tensor) {
	s.tape.Concat(s.at(s.codes, i), code)
	s.lstm.Step(i)
	s.scores.Step(i)
	s.tape.Softmax(s.at(s.weights, i), s.at(s.score, i))
	s.mixA.Step(i)
	s.mixC.Step(i)
	if s.controls > 0 {
		s.mixB.Step(i)
	}
}

// at is the block of step i.
func (s *systems) at(x autodiff.Tensor, i int) autodiff.Tensor { return x.Block(i, s.block) }

// move is A_t z + B_t u for rows of z and u that begin at the given row of the systems. They may be of several
// steps.
func (s *systems) move(z, u autodiff.Tensor, row int) autodiff.Tensor {
	rows := func(x autodiff.Tensor) autodiff.Tensor { return x.Slice(row, row+z.Rows) }
	y := s.tape.BatchMul(rows(s.a), z, s.nz)
	if s.controls == 0 {
		return y
	}
	return s.tape.Add(y, s.tape.BatchMul(rows(s.b), u, s.controls))
}

// emit is C_t z for rows of z that begin at the given row of the systems. They may be of several steps.
func (s *systems) emit(z autodiff.Tensor, row int) autodiff.Tensor {
	return s.tape.BatchMul(s.c.Slice(row, row+z.Rows), z, s.nz)
}

// diagonal is the row of the n×n matrix v·I, a constant.
func diagonal(t *autodiff.Tape, n int, v float32) autodiff.Tensor {
	d := t.NewConstant(1, n*n)
	clear(d.Value)
	for i := 0; i < n*n; i += n + 1 {
		d.Value[i] = v
	}
	return d
}
