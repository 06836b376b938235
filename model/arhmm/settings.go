package arhmm

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is the autoregressive hidden Markov model as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "arhmm", Doc: "autoregressive hidden Markov model, by expectation maximisation",
		Settings: func() model.Settings { return DefaultSettings() },
	}
}

// Noise says whether regimes share the covariance of the noise.
type Noise string

// The noises.
const (
	Own    Noise = "own"    // one for each regime
	Common Noise = "common" // one for all regimes
)

// First says which distribution the first regime has.
type First string

// The distributions.
const (
	Free       First = "free"       // π is estimated from the first regimes
	Stationary First = "stationary" // π = π P, which the transitions decide
)

// Settings are the keys of the family.
type Settings struct {
	Switches   int     `yaml:"switches" want:"[1,256]" doc:"regimes K"`
	Order      int     `yaml:"order" want:"[0,64]" doc:"autoregressive lags; 0: each regime has a mean and the effect of the controls"`
	Past       int     `yaml:"past_controls" want:"[0,63]" was:"0" doc:"number of earlier steps whose controls are used, besides the present ones; less than the number of lags"`
	Noise      Noise   `yaml:"noise" values:"own common" doc:"noise covariance: one per regime, or one for all regimes"`
	First      First   `yaml:"first" values:"free stationary" was:"free" doc:"distribution of the first regime: free, or the stationary one of the transitions"`
	Resolution float64 `yaml:"resolution" want:"(0,1]" doc:"smallest standard deviation of the noise, as a share of each channel's standard deviation; a tenth of what one autoregression leaves, if that is less"`
	Chains     int     `yaml:"chains" want:"[1,1024]" doc:"chains, each with its own start; the most likely chain is used"`
	Sweeps     int     `yaml:"sweeps" want:"[1,10000000]" doc:"sweeps (EM steps) per chain"`
	Exchange   int     `yaml:"exchange" want:"[1,10000000]" doc:"sweeps of a chain between exchanges with the coordinator; must divide sweeps"`
}

// DefaultSettings are three regimes of one lag.
func DefaultSettings() *Settings {
	return &Settings{
		Switches: 3, Order: 1, Noise: Own, First: Free, Resolution: 1e-3, Chains: 5, Sweeps: 100, Exchange: 50,
	}
}

var (
	_ model.Sweeping = (*Settings)(nil)
	_ model.Checker  = (*Settings)(nil)
	_ model.Ignoring = (*Settings)(nil)
)

// Check refuses controls from before the first step. C past controls need more than C lags: then every control
// that counts is one of the recording. It also refuses predictions from fewer observations than lags.
func (s *Settings) Check(setup model.Setup) []model.Fault {
	var faults []model.Fault
	if s.Past > 0 && s.Past >= s.Order {
		faults = append(faults, model.Faultf([]string{"model.past_controls", "model.order"},
			fmt.Sprintf("e.g. model.order=%d", s.Past+1), "%d past controls need more lags than %d", s.Past, s.Order))
	}
	if w := setup.FilterWindow; w != 0 && w < s.Order {
		faults = append(faults, model.Faultf([]string{"eval.filter_window", "model.order"}, "0 filters the whole past",
			"%d is shorter than the %d lags", w, s.Order))
	}
	return faults
}

// Ignored returns what says nothing of a single regime, or of data without controls.
func (s *Settings) Ignored(setup model.Setup) []model.Fault {
	var faults []model.Fault
	if s.Switches == 1 {
		ignored := func(key, reason string) {
			faults = append(faults, model.Faultf([]string{key, "model.switches"}, "leave it out", "%s", reason))
		}
		ignored("model.noise", "a single regime shares its noise with no other")
		ignored("model.first", "a single regime is always the first")
		ignored("eval.filter_window", "a single regime predicts from its lags alone, whatever was before them")
	}
	if setup.Data.NX > 0 && setup.Data.NU == 0 {
		faults = append(faults, model.Faultf([]string{"model.past_controls", "env.kind"}, "leave it out",
			"env.kind=%s has no controls", setup.Env))
	}
	return faults
}

// SweepPlan says how the chains work.
func (s *Settings) SweepPlan() model.Sweeps {
	return model.Sweeps{Chains: s.Chains, Total: s.Sweeps, Exchange: s.Exchange}
}

// Describe names the sizes.
func (s *Settings) Describe() model.Description {
	lags := fmt.Sprintf("%d lags", s.Order)
	if s.Past > 0 {
		lags += fmt.Sprintf(" and %d past controls", s.Past)
	}
	return model.Description{Text: fmt.Sprintf("%d regimes with %s, %d starts of %d steps of EM", s.Switches, lags,
		s.Chains, s.Sweeps)}
}

// New returns the model before it is fitted. It draws nothing: key is for the starts of the chains.
func (s *Settings) New(data model.Data, key rng.Key) (model.Model, error) {
	d := dims{K: s.Switches, D: data.NX, Du: data.NU, L: s.Order, C: s.Past}
	d.P = d.L*d.D + (d.C+1)*d.Du + 1
	return &Model{
		dims: d, common: s.Noise == Common, stationary: s.First == Stationary, resolution: s.Resolution, key: key,
		kept: mostKept,
	}, nil
}

// Model is an autoregressive hidden Markov model. It has no parameters to differentiate.
type Model struct {
	dims
	common     bool    // all Q_k are one
	stationary bool    // π is that of P
	resolution float64 // see measure and lower
	kept       int     // most edges of all gaps of the recordings
	key        rng.Key
	best       *Forecaster // of the most likely chain that was installed
}

var (
	_ model.Fitter      = (*Model)(nil)
	_ model.Forecasting = (*Model)(nil)
)

// Params are none: nothing is differentiated.
func (m *Model) Params() *autodiff.Params { return autodiff.NewParams() }

// Terms are those of the parameters before a sweep.
func (m *Model) Terms() []model.Term {
	return []model.Term{
		{Name: "loss", Label: "negative log likelihood", Short: "loss", Unit: "nats per time step"},
		{Name: "switching", Label: "share of steps at which the regime changes", Short: "switch", Unit: "of the steps"},
	}
}

// Layout lists the parts of the state of a chain, which do not depend on the recordings.
func (m *Model) Layout([]model.Batch) []model.Part { return m.parts() }

// NewChain returns a chain that starts, or goes on from a state. See newChain for the errors.
func (m *Model) NewChain(recordings []model.Batch, index int, state []float64) (model.Chain, error) {
	return newChain(m, recordings, index, state)
}

// Install takes the chain of the highest likelihood, the first of equal ones. It copies it. Nil states are those
// of chains that have not begun; it returns ErrState if there is no other, or one is no state, and ErrNumeric if a
// noise cannot be factored.
func (m *Model) Install(states [][]float64) error {
	m.best = nil
	var best params
	for i, state := range states {
		if state == nil {
			continue
		}
		if len(state) != m.size() {
			return fmt.Errorf("%w: chain %d has %d values, want %d", ErrState, i, len(state), m.size())
		}
		p := m.view(append([]float64(nil), state...))
		if best.progress == nil || p.progress[1] > best.progress[1] {
			best = p
		}
	}
	if best.progress == nil {
		return fmt.Errorf("%w: no chain has begun", ErrState)
	}
	s, err := newSystem(m.dims, best)
	if err != nil {
		return err
	}
	m.best = &Forecaster{passes: newPasses(s)}
	return nil
}

// NewForecaster returns the Forecaster of the most likely chain; nil before Install.
func (m *Model) NewForecaster() model.Forecaster {
	if m.best == nil {
		return nil
	}
	return m.best.Clone()
}
