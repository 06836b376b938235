package model

import (
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/rng"
)

// Family is a family of models: what model.kind may name. A family is registered by one line where all are listed, and
// everything else (training, resuming, evaluation, the page) knows it by what its settings and models can do.
type Family struct {
	Name string // a word, the value of model.kind
	Doc  string // what it is, in one line
	// Settings returns new settings, all at their defaults.
	Settings func() Settings
}

// Settings are the keys of a configuration that only one family has. Their type is a pointer to a struct. Each field with
// a yaml tag is a key of the section model; a nested struct with a yaml tag is a section of its own. The other tags are
// its description: doc (meaning and unit; every key has one), want (the range of a number, as [0,1)), values (the words
// that a text may be), source (where a paper's value stands), only (key=value of the key without which this one has no
// effect), was (for a key that is younger than runs: the value that they had). Types are int, uint64, float64, bool,
// string and time.Duration.
type Settings interface {
	// New builds a model with its initial parameters, which are a function of settings, data and key. The error says
	// which setting is wrong.
	New(d Data, key rng.Key) (Model, error)
	// Describe says for people what the settings choose.
	Describe() Description
}

// Checker are Settings of which not all values fit together.
type Checker interface {
	// Check returns what does not fit together; each setting is within its range.
	Check(s Setup) []Fault
}

// Fault is something that is wrong between settings that are each within their range.
type Fault = setting.Fault

// Faultf makes a fault of the settings with the given paths, e.g. model.hidden; the first is where it is shown. The hint
// says what to do.
func Faultf(keys []string, hint, format string, args ...any) Fault {
	return setting.Faultf(keys, hint, format, args...)
}

// Data are the dimensions of what a model is trained on.
type Data struct {
	NX    int    // observed
	NU    int    // controls; 0: none
	Image [3]int // height, width and channels of an observation, the last running fastest; zeros: it is no image
}

// Setup is what settings are checked against.
type Setup struct {
	Env          string // the kind of environment
	Unit         bool   // observations lie between 0 and 1
	Image        [3]int // height, width and channels of an observation; zeros: it is no image
	Sequence     int    // time steps of a training sequence
	FilterWindow int    // time steps filtered before a prediction; 0: the whole past
}

// Description says what settings choose.
type Description struct {
	Text    string   // one line of the plan: variant and sizes
	Variant string   // a word for the names of runs; may be empty
	Others  []string // key=value settings that choose other variants, to be tried next
}

// Term is one of the values that a loss reports.
type Term struct {
	Name   string  // in files and metrics: a word, e.g. kl_state
	Label  string  // for people, e.g. KL of the state
	Short  string  // in a status line, e.g. kl_z
	Unit   string  // e.g. nats per step
	Weight float64 // with which it enters the loss; 0 for the loss itself
}

// TermNames are the names of terms.
func TermNames(terms []Term) []string {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.Name
	}
	return names
}
