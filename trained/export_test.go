package trained

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/export"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// TestExport_SaysWhatItHolds: the hash is that of the parameters in the files, which need not be the newest, and the
// description says what each base system has in it.
func TestExport_SaysWhatItHolds(t *testing.T) {
	env, err := envs.NewNoise(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, residual := range []bool{true, false} {
		s := slds.DefaultSettings()
		s.Latent, s.Switches, s.Hidden, s.Blocks, s.Residual, s.VarianceFloor = 3, 2, 8, 0, residual, 0.25
		m, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
		if err != nil {
			t.Fatal(err)
		}
		r := &Run{
			env: env, model: m, info: store.Info{Checkpoint: 9, ParametersSHA256: "of step 9"},
			checkpoint: &checkpoint.Checkpoint{Step: 4, ParamsSHA256: "of step 4"},
		}
		dir := t.TempDir()
		if _, err := r.Export(dir, ExportOptions{Format: string(export.NPZ), Horizon: 1}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "model.json"))
		if err != nil {
			t.Fatal(err)
		}
		var y struct {
			Step     uint64
			SHA256   string   `json:"params_sha256"`
			Residual *bool    `json:"residual"`
			Floor    *float64 `json:"variance_floor"`
		}
		if err := json.Unmarshal(text, &y); err != nil || y.Residual == nil || y.Floor == nil {
			t.Fatalf("%+v, %v", y, err)
		}
		if y.Step != 4 || y.SHA256 != "of step 4" || *y.Residual != residual || math.Abs(*y.Floor-0.25) > 1e-6 {
			t.Errorf("step %d, %q, residual %t, floor %g", y.Step, y.SHA256, *y.Residual, *y.Floor)
		}
	}
}

// TestRounded_IsFarFromZero: channels far from zero are named, beside them neither those near it nor one that does not
// vary; of recordings with scales of their own, the farthest counts.
func TestRounded_IsFarFromZero(t *testing.T) {
	r := &Run{scale: files.Normalisation{
		Observations: files.Scale{
			Mean: []float64{-1e8, 1e3, 1e9}, SD: []float64{2, 2, files.ConstantSD}, Names: []string{"pressure", "speed", "fixed"},
		},
		Controls: files.Scale{Mean: []float64{1e5}, SD: []float64{0.5}},
	}}
	want := "pressure lies 50,000,000 standard deviations from zero: float32 rounds it by up to 2.98 of them\n" +
		"u1 lies 200,000 standard deviations from zero: float32 rounds it by up to 0.0119 of them"
	if got := strings.Join(r.Rounded(), "\n"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r.scale = files.Normalisation{Observations: files.Scale{Names: []string{"speed"}}, Recordings: map[string]files.Scale{
		"a": {Mean: []float64{1}, SD: []float64{2}}, "b": {Mean: []float64{3e4}, SD: []float64{2}},
	}}
	if got := r.Rounded(); len(got) != 1 || !strings.HasPrefix(got[0], "speed lies 15,000 ") {
		t.Errorf("%q", got)
	}
}
