package trained

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/model"
)

// Ability is a kind of question, Q, that the forecasters of some families answer. Whether a forecaster has one is
// decided by its Go type alone; Families are for the message.
type Ability[Q any] struct {
	Does     string // what a model does, for messages
	Families []string
}

// The abilities, with the families that come with Switchyard and have them.
var (
	Filters    = Ability[model.Filterer]{"filter a latent state", latentFamilies}
	Segments   = Ability[model.Segmenter]{"divide a series into regimes", latentFamilies}
	Samples    = Ability[model.Sampler]{"make up whole series, as it does not say how one begins", latentFamilies}
	Decomposes = Ability[model.Systematic]{"give base systems", latentFamilies}
	Smooths    = Ability[model.Smoother]{
		"smooth, as it infers a state from what came before it alone",
		[]string{"slds", "kvae", "rslds", "trslds", "arhmm"},
	}
	Steps   = Ability[model.Stepper]{"filter one observation at a time", []string{"slds", "fusion"}}
	Exports = Ability[model.Exporter]{"write its steps as graphs", []string{"slds", "fusion"}}
	Decodes = Ability[model.Emitter]{
		"decode an observation from a latent state alone",
		[]string{"slds", "fusion", "dvbf", "rslds", "trslds", "arhmm"},
	}
)

// latentFamilies are the families with a latent state and base systems.
var latentFamilies = []string{"slds", "fusion", "dvbf", "kvae", "rslds", "trslds", "arhmm"}

// Ask returns the model's answers to a kind of question, or ErrUnable with the families that have them. The
// answers come from a Forecaster of their own, which works in the units of the model and serves one goroutine.
func Ask[Q any](r *Run, a Ability[Q]) (Q, error) {
	f, err := r.Forecaster()
	if err != nil {
		return *new(Q), err
	}
	q, ok := a.of(f)
	if !ok {
		n := len(a.Families) - 1
		return q, fmt.Errorf("%w: model.kind=%s does not %s; %s and %s do", ErrUnable, r.config.Model.Kind, a.Does,
			strings.Join(a.Families[:n], ", "), a.Families[n])
	}
	return q, nil
}

// about returns the model's answers to a kind of question about a whole series, with the series as a batch and the run
// with its scale. Gaps that the family cannot read are filled in. The errors are ErrUnable and those of a series,
// ErrSeries.
func about[Q any](r *Run, a Ability[Q], s Series) (f Q, own *Run, b model.Batch, err error) {
	if f, err = Ask(r, a); err != nil {
		return f, nil, b, err
	}
	if own, err = r.as(s); err != nil {
		return f, nil, b, err
	}
	b, err = own.whole(any(f).(model.Forecaster), s)
	return f, own, b, err
}

// of returns a forecaster's answers to the question.
func (Ability[Q]) of(f model.Forecaster) (q Q, ok bool) {
	q, ok = f.(Q)
	return q, ok
}
