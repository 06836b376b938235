package dvbf

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is DVBF-LL as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "dvbf", Doc: "DVBF-LL: locally linear state-space model whose noise is inferred",
		Settings: func() model.Settings { return DefaultSettings() },
	}
}

// Settings are the keys of the family. The source "paper" is Becker-Ehmck et al. (2019), who compare with the model and
// whose sizes it has here; the DVBF paper is Karl et al. (2017a).
type Settings struct {
	Latent              int                   `yaml:"latent" want:"[1,4096]" doc:"dimensions of the latent state z" source:"paper, FHN: 4"`
	Switches            int                   `yaml:"switches" want:"[2,4096]" doc:"base systems M" source:"paper, FHN: 8; DVBF paper: 16"`
	Hidden              int                   `yaml:"hidden" want:"[1,65536]" doc:"width of the hidden layers" source:"paper, FHN: 128"`
	Blocks              int                   `yaml:"blocks" want:"[0,4]" doc:"residual blocks of encoder, initial network and decoder (mixing and recognition network have at most 1); 0: one dense layer" source:"paper, FHN: one dense layer; others: 2"`
	EncoderHidden       int                   `yaml:"encoder_hidden" want:"[0,65536]" doc:"width of the encoder; 0: as hidden"`
	Initial             statespace.InitialNet `yaml:"initial" values:"mlp lstm" doc:"network that reads the first observations: one for all of them, or one for each followed by a backward LSTM" source:"DVBF paper: a recurrent network"`
	InitialObservations int                   `yaml:"initial_observations" want:"[1,1024]" doc:"number of first observations from which the initial state is inferred" source:"paper: 3 or 4"`
	Emission            statespace.Density    `yaml:"emission" values:"gaussian bernoulli" doc:"density of an observation given z; the standard deviation of a Gaussian is one learned constant per dimension" source:"DVBF paper: gaussian"`
	Residual            bool                  `yaml:"residual" doc:"transition z + A z + B u + C w instead of A z + B u + C w" source:"authors' code of the successor: true"`

	Anneal Anneal `yaml:"anneal" doc:"the weight of likelihood and prior"`
}

// DefaultSettings have the sizes for the FitzHugh-Nagumo oscillator, and no schedule: of runs of 3,000 updates on its
// windows of 50 steps, those under a schedule of 10,000 could leave the data within the 400 steps of a whole episode,
// those without did not.
func DefaultSettings() *Settings {
	return &Settings{
		Latent: 4, Switches: 8, Hidden: 128, Initial: statespace.MLP, InitialObservations: 3, Emission: statespace.Gaussian,
		Residual: true,
	}
}

var (
	_ model.Settings = (*Settings)(nil)
	_ model.Checker  = (*Settings)(nil)
)

// New builds the model that the settings describe.
func (s *Settings) New(d model.Data, key rng.Key) (model.Model, error) { return New(s, d, key), nil }

// Describe says what is inferred.
func (s *Settings) Describe() model.Description {
	return model.Description{
		Text:  fmt.Sprintf("inferred noise, softmax weights that are a function of the past, %d systems", s.Switches),
		Bound: "ELBO with c = 1", Variant: "dvbf",
	}
}

// Check returns what does not fit together. A deviation that depends on the state is passed on because the key for
// it is none of this family.
func (s *Settings) Check(setup model.Setup) []model.Fault {
	return statespace.Check(setup, s.InitialObservations, s.Emission, statespace.StateSD)
}
