package categorical

import (
	"fmt"
	"slices"
)

// firstBelief is that of the first time step: softmax π [M], or with ages the joint probabilities of systems and
// ages, [M·D].
func (m *Model) firstBelief() []float32 {
	c := m.cfg
	p := probabilities(m.transition.start.Values())
	if c.Ages == 0 {
		return p
	}
	joint := make([]float32, c.Carried())
	for i, v := range p {
		for k, a := range probabilities(m.transition.age.Values()[i*c.Ages:][:c.Ages]) {
			joint[i*c.Ages+k] = v * a
		}
	}
	return joint
}

// predictAged computes the joint probability of systems and ages, and the weights, system by system that is left.
// With l(j) = L(i,j) + g(j) or g(i,j),
//
//	p(j|i) = softmaxⱼ(l(j)) over j ≠ i;  p(i|i,d) = σ(l(i) − log Σⱼ exp l(j) + C(i,d))
//
// A graph has no indices to write to: matrices of zeros and ones put the parts into their columns.
func (k *sketch) predictAged(belief, scores string) {
	c, t := k.m.cfg, &k.m.transition
	k.ages = ""
	for i := range c.M {
		row := k.Constant(fmt.Sprintf("switch.transition.%d", i), 0, c.M, slices.Clone(t.stay.Values()[i*c.M:][:c.M]))
		logits := scores
		if c.Rows {
			logits = k.Part(scores, c.M*c.M, i*c.M, c.M)
		}
		logits = k.Op("Add", logits, row)
		others, begin, grow := k.places(i)
		off := k.Op("MatMul", logits, others)
		next := k.Op("Softmax", off)
		log := k.Op("Log", k.Op("Add", next, k.Scalar(smallest)))
		all := k.SystemSums(k.Op("Mul", next, k.Op("Sub", off, log)), 1, c.M-1) // log Σ exp, from every j alike
		odds := k.Spread(k.Op("Sub", k.Part(logits, c.M, i, 1), all), 1, c.Ages)
		hold := k.Constant(fmt.Sprintf("switch.duration.%d", i), 0, c.Ages, slices.Clone(t.hold.Values()[i*c.Ages:][:c.Ages]))
		before := k.Part(belief, c.Carried(), i*c.Ages, c.Ages)
		stayed := k.Op("Mul", k.Op("Sigmoid", k.Op("Add", odds, hold)), before)
		// What does not stay leaves, whatever its age, and begins at age 1 elsewhere.
		left := k.SystemSums(k.Op("Sub", before, stayed), 1, c.Ages)
		for _, part := range []string{
			k.Op("MatMul", k.Op("Mul", next, left), begin), k.Op("MatMul", stayed, grow),
		} {
			if k.ages == "" {
				k.ages = part
			} else {
				k.ages = k.Op("Add", k.ages, part)
			}
		}
	}
	k.weights = k.SystemSums(k.ages, c.M, c.Ages)
}

// places are matrices: of the columns of all systems but i, of their first ages, and of the ages of i one step
// later. begin puts M−1 probabilities at the first ages, grow those of the ages of i at the next ones, of which
// the oldest keeps its own.
func (k *sketch) places(i int) (others, begin, grow string) {
	c := k.m.cfg
	wide := c.Carried()
	o, b, g := make([]float32, c.M*(c.M-1)), make([]float32, (c.M-1)*wide), make([]float32, c.Ages*wide)
	for n := range c.M - 1 {
		j := n
		if j >= i {
			j++
		}
		o[j*(c.M-1)+n], b[n*wide+j*c.Ages] = 1, 1
	}
	for d := range c.Ages {
		g[d*wide+i*c.Ages+min(d+1, c.Ages-1)] = 1
	}
	name := func(word string) string { return fmt.Sprintf("switch.%s.%d", word, i) }
	return k.Constant(name("others"), c.M, c.M-1, o), k.Constant(name("begin"), c.M-1, wide, b),
		k.Constant(name("grow"), c.Ages, wide, g)
}

// carried is what goes from a step to the next: the probabilities of the systems, divided among their ages. An
// observation changes the probabilities of the systems, not the shares of the ages within one.
func (k *sketch) carried(weights string) string {
	c := k.m.cfg
	if c.Ages == 0 {
		return weights
	}
	change := k.Op("Div", weights, k.Op("Add", k.weights, k.Scalar(smallest)))
	return k.Op("Mul", k.ages, k.Spread(change, c.M, c.Ages))
}
