package slds

import (
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// Graphs are the steps of the model for other programs: encoder, initial, filter_step and transition with their
// forms for the first switch, predict for so many steps, and emission. They compute what Begin, Step, Advance and
// Emit do.
func (f *Forecaster) Graphs(horizon int) []model.Graph {
	m, c := f.m, f.m.cfg
	s := statespace.Sketch{
		Nets: m.Nets, Params: m.Params(), Residual: c.Residual, Offset: c.Offset, Floor: c.VarianceFloor,
		Switch: model.Value{Name: "s", Width: c.M, Doc: "switch that led to it"},
	}
	list := []model.Graph{s.Encoder(), s.Begin()}
	for _, first := range []bool{true, false} {
		list = append(list, m.filterGraph(s, first), m.transitionGraph(s, first))
	}
	// A prediction follows the means: no noise.
	predict := s.Predict(horizon, func(b *model.Builder, z, switched, u string) (next, led string) {
		next, _, led, _ = m.advanceGraph(b, s, false, z, switched, u, "")
		return next, led
	})
	return append(list, predict, s.Emit())
}

// proposeGraph computes the transition of the switch: logits, or mean and the two variances (prior, inference),
// [n, M] each. The first switch has the network g₀, which reads no switch before it.
func (m *Model) proposeGraph(b *model.Builder, first bool, z, s, u string) (head, prior, inference string) {
	name := "switch.next"
	if first {
		name, s = "switch.first", ""
	}
	y := b.Body(b.Concat(z, s, u, statespace.MessageGraph(b, z, m.cfg.Bodies)), name)
	if m.cfg.Switching != Normal {
		return b.Dense(y, name+".logits"), "", ""
	}
	return b.Dense(y, name+".mean"), b.Variance(b.Dense(y, name+".sd"), statespace.SDFloor),
		b.Variance(b.Dense(y, name+".sd_inference"), statespace.SDFloor)
}

// relaxGraph is the draw of a Concrete switch: softmax((logits + noise)/λ), or gates. If hard, it is a one at the
// largest value, or at each that is positive.
func (m *Model) relaxGraph(b *model.Builder, logits, noise string, temperature float32, hard bool) string {
	perturbed := b.Op("Add", logits, noise)
	switch {
	case hard && m.cfg.binary():
		return m.cfg.Weights.LimitGraph(b, b.Op("Relu", b.Op("Sign", perturbed)), m.cfg.M)
	case hard:
		return b.Op("Hardmax", perturbed)
	}
	return m.mixGraph(b, b.Op("Mul", perturbed, b.Scalar(1/temperature)))
}

// mixGraph is the map from scores to weights.
func (m *Model) mixGraph(b *model.Builder, scores string) string {
	return m.cfg.Weights.Graph(b, scores, m.cfg.M)
}

// noiseInputs declares the noise of a step; a deterministic switch has none, and an empty name.
func (m *Model) noiseInputs(b *model.Builder) (state, switches string) {
	state = b.Input("noise_z", m.cfg.NZ, "standard normal; zeros: the mean")
	if m.cfg.Switching != Deterministic {
		kind := "Gumbel"
		switch {
		case m.cfg.Switching == Normal:
			kind = "standard normal"
		case m.cfg.binary():
			kind = "logistic"
		}
		switches = b.Input("noise_s", m.cfg.M, kind+"; zeros: without noise")
	}
	return state, switches
}

// stateOutputs declares what every step returns.
func (m *Model) stateOutputs(b *model.Builder, k statespace.Sketch, z, mean, variance, s, weights string) model.Graph {
	k.Outputs(b, z, mean, variance)
	b.Output("s_next", s, m.cfg.M, k.Switch.Doc)
	b.Output("weights", weights, m.cfg.M, "mixing weights of the base systems")
	return b.Graph()
}

// filterGraph is Step; first is for the step from z_1.
func (m *Model) filterGraph(k statespace.Sketch, first bool) model.Graph {
	name := "filter_step"
	if first {
		name = "first_filter_step"
	}
	b := model.New(name, "filters the next observation", m.Params())
	c := m.cfg
	z, s, u := k.Inputs(b, first)
	x := b.Input("x", c.NX, "observation; where it is not seen, any finite numbers")
	seen := b.Input("seen", 1, "1, or 0 where the observation misses a value")
	noiseZ, noiseS := m.noiseInputs(b)
	head, _, inference := m.proposeGraph(b, first, z, s, u)
	measMean, measVariance, features := k.Measure(b, x, seen)
	var draw, weights string
	// The switch: its transition combined with the measurement, as in the posterior of each variant.
	switch c.Switching {
	case Deterministic:
		draw = m.mixGraph(b, head)
		weights = draw
	case Normal:
		features = m.switchFeatures(b, features, u)
		other := b.Variance(b.Dense(features, "switch.measurement.sd"), statespace.SDFloor)
		mean, variance := b.Fuse(head, inference, b.Dense(features, "switch.measurement.mean"), other, b.Scalar(1))
		draw = b.Draw(mean, variance, noiseS)
		weights = m.mixGraph(b, b.Dense(draw, "switch.mixing"))
	default:
		features = m.switchFeatures(b, features, u)
		logits := b.Dense(features, "switch.measurement.logits")
		if c.Gate {
			logits = b.Choose(b.Op("Sigmoid", b.Dense(features, "switch.measurement.gate")), head, logits)
		}
		draw = m.relaxGraph(b, logits, noiseS, c.Anneal.Final().Posterior, c.Hard)
		weights = draw
	}
	// From here on the switch has led to weights: transition, product with the measurement, draw.
	mean, _, q := k.Move(b, z, u, weights)
	mean, variance := b.Fuse(mean, q, measMean, measVariance, seen)
	return m.stateOutputs(b, k, b.Draw(mean, variance, noiseZ), mean, variance, draw, weights)
}

// switchFeatures is what the measurement of the switch reads: an LSTM after one step from zeros, as the filter has
// no later observations.
func (m *Model) switchFeatures(b *model.Builder, features, u string) string {
	if m.cfg.MeasurementControls {
		features = b.Concat(features, u)
	}
	if m.cfg.Measurement == LSTM {
		return b.LSTM(features, "switch.lstm")
	}
	return b.Body(features, "switch.mlp")
}

// advanceGraph is a step of the prior. An empty noise is none: the switch is its mean.
func (m *Model) advanceGraph(b *model.Builder, k statespace.Sketch, first bool, z, s, u, noiseS string) (mean, variance,
	draw, weights string,
) {
	head, prior, _ := m.proposeGraph(b, first, z, s, u)
	switch m.cfg.Switching {
	case Deterministic:
		draw = m.mixGraph(b, head)
		weights = draw
	case Normal:
		if draw = head; noiseS != "" {
			draw = b.Draw(head, prior, noiseS)
		}
		weights = m.mixGraph(b, b.Dense(draw, "switch.mixing"))
	default:
		if noiseS == "" {
			noiseS = b.Scalar(0)
		}
		draw = m.relaxGraph(b, head, noiseS, m.cfg.Anneal.Final().Prior, m.cfg.Hard || m.cfg.Rollout == RolloutMode)
		weights = draw
	}
	mean, variance, _ = k.Move(b, z, u, weights)
	return mean, variance, draw, weights
}

// transitionGraph is Advance; first is for the step from z_1.
func (m *Model) transitionGraph(k statespace.Sketch, first bool) model.Graph {
	name := "transition"
	if first {
		name = "first_transition"
	}
	b := model.New(name, "predicts the next latent state", m.Params())
	z, s, u := k.Inputs(b, first)
	noiseZ, noiseS := m.noiseInputs(b)
	mean, variance, draw, weights := m.advanceGraph(b, k, first, z, s, u, noiseS)
	return m.stateOutputs(b, k, b.Draw(mean, variance, noiseZ), mean, variance, draw, weights)
}
