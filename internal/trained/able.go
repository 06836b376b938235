package trained

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/model"
)

// Ability is a question that some families answer.
type Ability struct {
	Does     string // what a model does, for messages
	Families []string
}

// The abilities, with the families that come with Switchyard and have them.
var (
	Filters    = Ability{"filter a latent state", latent}
	Segments   = Ability{"divide a series into regimes", latent}
	Samples    = Ability{"make up whole series, as it does not say how one begins", latent}
	Decomposes = Ability{"give base systems", latent}
	Smooths    = Ability{"smooth, as it infers a state from what came before it alone", []string{"slds", "kvae", "rslds", "trslds"}}
	Steps      = Ability{"filter one observation at a time", []string{"slds", "fusion"}}
	Exports    = Ability{"write its steps as graphs", []string{"slds", "fusion"}}
	Decodes    = Ability{"decode an observation from a latent state alone", []string{"slds", "fusion", "dvbf", "rslds", "trslds"}}
)

// latent are the families with a latent state and base systems.
var latent = []string{"slds", "fusion", "dvbf", "kvae", "rslds", "trslds"}

// Ask returns the model's answers to a kind of question, or ErrUnable with the families that have them.
func Ask[Q any](r *Run, a Ability) (Q, error) {
	f, err := r.Forecaster()
	if err != nil {
		return *new(Q), err
	}
	q, ok := f.(Q)
	if !ok {
		n := len(a.Families) - 1
		return q, fmt.Errorf("%w: model.kind=%s does not %s; %s and %s do", ErrUnable, r.Config.Model.Kind, a.Does, strings.Join(a.Families[:n], ", "), a.Families[n])
	}
	return q, nil
}

// abilities are all that a forecaster has of them.
func abilities(f model.Forecaster) []string {
	var list []string
	add := func(a Ability, ok bool) {
		if ok {
			list = append(list, a.Does)
		}
	}
	_, ok := f.(model.Filterer)
	add(Filters, ok)
	_, ok = f.(model.Segmenter)
	add(Segments, ok)
	_, ok = f.(model.Sampler)
	add(Samples, ok)
	_, ok = f.(model.Systematic)
	add(Decomposes, ok)
	_, ok = f.(model.Smoother)
	add(Smooths, ok)
	_, ok = f.(model.Stepper)
	add(Steps, ok)
	_, ok = f.(model.Exporter)
	add(Exports, ok)
	_, ok = f.(model.Emitter)
	add(Decodes, ok)
	slices.Sort(list)
	return list
}
