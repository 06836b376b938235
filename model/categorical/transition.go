package categorical

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// transition is the generative dynamics of switch and state.
type transition struct {
	cfg     Config
	start   *autodiff.Weight // π, [M]
	stay    *autodiff.Weight // L, [M, M]
	age     *autodiff.Weight // logits of the age at the first step, [M, D]; nil: the switch has no ages
	hold    *autodiff.Weight // C, [M, D]; nil likewise
	message statespace.Message
	act     statespace.Interaction
	body    model.Body // g
	scores  model.Dense
	systems model.Dense // [z u] to the moves of all systems: A_jᵀ over B_jᵀ in columns j·nz … , and c_j
	q, qInf statespace.Variances
}

const (
	startSticky   = 2.0  // L is so much times the identity
	startMove     = 0.1  // standard deviation of A, B and c
	startVariance = 0.05 // Q_j and Q′_j
)

// newTransition declares the parameters. Scores g are zeros, so that switches do not depend on the state at first;
// systems are small random moves from z, and L favours staying.
func newTransition(p *autodiff.Params, c Config, draws *rng.Stream) transition {
	in := c.NZ + c.NU
	message := statespace.NewMessage(p, c.Bodies, c.NZ, draws)
	n := transition{
		cfg:     c,
		message: message,
		start:   p.Vector("switch.start", c.M),
		stay:    p.Table("switch.transition", c.M, c.M),
		body:    model.NewBody(p, "switch.next", in+message.Width(), c.Hidden, min(c.Blocks, 1), draws),
		scores: model.Dense{
			W: p.Matrix("switch.next.logits.weight", c.Hidden, c.scores()),
			B: p.Vector("switch.next.logits.bias", c.scores()),
		},
		systems: model.Dense{
			W: p.Matrix("transition.weight", in, c.M*c.NZ), B: p.Vector("transition.bias", c.M*c.NZ),
		},
		q:    statespace.NewVariances(p, "transition.Q", c.M, c.NZ, c.VarianceFloor, draws),
		qInf: statespace.NewVariances(p, "transition.Q_inference", c.M, c.NZ, c.VarianceFloor, draws),
	}
	n.act = statespace.NewInteraction(p, c.Bodies, c.NZ, c.Interactions, c.Hidden, draws)
	if c.Ages > 0 {
		n.age, n.hold = p.Table("switch.age", c.M, c.Ages), p.Table("switch.duration", c.M, c.Ages)
	}
	for i := range c.M {
		n.stay.Values()[i*(c.M+1)] = startSticky
	}
	n.systems.W.InitNormal(draws, startMove)
	n.systems.B.InitNormal(draws, startMove)
	n.q.Fill(startVariance)
	n.qInf.Fill(startVariance)
	return n
}

// recurrence is the transition on a tape. Step i leads from block i of z and of the belief to block i+1; every other
// tensor has one block of rows per step.
type recurrence struct {
	tape  *autodiff.Tape
	block int // rows, that is sequences

	z, belief           autodiff.Tensor // [(steps+1)·block, nz], and log b in [(steps+1)·block, M]
	logWeights, weights autodiff.Tensor // w
	proposal            autodiff.Tensor // w, or w̃, which looks at the measurement
	ages                autodiff.Tensor // a, [(steps+1)·block, M·D]; without columns: the switch has none
	scores, moves       autodiff.Tensor // g, and μ_j − z in [steps·block, M·nz]
	mean, variance      autodiff.Tensor // of the mixture; the variances of inference, or those of the model in a rollout
	density             autodiff.Tensor // ℓ, [steps·block, 1]

	u, in    autodiff.Tensor // z and u
	seen     autodiff.Tensor // what g sees: z and u, and the message of other bodies
	stay     autodiff.Tensor // L
	hold     autodiff.Tensor // C; without columns: the switch has no ages
	q        autodiff.Tensor // Q, [M, nz]
	residual bool
	acted    autodiff.Tensor // z, or nothing, and the interaction; without columns: there is none

	message     statespace.MessageSteps
	act         statespace.InteractionSteps
	body        model.BodySteps
	score, move autodiff.StepLinear
	mixing      autodiff.VarianceMixture
}

