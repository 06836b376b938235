package dvbf

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

var _ model.Exporter = (*fusionForecaster)(nil)

// Step filters the next observation: it multiplies the transition from the belief by the measurement of x_t, as
// infer does. Mean and Variance of dst are those of q(z_t).
func (f *fusionForecaster) Step(dst, from *model.Belief, b model.Batch, by model.Disturbance) {
	t, nz := f.Tape, f.m.Nets.NZ
	t.Reset()
	meas := f.m.encoder.Measure(t, b)
	z, weights, move := f.move(from, b.Controls)
	p := statespace.Posterior{Z: z, Mean: t.New(b.B, nz), Variance: t.New(b.B, nz)}
	p.Fuse(t, 0, move.Mean, move.QInference, &meas, statespace.Disturbance(t, by.State, b.B, nz))
	f.Leave(dst, p, weights, weights)
}

// Advance predicts the next state. Mean and Variance of dst are those of p(z_t | z_{t−1}, u_t).
func (f *fusionForecaster) Advance(dst, from *model.Belief, u []float32, by model.Disturbance) {
	t := f.Tape
	t.Reset()
	z, weights, move := f.move(from, u)
	t.Draw(z.Block(1, from.B), move.Mean, move.Q, statespace.Disturbance(t, by.State, from.B, f.m.Nets.NZ))
	f.Leave(dst, statespace.Posterior{Z: z, Mean: move.Mean, Variance: move.Q}, weights, weights)
}

// move computes the transition of one step from a belief, whose z is block 0 of the result; block 1 is for the
// next state. There is no switch that goes on: a belief has the weights in its place. The tape must have been reset.
func (f *fusionForecaster) move(from *model.Belief, u []float32) (
	z, weights autodiff.Tensor, move statespace.Transition,
) {
	t, d, n := f.Tape, f.m.Nets, from.B
	z = t.New(2*n, d.NZ)
	copy(z.Value, from.Z)
	controls := t.Constant(u, n, d.NU)
	mixing := f.m.mixing.Steps(t, z, controls, n)
	move = f.m.transition.Steps(t, mixing.Weights, z, controls, n)
	mixing.Step(0)
	move.Step(0)
	return z, mixing.Weights, move
}

// Graphs are the steps of the model for other programs: encoder, initial, filter_step, transition, predict for so
// many steps, and emission. They compute what Begin, Step, Advance and Emit do.
func (f *fusionForecaster) Graphs(horizon int) []model.Graph {
	m, k := f.m, f.m.sketch
	filter := model.New("filter_step", "filters the next observation", m.Params())
	z, _, u := k.Inputs(filter, true)
	x := filter.Input("x", k.NX, "observation; where it is not seen, any finite numbers")
	seen := filter.Input("seen", 1, "1, or 0 where the observation misses a value")
	by := filter.Input("noise_z", k.NZ, "standard normal; zeros: the mean")
	weights := m.weigh(filter, z, u)
	mean, _, q := k.Move(filter, z, u, weights)
	measMean, measVariance, _ := k.Measure(filter, x, "")
	mean, q = filter.Fuse(mean, q, measMean, measVariance, seen)
	list := []model.Graph{k.Encoder(), k.Begin(), m.outputs(filter, mean, q, by, weights)}

	next := model.New("transition", "predicts the next latent state", m.Params())
	z, _, u = k.Inputs(next, true)
	by = next.Input("noise_z", k.NZ, "standard normal; zeros: the mean")
	weights = m.weigh(next, z, u)
	mean, q, _ = k.Move(next, z, u, weights)
	list = append(list, m.outputs(next, mean, q, by, weights))

	predict := k.Predict(horizon, func(b *model.Builder, z, _, u string) (next, led string) {
		next, _, _ = k.Move(b, z, u, m.weigh(b, z, u))
		return next, ""
	})
	return append(list, predict, k.Emit())
}

// weigh computes the mixing weights of a step.
func (m *Fusion) weigh(b *model.Builder, z, u string) string {
	return m.weights.Graph(b, b.Dense(b.Body(b.Concat(z, u), "mixing"), "mixing.scores"), m.Nets.M)
}

// outputs declares what a step returns, after a draw of the state.
func (m *Fusion) outputs(b *model.Builder, mean, variance, noise, weights string) model.Graph {
	m.sketch.Outputs(b, b.Draw(mean, variance, noise), mean, variance)
	b.Output("weights", weights, m.Nets.M, "mixing weights of the base systems")
	return b.Graph()
}
