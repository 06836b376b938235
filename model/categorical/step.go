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

// Warmup is how many observations q(h) reads.
func (f *Forecaster) Warmup() int { return f.m.cfg.InitialObservations }

// Begin infers z_1 = t(h) from the mean of q(h). No switch has led to it.
func (f *Forecaster) Begin(dst *model.Belief, first model.Batch) {
	f.m.initial.Begin(f.Tape, dst, first, f.m.cfg.Dims)
}

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
	mean, variance := t.New(b.B, c.NZ), t.New(b.B, c.NZ)
	t.Fuse(autodiff.Fusion{
		Draw: r.z.Block(1, b.B), Mean: mean, Variance: variance, M1: r.mean, V1: r.variance,
		M2: meas.Mean, V2: meas.Variance, Noise: statespace.Disturbance(t, by.State, b.B, c.NZ), Seen: meas.Seen,
	})
	r.weigh(0)
	f.leave(dst, &r, mean, variance)
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
	f.leave(dst, &r, r.mean, r.variance)
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

// leave writes the belief after a step: copies, as the tape is reset by the next one.
func (f *Forecaster) leave(dst *model.Belief, r *recurrence, mean, variance autodiff.Tensor) {
	n := r.block
	dst.Resize(n, f.m.cfg.Dims, true)
	copy(dst.Z, r.z.Block(1, n).Value)
	copy(dst.Mean, mean.Value)
	copy(dst.Variance, variance.Value)
	kernel.Exp(dst.Weights, r.belief.Block(1, n).Value)
	r.carry(dst)
}
