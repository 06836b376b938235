package slds

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/categorical"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is the switching linear dynamical system as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "slds", Doc: "deep switching linear dynamical system",
		Settings: func() model.Settings { return DefaultSettings() },
	}
}

// Settings are the keys of the family. A source is Becker-Ehmck et al. (2019), or the authors' published code of
// the predecessor of the model, which settles what the paper leaves open. With switching=categorical they describe
// a model of package categorical, and with several bodies one over each body.
type Settings struct {
	Switching           Switching             `yaml:"switching" values:"concrete normal deterministic categorical" doc:"distribution of the switch: concrete (relaxed categorical), normal (Gaussian, mapped to weights), deterministic (weights are a function of the past; an ablation), or categorical (discrete, summed out exactly)" source:"paper, section Inference"`
	Weights             statespace.Weights    `yaml:"weights" values:"softmax sigmoid limited" doc:"mixing weights of the base systems; sigmoid with concrete is the Binary Concrete; limited: sigmoid, scaled down where the sum exceeds 1" source:"paper, appendix On Scaling Issues"`
	Latent              int                   `yaml:"latent" want:"[1,4096]" doc:"dimensions of the latent state z" source:"paper, FHN: 4"`
	Switches            int                   `yaml:"switches" want:"[1,4096]" doc:"base systems M, also the dimension of the switch s" source:"paper, FHN: 8"`
	Bodies              string                `yaml:"bodies" was:"\"1\"" doc:"bodies in an observation, each with its own state (model.latent) and switch; networks and base systems are shared. Either their number, if channels are ordered by body, or the channels of each, counted from 1, with its controls after a colon: 1,2:1/3,4:2"`
	Interactions        int                   `yaml:"interactions" was:"0" want:"[0,4096]" doc:"base systems of what another body does to a body, which a switch of their own chooses for every pair of bodies; 0: another body only changes which systems move a body"`
	Hidden              int                   `yaml:"hidden" want:"[1,65536]" doc:"width of the hidden layers" source:"paper, FHN: 128"`
	Blocks              int                   `yaml:"blocks" want:"[0,4]" doc:"residual blocks of encoder, initial network and decoder (the switch transition has at most 1); 0: one dense layer" source:"paper, FHN: one dense layer; others: 2"`
	Skip                bool                  `yaml:"skip" was:"false" doc:"add linear maps in parallel to encoder, initial network and decoder"`
	EncoderHidden       int                   `yaml:"encoder_hidden" want:"[0,65536]" doc:"width of the encoder; 0: as hidden"`
	Measurement         Measurement           `yaml:"measurement" values:"lstm mlp" doc:"inference of the switch: a backward LSTM over the future, or an MLP on the present (filtering)" source:"paper, section Inference"`
	MeasurementControls bool                  `yaml:"measurement_controls" doc:"feed the controls to the switch measurement"`
	Initial             statespace.InitialNet `yaml:"initial" values:"mlp lstm" was:"mlp" doc:"network that reads the first observations: one for all of them, or one for each followed by a backward LSTM" source:"paper, appendix Network Architecture: optionally an LSTM"`
	InitialObservations int                   `yaml:"initial_observations" want:"[1,1024]" doc:"number of first observations from which the initial state is inferred" source:"paper: 3 or 4"`
	Emission            statespace.Density    `yaml:"emission" values:"gaussian bernoulli" doc:"density of an observation given z"`
	EmissionSD          statespace.SD         `yaml:"emission_sd" only:"model.emission=gaussian" values:"state constant" doc:"standard deviation of the Gaussian emission: a function of z, or one learned constant per dimension" source:"authors' code: state"`
	EmissionFloor       float64               `yaml:"emission_floor" only:"model.emission=gaussian" was:"1e-05" want:"(0,1]" doc:"least variance of the Gaussian emission; its root is added to the standard deviation" source:"authors' code: 1e-5"`
	Residual            bool                  `yaml:"residual" doc:"transition z + A z + B u instead of A z + B u" source:"authors' code: true"`
	Offset              bool                  `yaml:"offset" was:"false" doc:"give the base systems a constant: A z + B u + c instead of A z + B u; c is the last row of a system in transition.B"`
	SwitchSD            float64               `yaml:"switch_sd" only:"model.switching=normal" was:"0" want:"[0,1]" doc:"initial standard deviations of a normal switch, in prior, inference and measurement; 0: those of random layers, about 0.7"`
	Rows                bool                  `yaml:"rows" only:"model.switching=categorical" was:"false" doc:"let the effect of state and controls on the next system depend on the current system; if false, it is the same for all, added to a transition matrix"`
	Preview             bool                  `yaml:"preview" only:"model.switching=categorical" was:"false" doc:"let the mixing weights that propose a state in inference see the present observation"`
	Durations           int                   `yaml:"durations" only:"model.switching=categorical" was:"0" want:"[0,1000]" doc:"let the probability that a regime ends depend on its age, up to this many steps, and be constant from then on; 0 or 1: it never depends on the age"`
	Start               Start                 `yaml:"start" only:"model.switching=categorical" was:"random" values:"random arhmm" doc:"what training begins with: random parameters, or an autoregressive hidden Markov model of the training recordings, fitted by EM before the first update"`
	Gate                bool                  `yaml:"gate" only:"model.switching=concrete" doc:"learned gate between transition and measurement logits of a concrete switch" source:"paper, section Inference"`
	Hard                bool                  `yaml:"hard" only:"model.switching=concrete" doc:"discrete switches in the forward pass (straight-through gradients)" source:"paper: off, reported worse"`
	KLSamples           int                   `yaml:"kl_samples" only:"model.switching=concrete" want:"[1,1000]" doc:"samples of the Monte Carlo estimate of the switch KL" source:"paper, section Training: 10"`
	VarianceFloor       float64               `yaml:"variance_floor" want:"(0,1]" doc:"constant added to the mixed transition variances" source:"authors' code: 1e-5"`

	Anneal AnnealSettings  `yaml:"anneal" doc:"temperatures and weights of the switches"`
	Eval   RolloutSettings `yaml:"eval" doc:"the evaluation after training"`
}

