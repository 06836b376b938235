package categorical

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

var _ model.Exporter = (*Forecaster)(nil)

// Graphs are the steps of the model for other programs. They compute what Begin, Step, Advance and Emit do. The
// switch of a graph is its belief, as probabilities. A step has one graph for the first time, whose belief is a
// constant of the model, and one for all later times.
func (f *Forecaster) Graphs(horizon int) []model.Graph {
	m, c := f.m, f.m.cfg
	s := statespace.Sketch{
		Nets: m.Nets, Params: m.Params(), Residual: c.Residual, Floor: c.VarianceFloor,
		Switch: model.Value{Name: "s", Width: c.Carried(), Doc: c.doc()},
	}
	list := []model.Graph{s.Encoder(), s.Begin()}
	for _, first := range []bool{true, false} {
		list = append(list, m.filterGraph(s, first), m.transitionGraph(s, first))
	}
	// A prediction is a rollout of the probabilities of all systems.
	predict := s.Predict(horizon, func(b *model.Builder, z, belief, u string) (next, led string) {
		k := &sketch{Builder: b, m: m, z: z, u: u}
		k.predict(belief)
		led = k.carried(k.weights)
		next, _ = k.mix(k.weights, "transition.Q")
		return next, led
	})
	return append(list, predict, s.Emit())
}

// doc says what goes from a step to the next.
func (c Config) doc() string {
	if c.Ages > 0 {
		return fmt.Sprintf("probabilities of the systems that led to it and of their ages: %d numbers for each", c.Ages)
	}
	return "probabilities of the systems that led to it"
}

// sketch is a step within a graph: the names of what recurrence has as tensors.
type sketch struct {
	*model.Builder
	m                       *Model
	z, u                    string
	moves, from             string // μ_j − from, and what the moves are added to; "": nothing
	weights, logs, proposal string // w, log w, and w or w̃
	ages                    string // the joint probability of systems and ages before the state is seen
}

// stand is predict: it declares the state before a step and computes its weights. first says that the belief is
// that of the first time step.
func (m *Model) stand(b *model.Builder, s statespace.Sketch, first bool) *sketch {
	z, belief, u := s.Inputs(b, first)
	if first {
		belief = b.Constant("switch.start.softmax", 1, m.cfg.Carried(), m.firstBelief())
	}
	k := &sketch{Builder: b, m: m, z: z, u: u}
	k.predict(belief)
	return k
}

// predict computes moves and weights from z, u and a belief. With E = exp L and a = softmax g,
//
//	w(j) = Σᵢ b(i)·E(i,j)·a(j)/Σₖ E(i,k)·a(k)
//
// and row by row, if every system that is left has scores of its own.
func (k *sketch) predict(belief string) {
	c := k.m.cfg
	in := k.Concat(k.z, k.u)
	k.moves, k.from = k.Dense(in, "transition"), ""
	if c.Residual {
		k.from = k.z
	}
	k.from = statespace.InteractionGraph(k.Builder, k.from, k.z, c.NZ)
	message := statespace.MessageGraph(k.Builder, k.z, c.Bodies)
	scores := k.Dense(k.Body(k.Concat(in, message), "switch.next"), "switch.next.logits")
	switch {
	case c.Ages > 0:
		k.predictAged(belief, scores)
	case c.Rows:
		k.weights = k.byRow(belief, scores)
	default:
		// The sum over k is one number for each i: it divides the belief before the product with E.
		stay, turned := exponentials(k.m.transition.stay.Values(), c.M)
		a := k.Op("Softmax", scores)
		left := k.Op("Div", belief, k.Op("MatMul", a, k.Constant("switch.transition.turned", c.M, c.M, turned)))
		k.weights = k.Op("Mul", a, k.Op("MatMul", left, k.Constant("switch.transition.exp", c.M, c.M, stay)))
	}
	k.logs = k.Op("Log", k.Op("Add", k.weights, k.Scalar(smallest)))
	k.proposal = k.weights
}

// byRow is Σᵢ b(i)·softmax(L(i,·) + g(i,·)).
func (k *sketch) byRow(belief, scores string) string {
	m, stay := k.m.cfg.M, k.m.transition.stay.Values()
	sum := ""
	for i := range m {
		row := k.Constant(fmt.Sprintf("switch.transition.%d", i), 0, m, slices.Clone(stay[i*m:(i+1)*m]))
		p := k.Op("Softmax", k.Op("Add", k.Part(scores, m*m, i*m, m), row))
		p = k.Op("Mul", p, k.Part(belief, m, i, 1))
		if i == 0 {
			sum = p
		} else {
			sum = k.Op("Add", sum, p)
		}
	}
	return sum
}

