package lstm

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/pointwise"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is the recurrent baseline as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "lstm", Doc: "recurrent network that predicts the next observation",
		Settings: func() model.Settings { return DefaultSettings() },
	}
}

// Settings are the keys of the family. The paper is Becker-Ehmck et al. (2019), which says no more of its LSTM than
// that it is vanilla.
type Settings struct {
	Hidden   int                `yaml:"hidden" want:"[1,65536]" doc:"units of the LSTM" source:"paper, FHN: 128, width of its other networks"`
	Emission statespace.Density `yaml:"emission" values:"gaussian bernoulli" doc:"density of the next observation; the standard deviation of a Gaussian is one learned constant per dimension"`
	Residual bool               `yaml:"residual" only:"model.emission=gaussian" doc:"predict the change of an observation instead of the observation"`
}

// DefaultSettings have the size for the FitzHugh-Nagumo oscillator.
func DefaultSettings() *Settings {
	return &Settings{Hidden: 128, Emission: statespace.Gaussian, Residual: true}
}

var (
	_ model.Settings = (*Settings)(nil)
	_ model.Checker  = (*Settings)(nil)
)

// New builds the model that the settings describe.
func (s *Settings) New(d model.Data, key rng.Key) (model.Model, error) { return New(s, d, key), nil }

// Describe says what is predicted.
func (s *Settings) Describe() model.Description {
	return model.Description{
		Text:  fmt.Sprintf("one layer of %d units, %s emission", s.Hidden, s.Emission),
		Bound: pointwise.Bound, Variant: "lstm",
	}
}

// Check returns what does not fit together.
func (s *Settings) Check(setup model.Setup) []model.Fault {
	faults := pointwise.Check(setup)
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
