package trained

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// TestCalibration_OfTheseParameters: what the intervals of other parameters held says nothing of those in use.
func TestCalibration_OfTheseParameters(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	r := &Run{folder: folder, checkpoint: &checkpoint.Checkpoint{Step: 700}}
	if got := r.calibration(); got != "" {
		t.Errorf("nothing was measured, and it says %q", got)
	}
	if err := os.Mkdir(filepath.Join(folder, "tables"), 0o700); err != nil {
		t.Fatal(err)
	}
	for metrics, said := range map[string]bool{
		`"coverage80":[0.8,0.7],"step":700`: true,
		`"coverage80":[0.8,0.7],"step":900`: false,
		`"coverage80":[0.8,0.7]`:            false,
	} {
		text := []byte(`{"metrics":{` + metrics + `}}`)
		if err := os.WriteFile(filepath.Join(folder, "tables", "recordings.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := r.calibration(); strings.Contains(got, "hold 75 %") != said || (got != "") != said {
			t.Errorf("%s, at step 700: %q", metrics, got)
		}
	}
}

// TestJudge_AFinishedRun: what runs of a preset end with says nothing of one that has not ended, nor of its parameters on
// the way.
func TestJudge_AFinishedRun(t *testing.T) {
	t.Parallel()
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "modes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		state  store.State
		which  string
		judged bool
	}{
		{store.Finished, Best, true},
		{store.Finished, Last, true},
		{store.Finished, "300", false},
		{store.Interrupted, Best, false},
		{store.Running, Last, false},
	} {
		r := &Run{config: resolved.Config, which: test.which, info: store.Info{State: test.state}}
		found := eval.Findings{Report: eval.Report{Metrics: []eval.Metric{{Name: "accuracy", Values: []float64{.5}}}}}
		r.judge(&found)
		if failed := strings.Contains(strings.Join(found.Table.Notes, " "), "the run has failed"); failed != test.judged {
			t.Errorf("a run that is %s, at %s: %q", test.state, test.which, found.Table.Notes)
		}
	}
}
