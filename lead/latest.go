package lead

import (
	"path/filepath"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// goOn takes over what a checkpoint that the run goes on from says of it: run.json, and what was reported, may be ahead
// of it. The lock of the watch is held.
func (w *Watch) goOn(cp *checkpoint.Checkpoint) {
	w.progress.Step, w.progress.Best, w.progress.BestStep = cp.Step, -cp.BestLoss, cp.BestStep
	w.know("best_validation_objective", -cp.BestLoss, cp.BestStep > 0)
	w.know("best_step", float64(cp.BestStep), cp.BestStep > 0)
	w.know("retreats", float64(cp.Retreats()), cp.Retreats() > 0)
	if cp.LeftOut != nil {
		w.know("left_out", float64(*cp.LeftOut), *cp.LeftOut > 0)
	}
	// A checkpoint does not say what the validation before it found; the records do.
	var last store.Values
	err := store.ReadMetrics(filepath.Dir(w.run.Folder()), w.run.Name(), func(m store.Record) error {
		if m.Split == "validation" && m.Step <= cp.Step {
			last = m.Values
		}
		return nil
	})
	if err != nil {
		w.log.Warn("the last validation is not known", "error", err)
	}
	w.validated(last)
}

// know makes a value the latest of its name, or removes it if it is not known.
func (w *Watch) know(name string, v float64, known bool) {
	if delete(w.latest, name); known {
		w.latest[name] = v
	}
}

// validated takes over the values of a validation as the latest ones, in place of those of another; nil: there is none.
func (w *Watch) validated(values store.Values) {
	names := []string{"objective", "elbo", "regimes_in_use", "regime_information"}
	for _, t := range w.terms {
		if t.Validation && !t.Detail {
			names = append(names, t.Name)
		}
	}
	for _, name := range names {
		v, known := values[name]
		w.know("validation_"+name, v, known)
	}
}
