package pointwise

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// LSTMModel is the parameters of the layer and of its head. One serves any number of tapes at a time, as long as its
// parameters do not change.
type LSTMModel struct {
	noisy // the noise is that of a Gaussian emission
	// layer reads rows [x u] of nx+nu columns.
	layer    autodiff.LSTMWeights
	head     model.Dense
	binary   bool
	residual bool
}

var (
	_ model.Trainable   = (*LSTMModel)(nil)
	_ model.Forecasting = (*LSTMModel)(nil)
)

// NewLSTM declares and initialises a model. Equal settings, data and key give equal parameters.
func NewLSTM(s *LSTMSettings, d model.Data, key rng.Key) *LSTMModel {
	p := autodiff.NewParams()
	draws := key.At(0, 0, 0)
	m := &LSTMModel{noisy: noisy{data: d, params: p}, binary: s.Emission == statespace.Bernoulli}
	m.residual = s.Residual && !m.binary
	m.layer = model.NewLSTM(p, "lstm", d.NX+d.NU, s.Hidden, &draws)
	m.head = model.NewDense(p, "head", s.Hidden, d.NX, &draws)
	if !m.binary {
		m.noise = NewNoise(p, d.NX)
	}
	p.Pack()
	return m
}

// Loss records the negative log likelihood per sequence and predicted time step:
//
//	(1/B(T−1))·Σ_{t≥2} −log p(x_t | x_{1:t−1}, u_{2:t})
//
// Missing values do not count, and are read as they were last seen. There is no noise and no schedule.
func (m *LSTMModel) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	pairs := NewPairs(t, b)
	h := t.ForwardLSTM(pairs.Last, pairs.Controls, m.layer, b.B)
	mean := m.predict(t, h, pairs.Last)
	var nll autodiff.Tensor
	if m.binary {
		nll = t.BernoulliNLL(pairs.Next, mean, pairs.Seen)
	} else {
		nll = t.GaussianNLL(pairs.Next, mean, m.noise.SD(t, mean.Rows), pairs.Seen)
	}
	return Loss(t, nll, b, terms)
}

// predict is the mean of the next observation, or the logits of a binary one, given h [n, units] and the last
// observation [n, nx]: W·h + b, with x added to it if the model predicts changes.
func (m *LSTMModel) predict(t *autodiff.Tape, h, last autodiff.Tensor) autodiff.Tensor {
	y := m.head.Apply(t, h)
	if m.residual {
		return t.Add(y, last)
	}
	return y
}

// LSTM is the recurrent baseline as a value of model.kind.
func LSTM() model.Family {
	return model.Family{
		Name: "lstm", Doc: "recurrent network that predicts the next observation",
		Settings: func() model.Settings { return DefaultLSTMSettings() },
	}
}

// LSTMSettings are the keys of the family. The paper is Becker-Ehmck et al. (2019), which says no more of its LSTM than
// that it is vanilla.
type LSTMSettings struct {
	Hidden   int                `yaml:"hidden" want:"[1,65536]" doc:"units of the LSTM" source:"paper, FHN: 128, width of its other networks"`
	Emission statespace.Density `yaml:"emission" values:"gaussian bernoulli" doc:"density of the next observation; the standard deviation of a Gaussian is one learned constant per dimension"`
	Residual bool               `yaml:"residual" only:"model.emission=gaussian" doc:"predict the change of an observation instead of the observation"`
}

// DefaultLSTMSettings have the size for the FitzHugh-Nagumo oscillator.
func DefaultLSTMSettings() *LSTMSettings {
	return &LSTMSettings{Hidden: 128, Emission: statespace.Gaussian, Residual: true}
}

var (
	_ model.Settings = (*LSTMSettings)(nil)
	_ model.Checker  = (*LSTMSettings)(nil)
)

// New builds the model that the settings describe.
func (s *LSTMSettings) New(d model.Data, key rng.Key) (model.Model, error) {
	return NewLSTM(s, d, key), nil
}

// Describe says what is predicted.
func (s *LSTMSettings) Describe() model.Description {
	return model.Description{
		Text:  fmt.Sprintf("one layer of %d units, %s emission", s.Hidden, s.Emission),
		Bound: Bound, Variant: "lstm",
	}
}

// Check returns what does not fit together.
func (s *LSTMSettings) Check(setup model.Setup) []model.Fault {
	faults := Check(setup)
	if s.Emission == statespace.Bernoulli && !setup.Unit {
		faults = append(faults, model.Faultf([]string{"model.emission", "env.kind"}, "use gaussian",
			"bernoulli needs observations between 0 and 1, those of env.kind=%s are not", setup.Env))
	}
	if s.Emission == statespace.Bernoulli && !s.Residual {
		faults = append(faults, model.Faultf([]string{"model.residual", "model.emission"},
			"leave it out, or use model.emission=gaussian",
			"a bernoulli emission has logits, which are never a change"))
	}
	return faults
}
