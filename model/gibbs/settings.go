package gibbs

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// RSLDS is the recurrent SLDS as a value of model.kind.
func RSLDS() model.Family {
	return model.Family{
		Name: "rslds", Doc: "recurrent switching linear dynamical system, by Gibbs sampling",
		Settings: func() model.Settings { return DefaultSettings(false) },
	}
}

// TrSLDS is the tree-structured SLDS as a value of model.kind.
func TrSLDS() model.Family {
	return model.Family{
		Name: "trslds", Doc: "tree-structured switching linear dynamical system, by Gibbs sampling",
		Settings: func() model.Settings { return DefaultSettings(true) },
	}
}

// Emission is how observations come from the state.
type Emission string

// The emissions.
const (
	Identity Emission = "identity" // y = x + noise
	Linear   Emission = "linear"   // y = C x + d + noise
)

// Controls says what the model makes of the controls of the data.
type Controls string

// What the model makes of controls.
const (
	Given    Controls = "given"    // W has columns B for them
	Withheld Controls = "withheld" // Du = 0: what they do is noise of the dynamics
)

// Keep says what is kept of the sweeps after the burn-in.
type Keep string

// What is kept.
const (
	KeepParameters Keep = "parameters" // their mean, and draws
	KeepRegimes    Keep = "regimes"    // also how often each step of the recordings had each regime
)

// Combine says how chains are weighed.
type Combine string

// How chains are weighed in a forecast.
const (
	CombineEqual   Combine = "equal"
	CombineStacked Combine = "stacked" // by how well they forecast the recordings, 1 to 32 steps ahead
)

// Start says what a chain begins with.
type Start string

// The starts.
const (
	StartRandom Start = "random" // a tree of linear systems, fitted from the root down from random hyperplanes
	StartARHMM  Start = "arhmm"  // the regimes of an autoregressive hidden Markov model
)

// Settings are the keys of both families. Sources are Nassar et al. (2019) and their published code.
type Settings struct {
	Leaves   int      `yaml:"leaves" want:"[1,256]" doc:"regimes K, the leaves of the tree" source:"published code, FHN: 4"`
	Shape    Shape    `yaml:"shape" values:"balanced caterpillar" doc:"shape of the tree: balanced, or a caterpillar (stick-breaking)" source:"published code, FHN: balanced; rSLDS: caterpillar"`
	Emission Emission `yaml:"observation" values:"identity linear" doc:"observation model: y = x, or y = C x + d with C and d sampled; both with noise" source:"published code, FHN: identity"`
	Latent   int      `yaml:"latent" only:"model.observation=linear" want:"[1,256]" doc:"dimensions of the state x; with identity, those of the observation"`
	Controls Controls `yaml:"controls" was:"given" values:"given withheld" doc:"give the controls to the model; if not, their effect is noise to it. With env.kind=fhn the default is withheld: the published models never see the stimulus" source:"paper, FHN: withheld"`
	Sweeps   int      `yaml:"sweeps" want:"[2,10000000]" doc:"sweeps per chain" source:"paper: 1000"`
	BurnIn   int      `yaml:"burn_in" want:"[0,10000000]" doc:"burn-in: first sweeps, which are discarded"`
	Chains   int      `yaml:"chains" want:"[1,1024]" doc:"chains, each with its own start"`
	Exchange int      `yaml:"exchange" want:"[1,10000000]" doc:"sweeps of a chain between exchanges with the coordinator; must divide sweeps"`
	Draws    int      `yaml:"draws" want:"[0,100000]" doc:"most parameter draws that each chain keeps for forecasts"`

	Keep    Keep    `yaml:"keep" was:"parameters" values:"parameters regimes" doc:"what to keep after the burn-in: the parameters, or also how often each step of the recordings had each regime"`
	Combine Combine `yaml:"combine" was:"equal" values:"equal stacked" doc:"weights of the chains in a forecast: equal, or stacked (those that forecast the recordings best)"`

	Start Start `yaml:"start" was:"random" values:"random arhmm" doc:"what each chain begins with: a tree of linear systems, fitted from the root down from random hyperplanes, or the regimes of an autoregressive hidden Markov model, fitted by EM"`

	Prior PriorSettings   `yaml:"prior" doc:"the constants of the prior"`
	Eval  RolloutSettings `yaml:"eval" doc:"the evaluation after training"`

	hierarchical bool
}