// logDensities is −½·Σ ((x − from − move(j))²/v + log v) for each system, where v has the variances of all side by
// side. The constant −½·nz·log 2π is left out, as a softmax does not notice it.
func (k *sketch) logDensities(x, v string) string {
	c := k.m.cfg
	if k.from != "" {
		x = k.Op("Sub", x, k.from)
	}
	e := k.Op("Sub", k.SideBySide(x, c.M, c.NZ), k.moves)
	terms := k.Op("Add", k.Op("Div", k.Op("Mul", e, e), v), k.Op("Log", v))
	return k.Op("Mul", k.SystemSums(terms, c.M, c.NZ), k.Scalar(-0.5))
}

// variances are those of all systems side by side, a constant [1, M·nz]: the diagonals of Q.
func (k *sketch) variances() string {
	c := k.m.cfg
	full, flat := make([]float64, c.M*c.NZ*c.NZ), make([]float32, c.M*c.NZ)
	k.m.transition.q.Diagonals(full, c.NZ)
	for i := range flat {
		flat[i] = float32(full[i/c.NZ*c.NZ*c.NZ+i%c.NZ*(c.NZ+1)])
	}
	return k.Constant("transition.Q.flat", 1, len(flat), flat)
}

// mix is the mean Σ_j w(j)·μ_j of the mixture, and its variance, that of the mixed base variances of the parameter
// with the name q.
func (k *sketch) mix(weights, q string) (mean, variance string) {
	c := k.m.cfg
	mean = k.WeightedSum(weights, k.moves, c.M, c.NZ)
	if k.from != "" {
		mean = k.Op("Add", k.from, mean)
	}
	return mean, k.VarianceMixture(weights, q, c.VarianceFloor)
}

// filterGraph is Step: from z, s, u, x and noise to the next z and s.
func (m *Model) filterGraph(s statespace.Sketch, first bool) model.Graph {
	c, name := m.cfg, "filter_step"
	if first {
		name = "first_filter_step"
	}
	b := model.New(name, "filters the next observation", m.Params())
	k := m.stand(b, s, first)
	x := b.Input("x", c.NX, "observation; where it is not seen, any finite numbers")
	seen := b.Input("seen", 1, "1, or 0 where the observation misses a value")
	noise := b.Input("noise_z", c.NZ, "standard normal; zeros: the mean")
	measMean, measVariance, _ := s.Measure(b, x, seen)
	if c.Preview {
		v := b.Op("Add", b.SideBySide(measVariance, c.M, c.NZ), k.variances())
		k.proposal = b.Choose(seen, b.Op("Softmax", b.Op("Add", k.logs, k.logDensities(measMean, v))), k.weights)
	}
	mean, variance := k.mix(k.proposal, "transition.Q_inference")
	mean, variance = b.Fuse(mean, variance, measMean, measVariance, seen)
	z := b.Draw(mean, variance, noise)
	return k.leave(s, z, mean, variance, b.Op("Softmax", b.Op("Add", k.logs, k.logDensities(z, k.variances()))))
}

// transitionGraph is Advance: without an observation, with a system that is drawn or all of them.
func (m *Model) transitionGraph(s statespace.Sketch, first bool) model.Graph {
	c, name := m.cfg, "transition"
	if first {
		name = "first_transition"
	}
	b := model.New(name, "predicts the next latent state", m.Params())
	k := m.stand(b, s, first)
	noise := b.Input("noise_z", c.NZ, "standard normal; zeros: the mean")
	gumbel := b.Input("noise_s", c.M, "Gumbel; has no effect unless the system is drawn")
	drawn := b.Input("drawn", 1, "1: the system is drawn with noise_s; 0: the step goes on with all of them")
	w := b.Choose(drawn, b.Op("Hardmax", b.Op("Add", k.logs, gumbel)), k.weights)
	mean, variance := k.mix(w, "transition.Q")
	return k.leave(s, b.Draw(mean, variance, noise), mean, variance, w)
}

// leave names the state after a step; w are the probabilities of the systems [M], which ages divide before they
// are carried on.
func (k *sketch) leave(s statespace.Sketch, z, mean, variance, w string) model.Graph {
	s.Outputs(k.Builder, z, mean, variance)
	k.Output("s_next", k.carried(w), s.Switch.Width, s.Switch.Doc)
	k.Output("weights", w, s.M, "probabilities of the systems that led to it")
	return k.Graph()
}

// probabilities are softmax x, in a new slice.
func probabilities(x []float32) []float32 {
	p, _ := exponentials(x, len(x))
	var sum float32
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// exponentials are exp x of rows of n numbers, less the largest of each row, and their transpose.
func exponentials(x []float32, n int) (y, turned []float32) {
	y, turned = make([]float32, len(x)), make([]float32, len(x))
	for i, v := range x {
		most := slices.Max(x[i/n*n:][:n])
		y[i] = float32(math.Exp(float64(v - most)))
		turned[i%n*(len(x)/n)+i/n] = y[i]
	}
	return y, turned
}
