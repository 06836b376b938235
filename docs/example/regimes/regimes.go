// Package regimes is a family of models that predict the next observation by a mixture of affine maps:
//
//	x_t ~ N(x_{t−1} + Σ_m w_m·([x_{t−1} u_t]·A_m + b_m), σ²),  w = softmax(network(x_{t−1}, u_t))
package regimes

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Settings are the keys of the section model.
type Settings struct {
	Regimes int     `yaml:"regimes" want:"[1,64]" doc:"number of affine maps"`
	Hidden  int     `yaml:"hidden" want:"[1,4096]" doc:"width of the hidden layer of the network that weighs them"`
	Floor   float64 `yaml:"floor" want:"(0,1]" doc:"smallest standard deviation"`
}

// Family is the line of the registry.
func Family() model.Family {
	return model.Family{
		Name: "regimes", Doc: "a mixture of affine maps from one observation to the next",
		Settings: func() model.Settings { return &Settings{Regimes: 4, Hidden: 32, Floor: 0.01} },
	}
}

// Describe is for the plan of a run.
func (s *Settings) Describe() model.Description {
	return model.Description{
		Text: fmt.Sprintf("%d affine maps, weighed by %d hidden units", s.Regimes, s.Hidden), Variant: "regimes",
		Bound: "exact: the log likelihood of what follows the first observation",
	}
}

// New declares the parameters and draws their initial values.
func (s *Settings) New(d model.Data, key rng.Key) (model.Model, error) {
	p, draws := autodiff.NewParams(), key.At(0, 0, 0)
	m := &mixture{nx: d.NX, nu: d.NU, regimes: s.Regimes, floor: float32(s.Floor), params: p}
	m.hidden = model.NewDense(p, "hidden", d.NX+d.NU, s.Hidden, &draws)
	m.gate = model.NewDense(p, "gate", s.Hidden, s.Regimes, &draws)
	m.maps = model.NewDense(p, "maps", d.NX+d.NU, s.Regimes*d.NX, &draws)
	m.sd = p.Vector("sd", d.NX)
	p.Pack()
	return m, nil
}

type mixture struct {
	nx, nu, regimes    int
	floor              float32
	params             *autodiff.Params
	hidden, gate, maps model.Dense
	sd                 *autodiff.Weight // before softplus
}

func (m *mixture) Params() *autodiff.Params { return m.params }

func (m *mixture) Terms() []model.Term {
	return []model.Term{{Name: "loss", Label: "negative log-likelihood", Unit: "nats per step", Bound: 1}}
}

// predict returns, for every row, mean and standard deviation of the next observation and the weights of the regimes.
func (m *mixture) predict(t *autodiff.Tape, x, u autodiff.Tensor) (mean, sd, weights autodiff.Tensor) {
	input := x
	if m.nu > 0 {
		input = t.New(x.Rows, m.nx+m.nu)
		t.Concat(input, x, u)
	}
	weights = t.New(x.Rows, m.regimes)
	t.Softmax(weights, m.gate.Apply(t, t.Linear(input, m.hidden.W, m.hidden.B, autodiff.ReLU)))
	mean = t.Add(x, t.BatchMul(weights, m.maps.Apply(t, input), m.regimes))
	return mean, t.Repeat(t.Softplus(t.Param(m.sd), m.floor), x.Rows), weights
}

// Loss is −log p(x_2 … x_T | x_1, u) per sequence and time step.
func (m *mixture) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	rows := (b.T - 1) * b.B // row t·B+b is time step t of sequence b: what follows a row is B rows later
	before, after := t.Constant(b.Observations[:rows*m.nx], rows, m.nx), t.Constant(b.Observations[b.B*m.nx:], rows, m.nx)
	var seen autodiff.Tensor
	if b.Seen != nil {
		seen = t.Constant(b.Seen[b.B*m.nx:], rows, m.nx)
	}
	mean, sd, _ := m.predict(t, before, t.Constant(b.Controls[b.B*m.nu:], rows, m.nu))
	loss := t.WeightedSum([]float32{1 / float32(b.T*b.B)}, t.GaussianNLL(after, mean, sd, seen))
	terms[0] = loss.Value[0]
	return loss
}

// NewForecaster makes the model one that predicts: it can be evaluated, too.
func (m *mixture) NewForecaster() model.Forecaster {
	return &forecaster{mixture: m, tape: autodiff.NewInferenceTape(m.params)}
}

type forecaster struct {
	*mixture
	tape *autodiff.Tape
}

func (f *forecaster) Dims() model.Dims        { return model.Dims{NX: f.nx, NU: f.nu, M: f.regimes} }
func (f *forecaster) Clone() model.Forecaster { return f.NewForecaster() }

// Forecast draws paths that begin at the last observation of each sequence. The rows of all paths stand side by side.
func (f *forecaster) Forecast(dst *model.Forecast, q model.Query) {
	B, paths, noise := q.Prefix.B, q.Samples, q.Noise
	dst.Resize(q.Horizon, B, paths, f.nx, f.regimes)
	clear(dst.Mean)
	clear(dst.Switches)
	x, u := make([]float32, paths*B*f.nx), make([]float32, paths*B*f.nu)
	for s := range paths {
		copy(x[s*B*f.nx:], q.Prefix.Observations[(q.Prefix.T-1)*B*f.nx:])
	}
	draws := make([]float32, len(x))
	for h := range q.Horizon {
		f.controls(u, q, h)
		f.tape.Reset()
		mean, sd, weights := f.predict(f.tape, f.tape.Constant(x, paths*B, f.nx), f.tape.Constant(u, paths*B, f.nu))
		noise.Normals(draws)
		for i, v := range mean.Value {
			s, rest := i/(B*f.nx), i%(B*f.nx)
			dst.Paths[(s*q.Horizon+h)*B*f.nx+rest] = v
			dst.Mean[h*B*f.nx+rest] += v / float32(paths)
			x[i] = v + draws[i]*sd.Value[i]
		}
		for i, w := range weights.Value {
			dst.Switches[h*B*f.regimes+i%(B*f.regimes)] += w / float32(paths)
		}
		copy(dst.Draw[h*B*f.nx:(h+1)*B*f.nx], x)
	}
}

// controls fills u with those of step h: one plan for all paths, or one for each.
func (f *forecaster) controls(u []float32, q model.Query, h int) {
	row := q.Prefix.B * f.nu
	for s := range q.Samples {
		at := h * row
		if len(q.Controls) == q.Samples*q.Horizon*row {
			at += s * q.Horizon * row
		}
		copy(u[s*row:(s+1)*row], q.Controls[at:])
	}
}
