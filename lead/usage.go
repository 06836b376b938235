package lead

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
)

// When a switch is of no use: one regime has more than the largest share of the steps, or the regime tells less than
// the least information, in nats, of which step it is, or, where each step has a single regime, less than the least
// part of what it could tell.
const (
	largestShare     = 0.98
	leastInformation = 0.02
	leastPart        = 0.1
)

// leastUpdates is before which no switch is judged: weights are alike at the beginning of every training.
const leastUpdates = 200

// usage notes how a validation used the base systems, in the values of its record, and returns the perplexity of their
// shares. known is false for a model that has none.
func (w *Watch) usage(r coordinator.ValidationReport, values store.Values) (inUse float64, known bool) {
	u, known := model.UsageOf(w.terms, r.Loss)
	if !known {
		return 0, false
	}
	inUse = u.InUse()
	values["regimes_in_use"], values["regime_information"] = inUse, u.Information()
	w.noteCollapse(r.Step, u)
	return inUse, true
}

// noteCollapse warns once, from the middle of the training on, of a switch that is of no use. The lock of the watch
// is held.
func (w *Watch) noteCollapse(step uint64, u model.Usage) {
	if w.collapsed || step < leastUpdates || 2*step < w.progress.Steps {
		return
	}
	instead := "compare with arhmm (model.kind=arhmm); if it finds one regime too, model.kind=linear is the simpler model"
	if switching, ok := w.config.Value("model.switching"); ok && switching != "categorical" {
		instead = "compare with arhmm (model.kind=arhmm) and with a discrete switch (model.switching=categorical); if they " +
			"find one regime too, model.kind=linear is the simpler model"
	}
	switch {
	case u.Largest() > largestShare:
		w.log.Warn(fmt.Sprintf("one of %d regimes holds %.0f %% of the validation set: the switch is of no use",
			len(u.Shares), 100*u.Largest()), "step", step, "do", instead)
	case u.Information() < leastInformation, u.Choice && u.Information() < leastPart*u.Spread():
		w.log.Warn(fmt.Sprintf("the mixing weights of the %d regimes are almost the same at every step: the regimes "+
			"explain nothing", len(u.Shares)), "step", step, "information", rounded(u.Information()), "do", instead)
	default:
		return
	}
	w.collapsed = true
}
