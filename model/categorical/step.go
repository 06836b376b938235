package categorical

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

var _ model.Stepper = (*Forecaster)(nil)

// smallest is that of a probability whose logarithm is taken: nothing is added to or compared with −∞.
const smallest = 1e-30

// Step filters the next observation. The switch of the belief is b_t. One step is the same as in infer, on a tape
// of its own, so that a Stepper filters as training does.
func (f *Forecaster) Step(dst, from *model.Belief, b model.Batch, by model.Disturbance) {
	t, c := f.Tape, f.m.cfg
	t.Reset()
	meas := f.m.encoder.Measure(t, b)
	r := f.stand(from, b.Controls, true)
	if c.Preview {
		r.preview(0, meas)
	}
	r.mix(0)
	p := statespace.Posterior{Z: r.z, Mean: t.New(b.B, c.NZ), Variance: t.New(b.B, c.NZ)}
	p.Fuse(t, 0, r.mean, r.variance, &meas, statespace.Disturbance(t, by.State, b.B, c.NZ))
	r.weigh(0)
	f.leave(dst, &r, p)
}

// Advance predicts the next state under controls [B,NU]. With noise of the switch, which is Gumbel, it draws the
// system, and the belief is certain of it; without, it goes on with the probabilities of all systems.
func (f *Forecaster) Advance(dst, from *model.Belief, u []float32, by model.Disturbance) {
	t := f.Tape
	t.Reset()
	r := f.stand(from, u, false)
	if by.Switch == nil {
		copy(r.belief.Block(1, from.B).Value, r.logWeights.Value)
	} else {
		r.choose(0, t.Constant(by.Switch, from.B, f.m.cfg.M))
	}
	r.mix(0)
	t.Draw(r.z.Block(1, from.B), r.mean, r.variance, statespace.Disturbance(t, by.State, from.B, f.m.cfg.NZ))
	f.leave(dst, &r, statespace.Posterior{Z: r.z, Mean: r.mean, Variance: r.variance})
}

// stand lays out one step from a belief, with its weights computed. Without a switch, the belief is that of the
// first time step. The tape has been reset.
func (f *Forecaster) stand(from *model.Belief, u []float32, inference bool) recurrence {
	t, c, n := f.Tape, f.m.cfg, from.B
	z := t.New(2*n, c.NZ)
	copy(z.Value, from.Z)
	r := f.m.transition.begin(t, z, t.Constant(u, n, c.NU), n, inference)
	if len(from.Switch) == 0 {
		f.m.transition.first(&r)
	} else {
		r.recall(from.Switch)
	}
	r.predict(0)
	return r
}

// leave writes the belief after a step, whose switch is carried as probabilities.
func (f *Forecaster) leave(dst *model.Belief, r *recurrence, p statespace.Posterior) {
	f.Leave(dst, p, autodiff.Tensor{}, autodiff.Tensor{})
	kernel.Exp(dst.Weights, r.belief.Block(1, r.block).Value)
	r.carry(dst)
}