// AnnealSettings are the temperature lambda*max(1, start*rate^floor(i/every)) of update i, or with until the same
// powers spread evenly up to that share of the horizon, and the weight of the switch KL.
type AnnealSettings struct {
	Posterior float64 `yaml:"posterior" only:"model.switching=concrete" want:"(0,100]" doc:"final temperature of the posterior over switches" source:"paper, appendix table of hyperparameters: 0.67"`
	Prior     float64 `yaml:"prior" only:"model.switching=concrete" want:"(0,100]" doc:"final temperature of the prior over switches; if it differs from that of the posterior, the switch KL cannot reach 0, and the plan states its minimum" source:"paper, appendix table of hyperparameters: 2"`
	Start     float64 `yaml:"start" only:"model.switching=concrete" want:"[1,1000000]" doc:"factor on both temperatures at the first update"`
	Rate      float64 `yaml:"rate" only:"model.switching=concrete" want:"(0,1]" doc:"factor on the temperatures" source:"paper, appendix table of hyperparameters: 0.95"`
	Every     uint64  `yaml:"every" only:"model.switching=concrete" want:"[1,1000000000]" doc:"updates between two multiplications by rate" source:"paper, appendix table of hyperparameters: 100"`
	Until     float64 `yaml:"until" only:"model.switching=concrete" was:"0" ends:"train.horizon" want:"[0,1]" doc:"share of train.horizon at which the temperatures reach their final values, in evenly spaced multiplications by rate; 0: determined by every"`
	KLStart   float64 `yaml:"kl_start" was:"1" want:"[0,1]" doc:"weight of the latent-state KL in the loss at the first update; it rises to 1 until kl_until"`
	KLUntil   float64 `yaml:"kl_until" was:"0" ends:"train.horizon" want:"[0,1]" doc:"share of train.horizon at which the weight of the latent-state KL reaches 1; 0: it is 1 from the start"`
	KLSwitch  float64 `yaml:"kl_switch" want:"[0,1000]" doc:"weight of the switch KL in the loss" source:"paper, section Training: 0.1"`
}

// mostMultiplications is how many multiplications by the rate an update can repeat: more take seconds.
const mostMultiplications = 1e8

// multiplications is about how many multiplications by the rate lead from the start to the final temperatures.
func (s AnnealSettings) multiplications() float64 {
	if s.Start <= 1 || s.Rate >= 1 {
		return 0
	}
	return math.Log(s.Start) / -math.Log(s.Rate)
}

// RolloutSettings say how forecasts are made.
type RolloutSettings struct {
	Rollout RolloutSwitch `yaml:"rollout" values:"sample mean mode" doc:"switch of a rollout: a sample of the prior, its noise-free value, or the most likely system"`
}

