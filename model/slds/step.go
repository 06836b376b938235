package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

var _ model.Exporter = (*Forecaster)(nil)

// Step filters the next observation. The measurement of the switch reads the present alone, also where it is an LSTM.
func (f *Forecaster) Step(dst, from *model.Belief, b model.Batch, noise model.Disturbance) {
	t, c := f.Tape, f.m.cfg
	t.Reset()
	meas := f.m.recognition.measure(t, c, b)
	d, s := f.stand(from, b.Controls, meas, noise)
	s.posterior(&d, 0)
	d.move(0)
	p := statespace.Posterior{Z: d.z, Mean: t.New(b.B, c.NZ), Variance: t.New(b.B, c.NZ)}
	p.Fuse(t, 0, d.state.Mean, d.state.QInference, &meas.Measurement, statespace.Disturbance(t, noise.State, b.B, c.NZ))
	f.Leave(dst, p, s.draws(), d.weights)
}

// Advance predicts the next state from the priors of switch and state. Mean and Variance of dst are those of p(z_t
// | z_{t−1}, s_t, u_t) at the drawn s_t.
func (f *Forecaster) Advance(dst, from *model.Belief, u []float32, noise model.Disturbance) {
	t, c := f.Tape, f.m.cfg
	t.Reset()
	d, s := f.stand(from, u, measurement{}, noise)
	s.prior(&d, 0)
	d.move(0)
	t.Draw(d.z.Block(1, from.B), d.state.Mean, d.state.Q, statespace.Disturbance(t, noise.State, from.B, c.NZ))
	f.Leave(dst, statespace.Posterior{Z: d.z, Mean: d.state.Mean, Variance: d.state.Q}, s.draws(), d.weights)
}

// stand lays out one step from a belief, with the transition of its switch computed: block 0 of z is the state of
// the belief, block 1 is for the next one. A belief without a switch stands at the first step, whose switch has
// the network g₀.
func (f *Forecaster) stand(from *model.Belief, u []float32, meas measurement, noise model.Disturbance) (dynamics,
	switches,
) {
	t, c, n := f.Tape, f.m.cfg, from.B
	z := t.New(2*n, c.NZ)
	copy(z.Value, from.Z)
	// Without columns: no switch has led to the state.
	var previous autodiff.Tensor
	if len(from.Switch) > 0 {
		previous = t.Constant(from.Switch, n, c.M)
	}
	d := f.m.transition.begin(t, z, t.Constant(u, n, c.NU), previous, n)
	s := c.newSwitches(&d, c.Anneal.Final(), meas, statespace.Disturbance(t, noise.Switch, n, c.M))
	d.proposeSwitch(0, s.draws())
	return d, s
}