// PriorSettings are the constants of the prior. They suit data whose dimensions vary by about one.
type PriorSettings struct {
	Start      float64 `yaml:"start" want:"(0,1e12]" doc:"variance of the first state" source:"published code: 20"`
	Plane      float64 `yaml:"plane" want:"(0,1e12]" doc:"variance of the entries of a hyperplane" source:"published code: 1e4"`
	Diagonal   float64 `yaml:"diagonal" want:"[-10,10]" doc:"prior mean of A, as a multiple of the identity" source:"published code: 0.99"`
	Dynamics   float64 `yaml:"dynamics" want:"(0,1e12]" doc:"prior variance of [A B b] of a leaf, in units of its noise" source:"published code: 100"`
	Shrink     float64 `yaml:"shrink" only:"model.kind=trslds" want:"(0,1]" doc:"factor on this variance from a node of the tree to its children" source:"published code, FHN: 0.01"`
	Noise      float64 `yaml:"noise" want:"(0,1e12]" doc:"scale of the dynamics noise" source:"published code: 1e-8"`
	Emission   float64 `yaml:"emission" only:"model.observation=linear" want:"(0,1e12]" doc:"prior variance of C and d, in units of the observation noise" source:"published code: 100"`
	Measuring  float64 `yaml:"measuring" want:"(0,1e12]" doc:"scale of the observation noise" source:"published code: 1e-8"`
	Resolution float64 `yaml:"resolution" want:"(0,1]" doc:"smallest standard deviation of the observation noise, as a share of each dimension's standard deviation"`
}

// RolloutSettings say how forecasts are made.
type RolloutSettings struct {
	Rollout Rollout `yaml:"mean" values:"mode sample" doc:"mean of a forecast: the averaged dynamics of the most likely leaf, or the average of noisy paths" source:"paper: mode"`
}

// DefaultSettings are those of the published experiments on the FitzHugh–Nagumo oscillator.
func DefaultSettings(hierarchical bool) *Settings {
	c := DefaultConfig(hierarchical)
	return &Settings{
		Leaves: c.Leaves, Shape: c.Shape, Emission: Identity, Latent: c.Latent, Controls: Given,
		Sweeps: 1000, BurnIn: 500, Chains: 5, Exchange: 50, Draws: 32, Keep: KeepRegimes, Combine: CombineStacked,
		Start:        StartRandom,
		Prior:        PriorSettings(c.Prior),
		Eval:         RolloutSettings{Rollout: RolloutMode},
		hierarchical: hierarchical,
	}
}

var (
	_ model.Sweeping = (*Settings)(nil)
	_ model.Checker  = (*Settings)(nil)
	_ model.Choosing = (*Settings)(nil)
	_ model.Ignoring = (*Settings)(nil)
)

// Ignored returns the settings without effect: there is one tree of two leaves and none of one, which has all steps
// from the start and no node above it, and controls that do not exist cannot be withheld.
func (s *Settings) Ignored(setup model.Setup) []model.Fault {
	var faults []model.Fault
	ignored := func(key, by, format string, args ...any) {
		faults = append(faults, model.Faultf([]string{key, by}, "leave it out", format, args...))
	}
	if s.Leaves <= 2 {
		ignored("model.shape", "model.leaves", "trees of %d leaves have one shape", s.Leaves)
	}
	if s.Leaves == 1 {
		ignored("prior.plane", "model.leaves", "a single leaf is divided by no hyperplane")
		ignored("model.start", "model.leaves", "a single leaf has all steps, whatever a chain begins with")
		if s.hierarchical {
			ignored("prior.shrink", "model.leaves", "a single leaf has no node above it")
		}
	}
	if setup.Data.NX > 0 && setup.Data.NU == 0 {
		ignored("model.controls", "env.kind", "env.kind=%s has no controls", setup.Env)
	}
	return faults
}

// Choose withholds the stimulus of the oscillator, as Nassar et al. (2019) and Becker-Ehmck et al. (2019) do.
func (s *Settings) Choose(env string) map[string]string {
	if env == "fhn" {
		return map[string]string{"model.controls": string(Withheld)}
	}
	return nil
}

// Config is the model that the settings describe for observations of the given dimension. With the identity the
// state has as many dimensions, whatever Latent says.
func (s *Settings) Config(observed int) Config {
	c := Config{
		Shape: s.Shape, Hierarchical: s.hierarchical, Leaves: s.Leaves, Latent: s.Latent,
		Identity: s.Emission == Identity, Told: s.Start == StartARHMM, Prior: Prior(s.Prior),
	}
	if c.Identity {
		c.Latent = observed
	}
	return c
}

// Schedule is how long each chain runs.
func (s *Settings) Schedule() Schedule {
	return Schedule{
		Sweeps: s.Sweeps, BurnIn: s.BurnIn, Draws: s.Draws, Stacked: s.Combine == CombineStacked,
		Regimes: s.Keep == KeepRegimes,
	}
}

// SweepPlan says how the chains work.
func (s *Settings) SweepPlan() model.Sweeps {
	return model.Sweeps{Chains: s.Chains, Total: s.Sweeps, Exchange: s.Exchange}
}

