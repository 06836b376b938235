package trained

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
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
