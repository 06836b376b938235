package dvbf

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

var _ model.Exporter = (*fusionForecaster)(nil)

// Warmup is how many observations q(h) reads: k.
func (f *fusionForecaster) Warmup() int { return f.m.observations }

// Begin infers z_1 = t(h) from the mean of q(h).
func (f *fusionForecaster) Begin(dst *model.Belief, first model.Batch) {
	f.m.initial.Begin(f.Tape, dst, first, f.m.dims)
}

// Step filters the next observation: it multiplies the transition from the belief by the measurement of x_t, as
// infer does. Mean and Variance of dst are those of q(z_t).
func (f *fusionForecaster) Step(dst, from *model.Belief, b model.Batch, by model.Disturbance) {
	t, d := f.Tape, f.m.dims
	t.Reset()
	meas := f.m.encoder.Measure(t, b)
	z, weights, move := f.move(from, b.Controls)
	mean, variance := t.New(b.B, d.NZ), t.New(b.B, d.NZ)
	t.Fuse(autodiff.Fusion{
		Draw: z.Block(1, b.B), Mean: mean, Variance: variance, M1: move.Mean, V1: move.QInference, M2: meas.Mean,
		V2:    meas.Variance,
		Noise: statespace.Disturbance(t, by.State, b.B, d.NZ), Seen: meas.Seen,
	})
	f.leave(dst, z, weights, mean, variance)
}

// Advance predicts the next state. Mean and Variance of dst are those of p(z_t | z_{t−1}, u_t).
func (f *fusionForecaster) Advance(dst, from *model.Belief, u []float32, by model.Disturbance) {
	t := f.Tape
	t.Reset()
	z, weights, move := f.move(from, u)
	t.Draw(z.Block(1, from.B), move.Mean, move.Q, statespace.Disturbance(t, by.State, from.B, f.m.dims.NZ))
	f.leave(dst, z, weights, move.Mean, move.Q)
}

// move computes the transition of one step from a belief, whose z is block 0 of the result; block 1 is for the
// next state. The tape must have been reset.
func (f *fusionForecaster) move(from *model.Belief, u []float32) (
	z, weights autodiff.Tensor, move statespace.Transition,
) {
	t, d, n := f.Tape, f.m.dims, from.B
	z = t.New(2*n, d.NZ)
	copy(z.Value, from.Z)
	controls := t.Constant(u, n, d.NU)
	mixing := f.m.mixing.Steps(t, z, controls, n)
	move = f.m.transition.Steps(t, mixing.Weights, z, controls, n)
	mixing.Step(0)
	move.Step(0)
	return z, mixing.Weights, move
}

// leave writes the belief after a step. There is no switch that goes on: its place has the weights.
func (f *fusionForecaster) leave(dst *model.Belief, z, weights, mean, variance autodiff.Tensor) {
	n := mean.Rows
	dst.Resize(n, f.m.dims, true)
	copy(dst.Z, z.Block(1, n).Value)
	copy(dst.Mean, mean.Value)
	copy(dst.Variance, variance.Value)
	copy(dst.Switch, weights.Value)
	copy(dst.Weights, weights.Value)
}

// Graphs are the steps of the model for other programs: encoder, initial, filter_step, transition, predict for so
// many steps, and emission. They compute what Begin, Step, Advance and Emit do.
func (f *fusionForecaster) Graphs(horizon int) []model.Graph {
	m, d := f.m, f.m.dims
	k := statespace.Sketch{
		Params: m.params, NX: d.NX, NU: d.NU, NZ: d.NZ, M: d.M, Residual: m.sketch.Residual, Floor: m.sketch.Floor,
		Initial: m.sketch.Initial, Emission: m.sketch.Emission,
	}
	// The closures are the parts that several graphs have in common: mixing weights, inputs of a step and outputs
	// of a step.
	weigh := func(b *model.Builder, z, u string) string {
		op := "Softmax"
		if m.weights == statespace.Sigmoid {
			op = "Sigmoid"
		}
		return b.Op(op, b.Dense(b.Body(b.Concat(z, u), "mixing"), "mixing.scores"))
	}
	inputs := func(b *model.Builder) (z, u string) {
		z = b.Input("z", d.NZ, "latent state before the step")
		if d.NU > 0 {
			u = b.Input("u", d.NU, "controls that act during the step")
		}
		return z, u
	}
	outputs := func(b *model.Builder, mean, variance, noise, weights string) model.Graph {
		b.Output("z_next", b.Draw(mean, variance, noise), d.NZ, "latent state that the next step goes on from")
		b.Output("mean", mean, d.NZ, "mean of the latent state")
		b.Output("variance", variance, d.NZ, "its variance")
		b.Output("weights", weights, d.M, "mixing weights of the base systems")
		return b.Graph()
	}
	filter := model.New("filter_step", "filters the next observation", m.params)
	z, u := inputs(filter)
	x, seen := filter.Input("x", d.NX, "observation; where it is not seen, any finite numbers"),
		filter.Input("seen", 1, "1, or 0 where the observation misses a value")
	by := filter.Input("noise_z", d.NZ, "standard normal; zeros: the mean")
	weights := weigh(filter, z, u)
	mean, _, q := k.Move(filter, z, u, weights)
	measMean, measVariance, _ := k.Measure(filter, x, "")
	mean, q = filter.Fuse(mean, q, measMean, measVariance, seen)
	list := []model.Graph{k.Encoder(), k.Begin(), outputs(filter, mean, q, by, weights)}

	next := model.New("transition", "predicts the next latent state", m.params)
	z, u = inputs(next)
	by = next.Input("noise_z", d.NZ, "standard normal; zeros: the mean")
	weights = weigh(next, z, u)
	mean, q, _ = k.Move(next, z, u, weights)
	list = append(list, outputs(next, mean, q, by, weights))

	b := model.New("predict", fmt.Sprintf("predicts the means of the next %d observations, without noise", horizon),
		m.params)
	z = b.Input("z", d.NZ, "latent state of the last step")
	if d.NU > 0 {
		b.Input("controls", horizon*d.NU, "controls of all steps side by side")
	}
	// Every step of the horizon is unrolled: a graph has no loops.
	var path []string
	for i := range horizon {
		if u = ""; d.NU > 0 {
			u = b.Part("controls", horizon*d.NU, i*d.NU, d.NU)
		}
		z, _, _ = k.Move(b, z, u, weigh(b, z, u))
		mean, _ := k.Decode(b, z)
		path = append(path, mean)
	}
	b.Output("x", b.Concat(path...), horizon*d.NX, "predicted observations of all steps side by side")
	b.Output("z_next", z, d.NZ, "latent state after them")
	return append(list, b.Graph(), k.Emit())
}