// New returns the model before it is fitted. The error is an ErrSchedule or an ErrConfig.
func (s *Settings) New(d model.Data, key rng.Key) (model.Model, error) {
	if err := s.Schedule().validate(); err != nil {
		return nil, err
	}
	c := s.Config(d.NX)
	m := &Model{
		cfg: c, schedule: s.Schedule(), observed: d.NX, controls: d.NU, given: d.NU, key: key,
		rollout: s.Eval.Rollout,
	}
	if s.Controls == Withheld {
		m.controls = 0
	}
	if err := c.validate(Data{Observed: d.NX, Controls: m.controls}); err != nil {
		return nil, err
	}
	return m, nil
}

// Describe names the variant.
func (s *Settings) Describe() model.Description {
	text := fmt.Sprintf("%d regimes on a %s tree, %d chains of %d sweeps", s.Leaves, s.Shape, s.Chains, s.Sweeps)
	if s.Controls == Withheld {
		text += ", controls withheld"
	}
	return model.Description{Text: text}
}

// mostIdentity is the largest number of latent dimensions without a projection. A sweep factors a matrix of that order
// for each step.
const mostIdentity = 64

// Check returns what does not fit together: too many dimensions for a state that is the observation, and a
// schedule that keeps nothing, or more than there is or can be counted.
func (s *Settings) Check(setup model.Setup) []model.Fault {
	var faults []model.Fault
	if n := setup.Data.NX; s.Emission == Identity && n > mostIdentity {
		faults = append(faults, model.Faultf([]string{"model.observation", "env.kind"},
			"set model.observation=linear and model.latent",
			"with y = x the %d observed dimensions would be as many latent ones, and at most %d are of use", n, mostIdentity))
	}
	if s.BurnIn >= s.Sweeps {
		faults = append(faults, model.Faultf([]string{"model.burn_in", "model.sweeps"},
			"leave as many sweeps as are to be averaged",
			"a burn-in of %d leaves none of %d sweeps", s.BurnIn, s.Sweeps))
	} else if kept := s.Sweeps - s.BurnIn; s.Draws > kept {
		faults = append(faults, model.Faultf([]string{"model.draws", "model.sweeps", "model.burn_in"},
			fmt.Sprintf("set model.draws=%d, or use more sweeps", kept),
			"%d draws are more than the %d sweeps after the burn-in", s.Draws, kept))
	} else if s.Keep == KeepRegimes && kept > mostKept {
		faults = append(faults, model.Faultf([]string{"model.keep", "model.sweeps", "model.burn_in"},
			"set model.keep=parameters, or a longer burn-in",
			"regimes are counted over at most %d sweeps, and %d are left after the burn-in", mostKept, kept))
	}
	return faults
}

// Model is an rSLDS or TrSLDS that is fitted by sampling. It has no parameters to differentiate: a Fit per chain does
// the work, and their posteriors forecast.
type Model struct {
	cfg                Config
	schedule           Schedule
	observed, controls int // of the model
	given              int // controls of the data: those of the model, unless they are withheld
	key                rng.Key
	rollout            Rollout

	// Of the states that were installed.
	posteriors []*Posterior
	traces     [][]float64 // [chains][sweeps done, scalars]
	tails      [][]float64 // what depends on the recordings
	weights    []float64   // of the chains; nil: equal
	forecaster model.Forecaster
}

// Params are none: nothing is differentiated.
func (m *Model) Params() *autodiff.Params { return autodiff.NewParams() }

// NewFit returns the fit of one chain, whose start depends on its number. See the function NewFit.
func (m *Model) NewFit(recordings []Recording, chain uint32) (*Fit, error) {
	return NewFit(m.cfg, m.schedule, m.data(recordings), m.key, chain)
}

// RestoreFit returns the fit of a chain of which Fit.State returned the tensors. See the function RestoreFit.
func (m *Model) RestoreFit(recordings []Recording, chain uint32, state []Tensor) (*Fit, error) {
	return RestoreFit(m.cfg, m.schedule, m.data(recordings), m.key, chain, state)
}

// data are recordings as the model sees them: without controls if they are withheld. The recordings of the caller
// are not changed.
func (m *Model) data(recordings []Recording) Data {
	if m.controls != m.given {
		recordings = slices.Clone(recordings)
		for i := range recordings {
			recordings[i].U = nil
		}
	}
	return Data{Observed: m.observed, Controls: m.controls, Recordings: recordings}
}

// FromBatch returns the sequences of a batch as recordings, copies in float64, with NaN for what was not seen.
func FromBatch(b model.Batch) []Recording {
	recordings := make([]Recording, b.B)
	for n := range recordings {
		recordings[n].Y, recordings[n].U = b.Sequence(n)
	}
	return recordings
}
