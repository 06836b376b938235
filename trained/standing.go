package trained

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
)

// calibration says how much of what was observed on held-out data the intervals of these parameters held; empty: others
// were measured last, or none. It reads the report of the protocol recordings in the folder of the run.
func (r *Run) calibration() string {
	text, err := store.ReadFile(filepath.Join(r.folder, "tables", "recordings.json"))
	if err != nil {
		return ""
	}
	var kept struct{ Metrics map[string]json.RawMessage }
	var coverage []eval.Number
	var at uint64
	if json.Unmarshal(text, &kept) != nil || json.Unmarshal(kept.Metrics[eval.CoverageName()], &coverage) != nil ||
		json.Unmarshal(kept.Metrics["step"], &at) != nil || at != r.Step() {
		return ""
	}
	return eval.Calibrated(eval.Floats(coverage))
}

// judge says below the table of an evaluation whether the model is ahead of the simplest rule, and whether the run has
// ended as its preset usually does. Notes are added below the table; numbers do not change.
func (r *Run) judge(found *eval.Findings) {
	numbers := found.Report.Numbers()
	var behind []string
	for _, k := range eval.Table1Horizons() {
		// What is measured and not a number, as of a model that diverged, is behind; what is not measured says nothing.
		if ratio, known := numbers[eval.Name("ratio_to_static", k)]; known && !(ratio < 1) {
			behind = append(behind, fmt.Sprintf("%d", k))
		}
	}
	note := func(format string, args ...any) {
		found.Table.Notes = append(found.Table.Notes, "Verdict: "+fmt.Sprintf(format, args...))
	}
	if n := len(behind); n > 0 {
		note("behind Static, which repeats the last observation, at %s %s.", terminal.Noun(n, "horizon"),
			strings.Join(behind, ", "))
	}
	if r2, known := numbers["r2_final"]; known && !(r2 >= 0) {
		note("behind the mean of the data at the last horizon.")
	}
	// How runs of the preset end over several seeds is known: this run is judged by them, if these parameters are those
	// that it has ended with.
	if u, ok := r.config.Usual(); ok && r.ended() {
		value, known := numbers[u.Number]
		if !known {
			return
		}
		verdict, fails := u.Judge(value)
		note("%s is %.3g. Over %d seeds, %s has a median of %.3g and a worst of %.3g: %s.", u.Number, value, u.Seeds,
			u.Preset, u.Median, u.Worst, verdict)
		if fails {
			found.Table.Notes = append(found.Table.Notes, "Train again with another seed: seed=N.")
		}
	}
}

// ended reports whether the run is finished, and open at what training has left: not at a step on the way.
func (r *Run) ended() bool {
	return r.info.State == store.Finished && (r.which == Best || r.which == Last)
}
