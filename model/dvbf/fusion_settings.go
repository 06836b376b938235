package dvbf

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// FusionFamily is DVBF Fusion as a value of model.kind.
func FusionFamily() model.Family {
	return model.Family{
		Name: "fusion", Doc: "DVBF Fusion: locally linear state-space model with deterministic mixing",
		Settings: func() model.Settings { return DefaultFusionSettings() },
	}
}

// FusionSettings are the keys of the family. The source is the authors' published code, or Becker-Ehmck et al.
// (2019), who compare with the model and whose sizes it has here.
type FusionSettings struct {
	Weights             statespace.Weights    `yaml:"weights" values:"softmax sigmoid limited" doc:"mixing weights of the base systems; limited: sigmoid, scaled down where the sum exceeds 1" source:"authors' code: sigmoid"`
	Latent              int                   `yaml:"latent" want:"[1,4096]" doc:"dimensions of the latent state z" source:"paper, FHN: 4"`
	Switches            int                   `yaml:"switches" want:"[1,4096]" doc:"base systems M" source:"paper, FHN: 8"`
	Hidden              int                   `yaml:"hidden" want:"[1,65536]" doc:"width of the hidden layers" source:"paper, FHN: 128"`
	Blocks              int                   `yaml:"blocks" want:"[0,4]" doc:"residual blocks of encoder, initial network and decoder (the mixing network has at most 1); 0: one dense layer" source:"paper, FHN: one dense layer; others: 2"`
	EncoderHidden       int                   `yaml:"encoder_hidden" want:"[0,65536]" doc:"width of the encoder; 0: as hidden"`
	Initial             statespace.InitialNet `yaml:"initial" values:"mlp lstm" was:"mlp" doc:"network that reads the first observations: one for all of them, or one for each followed by a backward LSTM" source:"paper, appendix Network Architecture: optionally an LSTM"`
	InitialObservations int                   `yaml:"initial_observations" want:"[1,1024]" doc:"number of first observations from which the initial state is inferred" source:"paper: 3 or 4"`
	Emission            statespace.Density    `yaml:"emission" values:"gaussian bernoulli" doc:"density of an observation given z"`
	EmissionSD          statespace.SD         `yaml:"emission_sd" only:"model.emission=gaussian" values:"state constant" doc:"standard deviation of the Gaussian emission: a function of z, or one learned constant per dimension" source:"authors' code: state"`
	EmissionFloor       float64               `yaml:"emission_floor" only:"model.emission=gaussian" was:"1e-05" want:"(0,1]" doc:"least variance of the Gaussian emission; its root is added to the standard deviation" source:"authors' code: 1e-5"`
	Residual            bool                  `yaml:"residual" doc:"transition z + A z + B u instead of A z + B u" source:"authors' code: true"`
	VarianceFloor       float64               `yaml:"variance_floor" want:"(0,1]" doc:"constant added to the mixed transition variances" source:"authors' code: 1e-5"`
}

// DefaultFusionSettings are those of the authors' code, with sizes for the FitzHugh-Nagumo oscillator.
func DefaultFusionSettings() *FusionSettings {
	return &FusionSettings{
		Weights: statespace.Sigmoid, Latent: 4, Switches: 8, Hidden: 128, Initial: statespace.MLP, InitialObservations: 3,
		Emission: statespace.Gaussian, EmissionSD: statespace.StateSD, EmissionFloor: 1e-5,
		Residual: true, VarianceFloor: 1e-5,
	}
}

var (
	_ model.Settings = (*FusionSettings)(nil)
	_ model.Checker  = (*FusionSettings)(nil)
)

// New builds the model that the settings describe.
func (s *FusionSettings) New(d model.Data, key rng.Key) (model.Model, error) {
	return NewFusion(s, d, key), nil
}

// Describe names the variant.
func (s *FusionSettings) Describe() model.Description {
	other := statespace.Sigmoid
	if s.Weights.Gates() {
		other = statespace.Softmax
	}
	return model.Description{
		Text:  fmt.Sprintf("%s weights that are a function of the past, %d systems", s.Weights, s.Switches),
		Bound: "ELBO, which is the objective", Variant: "fusion", Others: []string{"model.weights=" + string(other)},
	}
}

// Check returns what does not fit together.
func (s *FusionSettings) Check(setup model.Setup) []model.Fault {
	faults := statespace.Check(setup, s.InitialObservations, s.Emission, s.EmissionSD)
	if s.Weights == statespace.Softmax && s.Switches < 2 {
		faults = append(faults, model.Faultf([]string{"model.switches", "model.weights"},
			"use at least 2, or model.weights=sigmoid",
			"softmax weights of a single system are constant"))
	}
	return faults
}