// DefaultSettings are those of the paper for the FitzHugh-Nagumo oscillator.
func DefaultSettings() *Settings {
	return &Settings{
		Switching: Concrete, Weights: statespace.Softmax, Latent: 4, Switches: 8, Bodies: "1", Hidden: 128,
		Measurement: LSTM, MeasurementControls: true, Initial: statespace.MLP, InitialObservations: 3,
		Emission: statespace.Gaussian, EmissionSD: statespace.StateSD, EmissionFloor: 1e-5, Residual: true, Start: Random,
		Gate: true, KLSamples: 10, VarianceFloor: 1e-5,
		Anneal: AnnealSettings{
			Posterior: 0.67, Prior: 2, Start: 10, Rate: 0.95, Every: 100, KLStart: 1, KLSwitch: 0.1,
		},
		Eval: RolloutSettings{Rollout: RolloutSample},
	}
}

var (
	_ model.Settings = (*Settings)(nil)
	_ model.Checker  = (*Settings)(nil)
	_ model.Ignoring = (*Settings)(nil)
	_ model.Choosing = (*Settings)(nil)
)

// Choose is how a categorical switch is trained: states begin near what is seen, and the divergence has its whole
// weight only when encoder, decoder and systems agree on what they mean. On own data sizes and optimiser are those of a
// system of a few dimensions.
func (s *Settings) Choose(env string) map[string]string {
	if s.Switching != Categorical {
		return nil
	}
	chosen := map[string]string{
		"model.weights": string(statespace.Softmax), "model.skip": "true", "anneal.kl_start": "0.1",
		"anneal.kl_until": "0.3",
	}
	if s.Emission == statespace.Gaussian {
		chosen["model.emission_sd"] = string(statespace.ConstantSD)
	}
	if env == "files" {
		maps.Copy(chosen, map[string]string{
			"model.latent": "4", "model.hidden": "64", "model.blocks": "0", "train.batch": "32",
			"optim.rate": "0.005", "optim.schedule": "cosine", "optim.warmup": "100", "optim.final": "0.02",
			"optim.clip": "1",
		})
	}
	return chosen
}

// New builds the model that the settings describe: a Model or a categorical.Model, within statespace.Bodies if
// there are several. The error says which division into bodies or which size is impossible.
func (s *Settings) New(d model.Data, key rng.Key) (model.Model, error) {
	layout, err := statespace.NewLayout(s.Bodies, d.NX, d.NU)
	if err != nil {
		return nil, fmt.Errorf("divide the channels: %w", err)
	}
	one, err := s.one(layout, d.Horizon, key)
	if err != nil || layout.Bodies == 1 {
		return one, err
	}
	return statespace.NewBodies(one, layout), nil
}

// divided reports whether there are several bodies.
func (s *Settings) divided() bool {
	count, err := strconv.Atoi(strings.TrimSpace(s.Bodies)) // 01 is 1, too
	return err != nil || count != 1
}

