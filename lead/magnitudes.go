package lead

import (
	"path/filepath"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// beginMagnitudes goes on with the magnitudes that the run has, as far as its checkpoint. Without a file, or if it
// cannot be read, there are none yet. The names of the tensors are those of the plan.
func (w *Watch) beginMagnitudes(plan *job.Plan) {
	var err error
	w.magnitudes, err = store.ReadMagnitudes(filepath.Dir(w.run.Folder()), filepath.Base(w.run.Folder()))
	if err != nil {
		w.log.Warn("the magnitudes of earlier steps are lost", "error", err)
	}
	w.cutMagnitudes(w.progress.Step)
	w.magnitudes.Tensors = nil
	for _, t := range plan.Layout {
		w.magnitudes.Tensors = append(w.magnitudes.Tensors, t.Name)
	}
}

// cutMagnitudes drops those after a step, which are void, also from the file with the next run.json.
func (w *Watch) cutMagnitudes(step uint64) {
	before := len(w.magnitudes.Records)
	w.magnitudes.Cut(step)
	w.uncounted = w.uncounted || len(w.magnitudes.Records) < before
}

// noteMagnitudes keeps the magnitudes of a step that has them, to be written with run.json: the steps of a small run
// are too short for a file each. The lock of the watch is held.
func (w *Watch) noteMagnitudes(r coordinator.StepReport) {
	if r.Magnitudes == nil || w.sweeping {
		return
	}
	w.magnitudes.Records = append(w.magnitudes.Records, store.StepMagnitudes{Step: r.Step, Magnitudes: *r.Magnitudes})
	w.uncounted = true
}

// writeMagnitudes replaces the file of magnitudes if there are others. Those that cannot be written are written with
// the next. The lock of the watch is held.
func (w *Watch) writeMagnitudes() {
	if !w.uncounted {
		return
	}
	err := w.run.WriteMagnitudes(w.magnitudes)
	w.counts.note(w.log, err)
	w.uncounted = err != nil
}
