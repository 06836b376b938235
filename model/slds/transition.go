package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// transitionNet is the generative dynamics: the networks g and g₀ that parameterise the switch, the
// locally linear transition that the switch mixes, and for a Normal switch the map to mixing weights.
type transitionNet struct {
	next, first switchNet // g and g₀
	message     statespace.Message
	interaction statespace.Interaction

	state            statespace.LocallyLinear
	mixing           model.Dense // Normal: weights from s
	nz, nu, switches int
	offset           bool // u has one more column, of ones, for the transition of z
}

// newTransitionNet declares the parameters of the dynamics. g reads [z s u m] and g₀ [z u m], with the message m
// of other bodies, if there are any.
func newTransitionNet(p *autodiff.Params, c Config, draws *rng.Stream) transitionNet {
	inputs := c.NU
	if c.Offset {
		inputs++
	}
	message := statespace.NewMessage(p, c.Bodies, c.NZ, draws)
	n := transitionNet{
		message:     message,
		next:        newSwitchNet(p, "switch.next", c.NZ+c.M+c.NU+message.Width(), c, draws),
		first:       newSwitchNet(p, "switch.first", c.NZ+c.NU+message.Width(), c, draws),
		state:       statespace.NewLocallyLinear(p, c.M, c.NZ, inputs, c.Residual, c.VarianceFloor, draws),
		interaction: statespace.NewInteraction(p, c.Bodies, c.NZ, c.Interactions, c.Hidden, draws),
		nz:          c.NZ, nu: c.NU, switches: c.M, offset: c.Offset,
	}
	if c.Switching == Normal {
		n.mixing = model.NewDense(p, "switch.mixing", c.M, c.M, draws)
	}
	return n
}

// switchNet maps features of the past to the parameters of a switch: logits, or mean and two standard deviations
// (prior and inference) that share the mean. It has one head or three, count of them.
type switchNet struct {
	body  model.Body
	heads [3]model.Dense
	count int
}

// newSwitchNet declares NAME.… for features of so many columns; standard deviations start as the configuration
// says.
func newSwitchNet(p *autodiff.Params, name string, in int, c Config, draws *rng.Stream) switchNet {
	n := switchNet{body: model.NewBody(p, name, in, c.Hidden, c.transitionBlocks(), draws)}
	names := []string{".logits"}
	if c.Switching == Normal {
		names = []string{".mean", ".sd", ".sd_inference"}
	}
	for i, head := range names {
		n.heads[i] = model.NewDense(p, name+head, c.Hidden, c.M, draws)
		if i > 0 {
			c.spread(n.heads[i])
		}
	}
	n.count = len(names)
	return n
}

// switchSteps is a switchNet on the tape of a recurrence.
type switchSteps struct {
	tape  *autodiff.Tape
	in    autodiff.Tensor // features of all steps
	body  model.BodySteps
	heads [3]autodiff.StepLinear
	count int
	block int
}

// steps puts the network on the tape; heads write blocks of outs.
func (n switchNet) steps(t *autodiff.Tape, outs [3]autodiff.Tensor, width, block int) switchSteps {
	s := switchSteps{tape: t, in: t.Activation(outs[0].Rows, width), count: n.count, block: block}
	s.body = n.body.Steps(t, s.in, block)
	for i := range n.count {
		s.heads[i] = n.heads[i].Steps(t, outs[i], s.body.Y, block)
	}
	return s
}

// step computes the switch parameters of block i from the concatenated parts. Parts without columns are left out.
func (s *switchSteps) step(i int, a, b, c, d autodiff.Tensor) {
	s.tape.Concat(s.in.Block(i, s.block), a, b, c, d)
	s.body.Step(i)
	for h := range s.count {
		s.heads[h].Step(i)
	}
}

// dynamics is the recurrence over latent states on a tape. Step i leads from block i of z to block
// i+1; every other tensor has one block of rows per step, so block i belongs to step i.
type dynamics struct {
	tape  *autodiff.Tape
	net   *transitionNet
	block int // rows, that is sequences

	z       autodiff.Tensor // [(steps+1)·block, nz]
	u       autodiff.Tensor // [steps·block, nu] controls that act during the step
	heads   [3]autodiff.Tensor
	weights autodiff.Tensor // mixing weights w
	state   statespace.Transition

	previous    autodiff.Tensor // s before step 0 when a forecast continues a sequence
	first, next switchSteps
	message     statespace.MessageSteps
	interaction statespace.InteractionSteps
}

// begin lays out the recurrence over z [(steps+1)·block, nz] under u [steps·block, nu]. When it continues a
// sequence, previous is the switch before it and step 0 uses g; otherwise previous has no columns and step 0 uses
// g₀.
func (n *transitionNet) begin(t *autodiff.Tape, z, u, previous autodiff.Tensor, block int) dynamics {
	rows := z.Rows - block
	d := dynamics{
		tape: t, net: n, block: block, z: z, u: u, previous: previous,
		weights: t.New(rows, n.switches),
	}
	for i := range n.next.count {
		d.heads[i] = t.New(rows, n.switches)
	}
	rest := d.heads
	// Step 0 has a network of its own, which writes the first block of the heads; g writes the rest.
	if previous.Cols == 0 && rows > 0 {
		var start [3]autodiff.Tensor
		for i := range n.next.count {
			start[i], rest[i] = d.heads[i].Slice(0, block), d.heads[i].Slice(block, rows)
		}
		d.first = n.first.steps(t, start, n.nz+n.nu+n.message.Width(), block)
	}
	d.next = n.next.steps(t, rest, n.nz+n.switches+n.nu+n.message.Width(), block)
	d.message = n.message.Steps(t, z.Slice(0, rows), block)
	d.state = n.state.Steps(t, d.weights, z, n.inputs(t, u, rows), block)
	d.interaction = n.interaction.Steps(t, z.Slice(0, rows), block)
	return d
}

// inputs are what acts on z in so many steps: the controls, and with an offset a one behind them.
func (n *transitionNet) inputs(t *autodiff.Tape, u autodiff.Tensor, rows int) autodiff.Tensor {
	if !n.offset {
		return u
	}
	x := t.NewConstant(rows, n.nu+1)
	for i := range rows {
		row := x.Value[i*(n.nu+1):][:n.nu+1]
		copy(row, u.Value[i*n.nu:][:n.nu])
		row[n.nu] = 1
	}
	return x
}

// steps is the number of transitions.
func (d *dynamics) steps() int { return d.weights.Rows / d.block }

// move computes the distribution of the state after step i, mean and both variances, from its mixing weights, and
// adds to the mean what other bodies do.
func (d *dynamics) move(i int) {
	d.state.Step(i)
	d.interaction.Step(d.state.Mean.Block(i, d.block), i)
}

// proposeSwitch computes the transition parameters of the switch of step i into block i of the heads; s holds the
// switches drawn so far, of which it reads block i−1.
func (d *dynamics) proposeSwitch(i int, s autodiff.Tensor) {
	z, u, others := d.z.Block(i, d.block), d.u.Block(i, d.block), d.message.Step(i)
	switch {
	case i > 0 && d.previous.Cols == 0:
		d.next.step(i-1, z, s.Block(i-1, d.block), u, others)
	case i > 0:
		d.next.step(i, z, s.Block(i-1, d.block), u, others)
	case d.previous.Cols == 0:
		d.first.step(0, z, u, others, autodiff.Tensor{Rows: z.Rows})
	default:
		d.next.step(0, z, d.previous, u, others)
	}
}
