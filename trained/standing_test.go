package trained

import (
	"math"
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

// TestJudge_ADivergedRun: what is measured and not finite is behind every rule, and a run that ends so has failed. What
// a protocol does not measure says nothing.
func TestJudge_ADivergedRun(t *testing.T) {
	t.Parallel()
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "maze"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{config: resolved.Config, which: Best, info: store.Info{State: store.Finished}}
	for _, value := range []float64{math.NaN(), math.Inf(1)} {
		found := eval.Findings{Report: eval.Report{Metrics: []eval.Metric{
			{Name: "ratio_to_static", Keys: []string{"1", "5", "10"}, Values: []float64{.1, value, value}},
			{Name: "r2_final", Values: []float64{value}},
		}}}
		r.judge(&found)
		notes := strings.Join(found.Table.Notes, " ")
		for _, want := range []string{"at horizons 5, 10.", "behind the mean of the data", "the run has failed"} {
			if !strings.Contains(notes, want) {
				t.Errorf("%v: %q does not say %q", value, notes, want)
			}
		}
	}
	var other eval.Findings
	if r.judge(&other); len(other.Table.Notes) > 0 {
		t.Errorf("nothing was measured: %q", other.Table.Notes)
	}
}
