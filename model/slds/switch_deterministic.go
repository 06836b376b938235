package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// deterministicSwitch is the ablation without a random switch: s_t is softmax or sigmoid of the logits g(z_{t−1},
// s_{t−1}, u_t), the same in model and inference, and has no divergence. (Becker-Ehmck et al. 2019, section "Multiple
// Bouncing Balls in a Maze", "if the choice of locally linear transition is treated deterministically".)
type deterministicSwitch struct {
	weights statespace.Weights
	s       autodiff.Tensor // the mixing weights
}

// w = softmax(l_trans), or sigmoid
func (c deterministicSwitch) step(d *dynamics, i int) {
	c.weights.Mix(d.tape, c.s.Block(i, d.block), d.heads[0].Block(i, d.block))
}
