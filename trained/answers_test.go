package trained

import (
	"bytes"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// steady is a family of one's own with a latent state, the last observation, and no switch.
type steady struct{ model.Model }

func (m steady) NewForecaster() model.Forecaster { return m }
func (steady) Dims() model.Dims                  { return model.Dims{NX: 2, NZ: 2} }
func (m steady) Clone() model.Forecaster         { return m }
func (steady) Forecast(dst *model.Forecast, q model.Query) {
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, 2, 0)
}

func (steady) Filter(dst *model.Filtering, b model.Batch, _ rng.Stream) {
	dst.Resize(b.T, b.B, 2, 0)
	copy(dst.Mean, b.Observations)
	for i := range dst.SD {
		dst.SD[i] = .5
	}
}

func (steady) Sample(dst *model.Sampling, q model.SampleQuery) {
	dst.Resize(q.T, q.B, 2, 2, 0)
	for _, x := range [][]float32{dst.Mean, dst.Draw, dst.States} {
		for i := range x {
			x[i] = float32(i)
		}
	}
}

// TestFilter_WithoutASwitch: a family of a program's own may have a latent state and no base systems.
func TestFilter_WithoutASwitch(t *testing.T) {
	env, err := envs.NewNoise(2, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{env: env, model: steady{}, config: config.Config{}, numbering: func() []int { return nil }}
	list := []Recording{{Name: "one", Series: Series{Observations: [][]float64{{1, 2}, {3, 4}, {5, 6}}}}}
	a, err := r.FilterAll(list, 1)
	if err != nil {
		t.Fatal(err)
	}
	made, err := r.Simulate(SimulateQuery{Steps: 3, Episodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	if rows := Simulations(made, Columns{Observations: []string{"y1", "y2"}}).Rows.Rows; len(rows) != 6 || rows[5].Values[2] != 11 {
		t.Errorf("simulated rows %v", rows)
	}
	var text bytes.Buffer
	for _, path := range []string{"a.csv", "a.json", "a.npz", "a.svg"} {
		text.Reset()
		if err := a.Write(&text, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if path == "a.csv" && !strings.Contains(text.String(), "one,2,5,6,0.5,0.5\n") {
			t.Errorf("rows %q", text.String())
		}
	}
}