// begin lays out a recurrence over z under controls u. Block 0 of the belief, and of the ages, is the caller's.
// Inference mixes variances of its own, and may look at measurements. u are the controls of the steps,
// [steps·block, nu].
func (n *transition) begin(t *autodiff.Tape, z, u autodiff.Tensor, block int, inference bool) recurrence {
	mixed := n.q
	if inference {
		mixed = n.qInf
	}
	preview := inference && n.cfg.Preview
	c, rows := n.cfg, z.Rows-block
	r := recurrence{
		tape: t, block: block, z: z, u: u, belief: t.New(z.Rows, c.M),
		logWeights: t.New(rows, c.M), weights: t.New(rows, c.M),
		scores: t.New(rows, c.scores()), moves: t.New(rows, c.M*c.NZ),
		mean: t.New(rows, c.NZ), variance: t.New(rows, c.NZ), density: t.New(rows, 1),
		in: t.Activation(rows, c.NZ+c.NU), stay: t.Param(n.stay), q: n.q.Each(t), residual: c.Residual,
	}
	if c.Ages > 0 {
		r.ages, r.hold = t.New(z.Rows, c.M*c.Ages), t.Param(n.hold)
	}
	// Without a preview z_t is proposed from w itself.
	r.proposal = r.weights
	if preview {
		r.proposal = t.New(rows, c.M)
	}
	r.seen = r.in
	if n.message.Width() > 0 {
		r.seen = t.Activation(rows, n.body.In)
		r.message = n.message.Steps(t, z.Slice(0, rows), block)
	}
	if n.act.Acts() {
		r.acted, r.act = t.New(rows, c.NZ), n.act.Steps(t, z.Slice(0, rows), block)
	}
	r.body = n.body.Steps(t, r.seen, block)
	r.score = n.scores.Steps(t, r.scores, r.body.Y, block)
	r.move = n.systems.Steps(t, r.moves, r.in, block)
	r.mixing = mixed.Steps(t, r.variance, r.proposal, block)
	return r
}

// first writes the belief of the first time step, log softmax(π), into block 0 of all rows, and the ages that go
// with it.
func (n *transition) first(r *recurrence) {
	t := r.tape
	p := t.New(1, n.cfg.M)
	t.Softmax(p, t.Param(n.start))
	t.Concat(r.belief.Block(0, r.block), t.Repeat(t.Log(p), r.block))
	n.firstAges(r)
}

// predict computes the weights w of step i from block i of state and belief, and how every system would move the
// state. Steps go in order, as a step reads what the one before has written.
func (r *recurrence) predict(i int) {
	t, b := r.tape, r.block
	t.Concat(r.in.Block(i, b), r.z.Block(i, b), r.u.Block(i, b))
	if r.seen.Cols > r.in.Cols {
		t.Concat(r.seen.Block(i, b), r.in.Block(i, b), r.message.Step(i))
	}
	// The interaction is added to what the moves start from, the same for all systems.
	if r.acted.Cols > 0 {
		from := r.acted.Block(i, b)
		if clear(from.Value); r.residual {
			t.Concat(from, r.z.Block(i, b))
		}
		r.act.Step(from, i)
	}
	r.body.Step(i)
	r.score.Step(i)
	r.move.Step(i)
	p := autodiff.SwitchPrediction{
		LogWeights: r.logWeights.Block(i, b), Weights: r.weights.Block(i, b), LogBelief: r.belief.Block(i, b),
		Scores: r.scores.Block(i, b), Transition: r.stay,
	}
	if r.ages.Cols == 0 {
		t.PredictSwitch(p)
		return
	}
	t.PredictAgedSwitch(autodiff.AgedPrediction{
		SwitchPrediction: p, Ages: r.ages.Block(i+1, b), From: r.ages.Block(i, b), Durations: r.hold,
	})
}

// from is what the moves of step i are added to: the state before it, if the transition is residual, and what the other
// bodies do to it; without columns: nothing.
func (r *recurrence) from(i int) autodiff.Tensor {
	switch {
	case r.acted.Cols > 0:
		return r.acted.Block(i, r.block)
	case r.residual:
		return r.z.Block(i, r.block)
	}
	return autodiff.Tensor{}
}

// preview has the weights that the state is proposed from look at a measurement of it. Without it they are w. It
// must come between predict and mix.
func (r *recurrence) preview(i int, m statespace.Measurement) {
	b := r.block
	r.tape.PreviewSwitch(autodiff.SwitchPreview{
		Weights: r.proposal.Block(i, b), LogWeights: r.logWeights.Block(i, b),
		Mean: m.Mean.Block(i, b), Spread: m.Variance.Block(i, b), Seen: m.SeenBlock(i, b),
		From: r.from(i), Moves: r.moves.Block(i, b), Variance: r.q,
	})
}

// mix computes mean Σ_j w(j)·μ_j and variance of step i from its proposal: one Gaussian that z is drawn from, or
// fused with a measurement.
func (r *recurrence) mix(i int) {
	r.tape.MixMoves(r.mean.Block(i, r.block), r.proposal.Block(i, r.block), r.from(i), r.moves.Block(i, r.block))
	r.mixing.Step(i)
}

// weigh computes the density ℓ of the state that step i has led to, and the belief that follows, from w and not
// from the proposal. Block i+1 of z has been drawn.
func (r *recurrence) weigh(i int) {
	b := r.block
	r.tape.WeighSwitch(autodiff.SwitchEvidence{
		LogDensity: r.density.Block(i, b), LogBelief: r.belief.Block(i+1, b), LogWeights: r.logWeights.Block(i, b),
		Z: r.z.Block(i+1, b), From: r.from(i), Moves: r.moves.Block(i, b), Variance: r.q,
	})
}
