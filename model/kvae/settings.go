package kvae

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is the KVAE as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "kvae", Doc: "Kalman variational auto-encoder: linear Gaussian states, mixed by an LSTM, behind codes of " +
			"observations",
		Settings: func() model.Settings { return DefaultSettings() },
	}
}

// Settings are the keys of the family. The source "KVAE code" is what the authors published for the ball in a box.
type Settings struct {
	Latent   int `yaml:"latent" want:"[1,64]" doc:"dimensions of the latent state z" source:"KVAE code: 4"`
	Code     int `yaml:"code" want:"[0,64]" doc:"dimensions of the code a; 0: 2 for images, and as many as the observation (at most 64) for vectors" source:"KVAE code: 2"`
	Switches int `yaml:"switches" want:"[1,4096]" doc:"base systems K" source:"KVAE code: 3"`
	Units    int `yaml:"units" want:"[1,65536]" doc:"units of the LSTM behind the mixing weights" source:"KVAE code: 50"`

	Convolutions int `yaml:"convolutions" want:"[0,6]" doc:"convolution layers, each of which halves the image in the encoder and doubles it in the decoder; 0: treat images as vectors. Not used for vectors" source:"KVAE code: 3"`
	Channels     int `yaml:"channels" want:"[1,4096]" doc:"channels of the convolutions" source:"KVAE code: 32"`

	Hidden        int `yaml:"hidden" want:"[1,65536]" doc:"width of the hidden layers, for vectors"`
	Blocks        int `yaml:"blocks" want:"[0,4]" doc:"residual blocks of encoder and decoder, for vectors; 0: one dense layer"`
	EncoderHidden int `yaml:"encoder_hidden" want:"[0,65536]" doc:"width of the encoder, for vectors; 0: as hidden"`

	Emission   statespace.Density `yaml:"emission" values:"gaussian bernoulli" doc:"density of an observation given a"`
	EmissionSD statespace.SD      `yaml:"emission_sd" values:"state constant" doc:"standard deviation of a Gaussian emission: a function of a, or one learned constant per dimension"`

	TransitionVariance float64 `yaml:"transition_variance" want:"(0,1000000]" doc:"variance Q of the state transition, in every dimension" source:"KVAE code: 0.08"`
	CodeVariance       float64 `yaml:"code_variance" want:"(0,1000000]" doc:"variance R of the code given the state, in every dimension; also the largest variance of the encoder" source:"KVAE code: 0.03"`
	InitialVariance    float64 `yaml:"initial_variance" want:"(0,1000000]" doc:"variance of the first state, in every dimension" source:"KVAE code: 20"`

	Anneal Anneal `yaml:"anneal" doc:"the stages of training"`
}

// DefaultSettings are those of the authors.
func DefaultSettings() *Settings {
	return &Settings{
		Latent: 4, Switches: 3, Units: 50, Convolutions: 3, Channels: 32, Hidden: 128,
		Emission: statespace.Gaussian, EmissionSD: statespace.StateSD,
		TransitionVariance: 0.08, CodeVariance: 0.03, InitialVariance: 20,
		Anneal: Anneal{MixingFrom: 1570, Reconstruction: 0.3},
	}
}

var (
	_ model.Settings = (*Settings)(nil)
	_ model.Checker  = (*Settings)(nil)
	_ model.Choosing = (*Settings)(nil)
	_ model.Ignoring = (*Settings)(nil)
)

// Choose predicts images as the authors do: by the path of the means, which is what a single rollout is.
func (s *Settings) Choose(env string) map[string]string {
	if env == "ball" {
		return map[string]string{"eval.samples": "1"}
	}
	return nil
}

// New builds the model that the settings describe.
func (s *Settings) New(d model.Data, key rng.Key) (model.Model, error) { return New(s, d, key), nil }

// convolves reports whether observations of this size are encoded by convolutions.
func (s *Settings) convolves(image [3]int) bool { return s.Convolutions > 0 && image != [3]int{} }

// codes is the number of dimensions of a. Unless it is set it is 2 for images and that of the observation, at most
// 64, for vectors.
func (s *Settings) codes(d model.Data) int {
	switch {
	case s.Code > 0:
		return s.Code
	case d.Image != [3]int{}:
		return 2
	}
	return min(d.NX, 64)
}

// Describe names the parts.
func (s *Settings) Describe() model.Description {
	return model.Description{
		Text:  fmt.Sprintf("Kalman filter and smoother behind an auto-encoder, %d systems mixed by an LSTM", s.Switches),
		Bound: "ELBO with the reconstruction's weight 1 and the states integrated out by the Kalman filter", Variant: "kvae",
	}
}

// Check returns what does not fit together: beside the faults of an emission, images that cannot be halved as
// often as there are convolutions, and convolutions that would decode to other than binary pixels.
func (s *Settings) Check(setup model.Setup) []model.Fault {
	faults := statespace.Check(setup, 1, s.Emission, s.EmissionSD)
	if !s.convolves(setup.Image) {
		return faults
	}
	if unit := 1 << s.Convolutions; setup.Image[0]%unit != 0 || setup.Image[1]%unit != 0 {
		faults = append(faults, model.Faultf([]string{"model.convolutions", "env.kind"},
			"use fewer, or 0 for residual networks",
			"%d convolutions halve an image as often, and one of %d×%d pixels cannot be", s.Convolutions, setup.Image[0],
			setup.Image[1]))
	}
	if s.Emission != statespace.Bernoulli {
		faults = append(faults, model.Faultf([]string{"model.emission", "model.convolutions"},
			"use bernoulli, or model.convolutions=0",
			"convolutions decode to binary pixels"))
	}
	return faults
}

// Ignored returns the settings without effect: the codec is either convolutional or residual, and a single system has
// the weight 1.
func (s *Settings) Ignored(setup model.Setup) []model.Fault {
	var faults []model.Fault
	if s.Switches == 1 {
		for _, key := range []string{"model.units", "anneal.mixing_from"} {
			faults = append(faults, model.Faultf([]string{key, "model.switches"}, "leave it out, or use more systems",
				"a single system is mixed with no other"))
		}
	}
	ignored := func(hint, reason string, keys ...string) {
		for _, key := range keys {
			faults = append(faults, model.Faultf([]string{key, "model.convolutions", "env.kind"}, hint, "%s", reason))
		}
	}
	switch {
	case s.convolves(setup.Image):
		ignored("leave it out, or set model.convolutions=0", "images are encoded by convolutions, not by residual networks",
			"model.hidden", "model.blocks", "model.encoder_hidden")
	case s.Convolutions == 0:
		ignored("leave it out, or set model.convolutions", "there are no convolutions with model.convolutions=0",
			"model.channels")
	case setup.Data.NX > 0, setup.Env == "files": // also of images, whose shape no model is told
		ignored("leave it out", "observations of env.kind="+setup.Env+" are vectors, which have no convolutions",
			"model.convolutions", "model.channels")
	}
	return faults
}
