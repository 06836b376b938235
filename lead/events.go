package lead

import (
	"github.com/switchyard-ml/switchyard/store"
)

// record keeps a record in the metrics of the run, and in the event files, where these are wanted. The lock of the
// watch is held.
func (w *Watch) record(r store.Record) {
	w.metrics.note(w.log, w.run.Append(r))
	w.events(func(l *store.Live) error { return l.Add(r) })
}

// events does something to the event files. They are for people to look at: after an error there are no more of them,
// and the run goes on. The lock of the watch is held.
func (w *Watch) events(do func(*store.Live) error) {
	if w.live == nil {
		return
	}
	if err := do(w.live); err != nil {
		w.log.Warn("no more event files for TensorBoard are written", "error", err, "remedy",
			"runs export NAME --to tensorboard writes them again")
		_ = w.live.Close() // what failed before may fail again
		w.live = nil
	}
}