// one is the model of a body, with the dimensions of a body. Schedules end at shares of the horizon, in updates.
func (s *Settings) one(l statespace.Layout, horizon uint64, key rng.Key) (statespace.Bodied, error) {
	dims := model.Dims{NZ: s.Latent, M: s.Switches}
	dims.NX, dims.NU = l.Each()
	if l.Bodies > 1 {
		dims.Bodies = l.Bodies
	}
	if s.Switching == Categorical {
		if s.Durations > 1 {
			dims.Ages = s.Durations
		}
		return categorical.New(s.categorical(dims, horizon), key), nil
	}
	m, err := New(s.config(dims, horizon), key)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// nets are the sizes that both kinds of models have.
func (s *Settings) nets(dims model.Dims) statespace.Nets {
	return statespace.Nets{
		Dims:   dims,
		Hidden: s.Hidden, EncoderHidden: cmp.Or(s.EncoderHidden, s.Hidden), Blocks: s.Blocks, Skip: s.Skip,
		Interactions:        s.Interactions,
		InitialObservations: s.InitialObservations, Initial: s.Initial, Emission: s.Emission, EmissionSD: s.EmissionSD,
		EmissionFloor: math.Sqrt(s.EmissionFloor),
	}
}

// warmup is the schedule of the divergences of h and z for a run of so many updates.
func (s *Settings) warmup(horizon uint64) statespace.Warmup {
	return statespace.Warmup{Start: s.Anneal.KLStart, End: uint64(s.Anneal.KLUntil * float64(horizon))}
}

// categorical is the model with a discrete switch.
func (s *Settings) categorical(dims model.Dims, horizon uint64) categorical.Config {
	return categorical.Config{
		Nets:     s.nets(dims),
		Residual: s.Residual, VarianceFloor: float32(s.VarianceFloor), Rows: s.Rows, Preview: s.Preview,
		Rollout: categorical.Rollout(s.Eval.Rollout), Warmup: s.warmup(horizon), Start: s.Start == FromARHMM,
	}
}

// config is the model with a relaxed, normal or deterministic switch.
func (s *Settings) config(dims model.Dims, horizon uint64) Config {
	return Config{
		Nets:      s.nets(dims),
		Switching: s.Switching, Weights: s.Weights,
		Measurement: s.Measurement, MeasurementControls: s.MeasurementControls,
		Residual: s.Residual, Offset: s.Offset, SwitchSD: s.SwitchSD,
		Gate: s.Gate, Hard: s.Hard,
		KLSamples: s.KLSamples, VarianceFloor: float32(s.VarianceFloor), Rollout: s.Eval.Rollout,
		Anneal: Anneal{
			Posterior: s.Anneal.Posterior, Prior: s.Anneal.Prior, Start: s.Anneal.Start,
			Rate: s.Anneal.Rate, Every: s.Anneal.Every, End: uint64(s.Anneal.Until * float64(horizon)),
			KLSwitch: s.Anneal.KLSwitch,
		},
		Warmup: s.warmup(horizon),
	}
}

// Describe names the variant, and another one that is worth trying.
func (s *Settings) Describe() model.Description {
	var others []string // without noise there are often so many systems that a random switch fails
	if other, ok := map[Switching]Switching{Concrete: Normal, Normal: Concrete, Categorical: Normal}[s.Switching]; ok {
		others = []string{"model.switching=" + string(other)}
	}
	text := fmt.Sprintf("%s switches with %s weights, %d systems", s.Switching, s.Weights, s.Switches)
	if s.Switching == Categorical {
		text = fmt.Sprintf("categorical switches, summed out, of %d systems", s.Switches)
		if s.Durations > 1 {
			text += fmt.Sprintf(" with durations up to %d steps", s.Durations)
		}
		if s.Start == FromARHMM {
			text += ", from an autoregressive HMM"
		}
	}
	if s.divided() {
		text += ", for each of the bodies " + s.Bodies
	}
	return model.Description{
		Text: text, Bound: s.bound(), Variant: string(s.Switching), Others: others,
	}
}

// bound says what the ELBO is.
func (s *Settings) bound() string {
	switch s.Switching {
	case Concrete:
		return "ELBO at the final temperatures, every divergence with weight 1"
	case Normal:
		return "ELBO, every divergence with weight 1"
	default:
		return "ELBO"
	}
}

// Check returns what does not fit together.
func (s *Settings) Check(setup model.Setup) []model.Fault {
	faults := statespace.Check(setup, s.InitialObservations, s.Emission, s.EmissionSD)
	fault := func(keys []string, hint, format string, args ...any) {
		faults = append(faults, model.Faultf(keys, hint, format, args...))
	}
	// The number of channels is not known before recordings are read: then the division is checked by New.
	if s.divided() && setup.Image != [3]int{} {
		fault([]string{"model.bodies", "env.kind"}, "leave it out", "an image is not divided into bodies")
	} else if _, err := statespace.NewLayout(s.Bodies, setup.Data.NX, setup.Data.NU); err != nil && setup.Data.NX > 0 {
		fault([]string{"model.bodies", "env.kind", "env.balls"}, "e.g. 2, or the channels of each: 1,2/3,4", "%s",
			strings.TrimPrefix(err.Error(), statespace.ErrBodies.Error()+": "))
	}
	if s.Weights == statespace.Softmax && s.Switches < 2 {
		fault([]string{"model.switches", "model.weights"}, "use at least 2, or model.weights=sigmoid",
			"softmax weights of a single system are constant")
	}
	if s.Switching == Concrete && s.Anneal.Until > 0 && s.Anneal.Rate == 1 && s.Anneal.Start > 1 {
		fault([]string{"anneal.until", "anneal.rate"}, "e.g. anneal.rate=0.97",
			"temperatures with anneal.rate=1 never reach their ends")
	} else if n := s.Anneal.multiplications(); s.Switching == Concrete && s.Anneal.Until > 0 && n > mostMultiplications {
		fault([]string{"anneal.until", "anneal.rate"}, "e.g. anneal.rate=0.97",
			"every update would follow %.2g multiplications by anneal.rate=%v to the final temperatures", n, s.Anneal.Rate)
	}
	if s.Hard && s.Switching != Concrete {
		fault([]string{"model.hard", "model.switching"}, "set model.switching=concrete or model.hard=false",
			"only a concrete switch can be discrete in the forward pass")
	}
	if s.Eval.Rollout == RolloutMode && s.Switching != Concrete && s.Switching != Categorical {
		fault([]string{"eval.rollout", "model.switching"}, "use mean",
			"only a concrete or categorical switch has a most likely system")
	}
	if s.Switching == Categorical && s.Weights != statespace.Softmax {
		fault([]string{"model.weights", "model.switching"}, "leave it out",
			"the weights of a categorical switch sum to 1")
	}
	if s.Switching == Categorical && s.Start == FromARHMM {
		faults = append(faults, s.checkStart(setup)...)
	}
	return faults
}

// checkStart returns what a start cannot begin from: it needs linear maps, and is of the sizes that EM is for.
func (s *Settings) checkStart(setup model.Setup) []model.Fault {
	var faults []model.Fault
	fault := func(keys []string, hint, format string, args ...any) {
		faults = append(faults, model.Faultf(append([]string{"model.start"}, keys...), hint, format, args...))
	}
	if s.Emission != statespace.Gaussian {
		fault([]string{"model.emission"}, "use model.start=random",
			"an autoregressive HMM is fitted to real values, not binary ones")
	}
	if !s.Skip {
		fault([]string{"model.skip"}, "set model.skip=true", "a start needs the linear maps beside the networks")
	}
	if s.Hidden < 2*s.Latent {
		fault([]string{"model.hidden", "model.latent"}, fmt.Sprintf("e.g. model.hidden=%d", 2*s.Latent),
			"a start needs at least two hidden units for each of the %d latent dimensions", s.Latent)
	}
	if s.Latent > categorical.MostStarted {
		fault([]string{"model.latent"}, "use model.start=random, or fewer", "a start is for at most %d latent dimensions",
			categorical.MostStarted)
	}
	if s.Switches > categorical.MostStarted {
		fault([]string{"model.switches"}, "use model.start=random, or fewer", "a start is for at most %d systems",
			categorical.MostStarted)
	}
	if s.divided() {
		fault([]string{"model.bodies"}, "use model.start=random", "a start is fitted to one body")
	}
	if n := setup.Data.NX; n > categorical.MostEmbedded {
		fault([]string{"env.kind", "env.observations"}, "use model.start=random",
			"a start is for at most %d channels, and there are %d", categorical.MostEmbedded, n)
	}
	return faults
}

// Ignored returns the settings without effect.
func (s *Settings) Ignored(setup model.Setup) []model.Fault {
	var faults []model.Fault
	ignored := func(key, by, hint, format string, args ...any) {
		faults = append(faults, model.Faultf([]string{key, by}, hint, format, args...))
	}
	if s.Switching == Deterministic {
		for _, key := range []string{"model.measurement", "model.measurement_controls", "anneal.kl_switch"} {
			ignored(key, "model.switching", "leave it out, or use another model.switching",
				"a deterministic switch is not inferred and has no divergence")
		}
		ignored("eval.rollout", "model.switching", "leave it out, or use another model.switching",
			"a deterministic switch has nothing to draw: every rollout has the same weights after the same states")
	}
	if s.Switching == Categorical {
		for _, key := range []string{
			"model.measurement", "model.measurement_controls", "model.offset", "anneal.kl_switch",
		} {
			ignored(key, "model.switching", "leave it out, or use another model.switching",
				"a categorical switch is summed out, and its systems have a constant")
		}
	}
	if !s.divided() {
		ignored("model.interactions", "model.bodies", "leave it out, or divide the channels into bodies",
			"a single body has no other to act on it")
	}
	if s.Anneal.KLUntil == 0 {
		ignored("anneal.kl_start", "anneal.kl_until", "leave it out, or set anneal.kl_until",
			"with anneal.kl_until=0 the weight is 1 from the beginning")
	}
	if setup.Data.NX > 0 && setup.Data.NU == 0 {
		ignored("model.measurement_controls", "env.kind", "leave it out", "env.kind=%s has no controls", setup.Env)
	}
	switch {
	case s.Switching != Concrete:
		// The tags of the keys say so.
	case s.Anneal.Rate >= 1:
		ignored("anneal.every", "anneal.rate", "leave it out, or set anneal.rate below 1",
			"with anneal.rate=1 the temperatures never move")
	case s.Anneal.Start <= 1:
		for _, key := range []string{"anneal.rate", "anneal.every", "anneal.until"} {
			ignored(key, "anneal.start", "leave it out, or set anneal.start above 1",
				"with anneal.start=1 the temperatures are final from the beginning")
		}
	case s.Anneal.Until > 0:
		ignored("anneal.every", "anneal.until", "leave it out, or set anneal.until=0",
			"anneal.until spreads the multiplications evenly, whatever anneal.every is")
	}
	return faults
}
