package statespace

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// Sketch writes the parts of this package as graphs. It finds them among the parameters by their names.
type Sketch struct {
	Nets
	Params   *autodiff.Params
	Residual bool
	Offset   bool    // the last row of a system in transition.B is a constant
	Floor    float32 // of mixed variances

	// Switch is the input of a step for the switch that led to the state; without a width none goes on from step to step.
	Switch model.Value
}

// Measure is Encoder.Measure: x is [n, nx] and the results [n, nz], [n, nz] and [n, width]. Features of rows that
// are not seen are zeros; an empty seen leaves them.
func (s Sketch) Measure(b *model.Builder, x, seen string) (mean, variance, features string) {
	features = b.Body(x, "encoder")
	mean = skipGraph(b, b.Dense(features, "encoder.mean"), x, "encoder.skip")
	variance = b.Variance(b.Dense(features, "encoder.sd"), SDFloor)
	if seen != "" {
		features = b.Op("Mul", features, seen)
	}
	return mean, variance, features
}

// Encoder is the inverse measurement q_meas(z_t | x_t).
func (s Sketch) Encoder() model.Graph {
	b := model.New("encoder", "what an observation alone says of the latent state", s.Params)
	mean, variance, _ := s.Measure(b, b.Input("x", s.NX, "observation"), "")
	b.Output("mean", mean, s.NZ, "mean of the latent state")
	b.Output("variance", variance, s.NZ, "its variance")
	return b.Graph()
}

// Begin is z_1 from the mean of q(h).
func (s Sketch) Begin() model.Graph {
	b := model.New("initial", "infers the first latent state from the first observations and controls", s.Params)
	pair, k := s.NX+s.NU, s.InitialObservations
	first := b.Input("first", k*pair, "observation and control of each of the first steps, side by side; a missing "+
		"value is 0 in the model's units, and a sequence that is shorter repeats its last step")
	var y string
	if s.Initial == LSTM {
		y = b.BackwardLSTM(first, "initial", "initial.lstm", k, pair)
	} else {
		y = b.Body(first, "initial")
	}
	h := skipGraph(b, b.Dense(y, "initial.mean"), first, "initial.skip")
	z := b.Dense(b.Op("Relu", b.Dense(h, "start.hidden")), "start.out")
	if s.Skip {
		z = b.Op("Add", z, h)
	}
	b.Output("z", z, s.NZ, "first latent state")
	return b.Graph()
}

// Inputs declares what a step goes on from: the state, the switch that led to it, unless it is the first, and controls.
// Of the switch and the controls an empty name is none.
func (s Sketch) Inputs(b *model.Builder, first bool) (z, switched, u string) {
	z = b.Input("z", s.NZ, "latent state before the step")
	if !first && s.Switch.Width > 0 {
		switched = b.Input(s.Switch.Name, s.Switch.Width, s.Switch.Doc)
	}
	if s.NU > 0 {
		u = b.Input("u", s.NU, "controls that act during the step")
	}
	return z, switched, u
}

// Outputs declares what every step says of the state, which is z where it was drawn.
func (s Sketch) Outputs(b *model.Builder, z, mean, variance string) {
	b.Output("z_next", z, s.NZ, "latent state that the next step goes on from")
	b.Output("mean", mean, s.NZ, "mean of the latent state")
	b.Output("variance", variance, s.NZ, "its variance")
}

// Predict follows the means of so many steps and decodes them. Every step is unrolled, as a graph has no loops: step
// leads from a state, and the switch that led to it, under controls to the next.
func (s Sketch) Predict(horizon int,
	step func(b *model.Builder, z, switched, u string) (next, led string),
) model.Graph {
	b := model.New("predict", fmt.Sprintf("predicts the means of the next %d observations, without noise", horizon),
		s.Params)
	nx, nu, nz := s.NX, s.NU, s.NZ
	z, switched, u := b.Input("z", nz, "latent state of the last step"), "", ""
	if s.Switch.Width > 0 {
		switched = b.Input(s.Switch.Name, s.Switch.Width, s.Switch.Doc)
	}
	if nu > 0 {
		b.Input("controls", horizon*nu, "controls of all steps side by side")
	}
	var path []string
	for i := range horizon {
		if nu > 0 {
			u = b.Part("controls", horizon*nu, i*nu, nu)
		}
		z, switched = step(b, z, switched, u)
		mean, _ := s.Decode(b, z)
		path = append(path, mean)
	}
	b.Output("x", b.Concat(path...), horizon*nx, "predicted observations of all steps side by side")
	b.Output("z_next", z, nz, "latent state after them")
	if s.Switch.Width > 0 {
		b.Output(s.Switch.Name+"_next", switched, s.Switch.Width, s.Switch.Doc)
	}
	return b.Graph()
}

// Move is the locally linear transition: its mean, and the variances of the model and of inference, [n, nz] each.
// An empty u is no controls.
func (s Sketch) Move(b *model.Builder, z, u, weights string) (mean, q, inference string) {
	mean = b.Mixture(z, weights, "transition.A", s.M, 0, s.NZ)
	if s.Residual {
		mean = b.Op("Add", z, mean)
	}
	if u != "" {
		mean = b.Op("Add", mean, b.Mixture(u, weights, "transition.B", s.M, 0, s.NU))
	}
	if s.Offset {
		one := b.Op("Add", b.Op("Mul", b.Part(z, s.NZ, 0, 1), b.Scalar(0)), b.Scalar(1)) // a row for each of z
		mean = b.Op("Add", mean, b.Mixture(one, weights, "transition.B", s.M, s.NU, 1))
	}
	mean = InteractionGraph(b, mean, z, s.NZ)
	return mean, b.VarianceMixture(weights, "transition.Q", s.Floor), b.VarianceMixture(weights, "transition.Q_inference",
		s.Floor)
}

// Decode is the mean of p(x | z), and its standard deviation; of a binary observation the probability of a one, and
// none.
func (s Sketch) Decode(b *model.Builder, z string) (mean, sd string) {
	y := b.Body(z, "decoder")
	mean = skipGraph(b, b.Dense(y, "decoder.mean"), z, "decoder.skip")
	floor := float32(s.EmissionConfig().floor())
	switch {
	case s.Emission == Bernoulli:
		return b.Op("Sigmoid", mean), ""
	case s.EmissionSD == ConstantSD:
		v := b.SD(b.Parameter("decoder.sd"), floor)
		return mean, b.Op("Add", v, b.Op("Mul", mean, b.Scalar(0))) // a row for each of the mean
	}
	return mean, b.SD(b.Dense(y, "decoder.sd"), floor)
}

// Emit is p(x | z).
func (s Sketch) Emit() model.Graph {
	b := model.New("emission", "what a latent state shows", s.Params)
	mean, sd := s.Decode(b, b.Input("z", s.NZ, "latent state"))
	b.Output("x", mean, s.NX, "mean of the observation")
	if sd != "" {
		b.Output("sd", sd, s.NX, "its standard deviation")
	}
	return b.Graph()
}

// skipGraph is y + x·S if the model has the parameter S.
func skipGraph(b *model.Builder, y, x, name string) string {
	if !b.Has(name) {
		return y
	}
	return b.Op("Add", y, b.Op("MatMul", x, b.Parameter(name)))
}
