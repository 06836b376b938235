package model

import (
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is a family of models: a value that model.kind may have. One line in package registry, or in switchyard.Own,
// registers it. Everything else (training, resuming, evaluation, the page) knows a family only by the interfaces of its
// settings and models.
type Family struct {
	Name string // one word: the value of model.kind
	Doc  string // what it is, in one line
	// Settings returns new settings, all at their defaults.
	Settings func() Settings
}

// Settings are the keys of a configuration that only one family has. Their type is a pointer to a struct. Each field
// with a yaml tag is a key of the section model; a nested struct with a yaml tag is a section of its own. The other
// tags describe the key: doc (meaning and unit; every key has one), want (the range of a number, as [0,1)), values (the
// words that a text may be), source (the place in the paper that has the value), only (key=value of another key,
// without which this one has no effect), was (for a key that is younger than runs: the value that they had). Types are
// int, uint64, float64, bool, string and time.Duration.
type Settings interface {
	// New builds a model with its initial parameters, which are a function of settings, data and key. The error says
	// which setting is wrong.
	New(d Data, key rng.Key) (Model, error)
	// Describe says for people what the settings choose.
	Describe() Description
}

// Checker are Settings with conditions between several keys.
type Checker interface {
	// Check returns the conditions that do not hold. Each setting is within its own range.
	Check(s Setup) []Fault
}

// Ignoring are Settings of which some have no effect beside others, for more reasons than their only tags say.
type Ignoring interface {
	// Ignored returns the settings without effect, each as a fault: the key, then those that make it so. It is a fault
	// only where a user has changed the key.
	Ignored(s Setup) []Fault
}

// Choosing are Settings with values that suit an environment better than their defaults do.
type Choosing interface {
	Settings
	// Choose returns the values of keys of the family, and of keys that all runs have, by path, for a kind of
	// environment. They hold in runs that begin, in place of defaults. A user's value has precedence, and so has
	// that of a preset whose own settings make the same choice. A configuration that is read back has the value of
	// before the key, or its default, if it lacks it.
	Choose(env string) map[string]string
}

// Fault is a conflict between settings that are each within their range.
type Fault = setting.Fault

// Faultf makes a fault of the settings with the given paths, e.g. model.hidden. The fault is reported at the first of
// them. The hint says what to do.
func Faultf(keys []string, hint, format string, args ...any) Fault {
	return setting.Faultf(keys, hint, format, args...)
}

// Data are the dimensions of what a model is trained on, and for how long.
type Data struct {
	NX    int    // observed
	NU    int    // controls; 0: none
	Image [3]int // height, width and channels of an observation, the last running fastest; zeros: it is no image
	// Horizon is the update at which schedules of the loss that end with the run are at their end; 0: there are none.
	Horizon uint64
}

// Setup is the context in which settings are checked.
type Setup struct {
	Env          string // the kind of environment
	Unit         bool   // observations lie between 0 and 1
	Image        [3]int // height, width and channels of an observation; zeros: it is no image
	Sequence     int    // time steps of a training sequence
	FilterWindow int    // time steps filtered before a prediction; 0: the whole past
	Data         Data   // zero while it is not known: recordings are read later
}

// Description describes the choice that settings make.
type Description struct {
	Text    string   // one line of the plan: variant and sizes
	Variant string   // one word for the names of runs; may be empty
	Others  []string // key=value settings for other variants that are worth trying next
	Bound   string   // what the evidence lower bound of a validation is, as Term.Bound has it; empty: the model has none
}

// Term is one of the values that a loss reports.
type Term struct {
	Name   string  // in files and metrics: one word, e.g. kl_state
	Label  string  // for people, e.g. KL of the state
	Short  string  // in a status line, e.g. kl_z
	Unit   string  // e.g. nats per step
	Weight float64 // its weight in the loss; 0 for the loss itself
	Bound  float64 // its weight in minus the evidence lower bound of a validation; 0 in all terms: the model has none
	Note   string  // what one must know to read it, e.g. the least value that it can have; may be empty

	// Validation says that only a validation has the value; a training step has 0.
	Validation bool

	// Detail says that the value is for files and charts, and is not shown in lines for people.
	Detail bool

	// Choice says of the entropy of UsageTerms what Choice of a Usage is.
	Choice bool

	// Remedy says of a divergence that is estimated by sampling what makes the estimate better. Such an estimate may be
	// negative, but hardly below −1 in the mean of a batch. Empty: the value is no such estimate.
	Remedy string
}

// ELBO is the evidence lower bound that the values of these terms say, if they are those of a validation:
// schedules are at their end, and every divergence has the weight 1, whatever its weight in the loss. known is
// false if the model has no bound. The sum has the same bits on every machine. Values are those of the terms, in
// their order; the bound is in nats per sequence and time step, as the terms are.
func ELBO(terms []Term, values []float32) (bound float64, known bool) {
	for i, t := range terms {
		if t.Bound != 0 {
			bound -= float64(t.Bound * float64(values[i]))
			known = true
		}
	}
	return bound, known
}

// TermNames are the names of terms.
func TermNames(terms []Term) []string {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.Name
	}
	return names
}
