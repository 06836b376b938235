package export

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/gibbs"
	"github.com/switchyard-ml/switchyard/rng"
)

// sampled is a short fit of two chains, and a series with controls of which some values are missing. Its true regime
// depends on the place.
func sampled(t *testing.T, s *gibbs.Settings) (Model, model.Forecaster, model.Batch) {
	t.Helper()
	s.Leaves, s.Sweeps, s.BurnIn, s.Draws, s.Chains, s.Exchange = 3, 30, 10, 4, 2, 10
	made, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	b.Resize(60, 1, 2, 1)
	noise := rng.New(5, rng.Noise).At(0, 0, 0)
	noise.Normals(b.Controls)
	x, v := 1.0, 0.0
	for i := range b.T {
		turn := 0.4
		if x < 0 {
			turn = 0.2
		}
		x, v = x+turn*v, v-turn*x+0.2*float64(b.Controls[i])+0.05*noise.Normal()
		b.Observations[2*i], b.Observations[2*i+1] = float32(x), float32(v)
	}
	b = hidden(b, []int{41, 80, 81, 118})
	m := made.(*gibbs.Model)
	var states [][]float64
	for index := range s.Chains {
		chain, err := m.NewChain([]model.Batch{b}, index, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range s.Sweeps {
			if err := chain.Sweep(make([]float64, 4)); err != nil {
				t.Fatal(err)
			}
		}
		size := 0
		for _, part := range m.Layout([]model.Batch{b}) {
			size += part.Size()
		}
		state := make([]float64, size)
		chain.State(state)
		states = append(states, state)
	}
	if err := m.Install(states); err != nil {
		t.Fatal(err)
	}
	f := m.NewForecaster()
	d := f.Dims()
	return Model{
		Description: Description{Family: "trslds", NX: 2, NU: 1, NZ: d.NZ, M: d.M}, Tensors: Fitted(f),
		Scale: files.Normalisation{
			Recordings: map[string]files.Scale{"a": {Mean: []float64{100, -2}, SD: []float64{10, 0.5}}, "b": {Mean: []float64{0, 0}, SD: []float64{1, 1}}},
			Controls:   files.Scale{Mean: []float64{1}, SD: []float64{4}},
		},
	}, f, b
}

// TestPython_Samplers: from the tensors of rslds and trslds alone a numpy program filters what the model does, and
// forecasts its mean path and the same spread of paths, in the units of a recording that has its own.
func TestPython_Samplers(t *testing.T) {
	name := python(t, "numpy")
	latent := gibbs.DefaultSettings(false)
	latent.Shape, latent.Emission, latent.Latent = gibbs.Caterpillar, gibbs.Linear, 3
	latent.Eval.Rollout = gibbs.RolloutSample
	for kind, s := range map[string]*gibbs.Settings{"rslds": latent, "trslds": gibbs.DefaultSettings(true)} {
		m, f, b := sampled(t, s)
		var filtering model.Filtering
		f.(model.Filterer).Filter(&filtering, b, rng.Stream{})
		const horizon, samples = 4, 4000
		q := model.Query{Prefix: b, Horizon: horizon, Samples: samples, Controls: []float32{1, -1, 0.5, 0}, Noise: rng.New(1, rng.Evaluation).At(0, 0, 0)}
		var forecast model.Forecast
		f.Forecast(&forecast, q)
		unit, offset := []float64{10, 0.5}, []float64{100, -2}
		program := `import json, sys, numpy as np, trslds
given = json.load(sys.stdin)
m = trslds.load(sys.argv[1], "a")
x = [[np.nan if v is None else v for v in row] for row in given["x"]]
mean, sd, weights = m.filter(x, given["u"])
paths = m.sample(x, given["u"], given["plan"], paths=300, seed=1)
json.dump({"mean": mean.tolist(), "sd": sd.tolist(), "weights": weights.tolist(), "spread": paths.std(0).tolist(),
           "forecast": m.forecast(x, given["u"], given["plan"], paths=300).tolist()}, sys.stdout)`
		got := run(t, map[string]any{
			"x": inData(b), "u": rows(controlsInData(b.Controls), b.T),
			"plan": rows(controlsInData(q.Controls), horizon),
		}, name,
			"-c", program, write(t, m, NPZ))
		for what, want := range map[string][]float32{"mean": filtering.Mean, "sd": filtering.SD, "weights": filtering.Switches} {
			for i, v := range flat(got[what]) {
				if math.Abs(v-float64(want[i])) > 2e-3 {
					t.Fatalf("%s: filtered %s %d is %v, want %v", kind, what, i, v, want[i])
				}
			}
		}
		for i, v := range flat(got["forecast"]) {
			spread, mean := 0.0, 0.0
			for s := range samples {
				mean += float64(forecast.Paths[s*2*horizon+i]) / samples
			}
			for s := range samples {
				e, sd := float64(forecast.Paths[s*2*horizon+i])-mean, float64(forecast.SD[s*2*horizon+i])
				spread += (e*e + sd*sd) / samples
			}
			spread = math.Sqrt(spread)
			tolerance := 2e-3
			if s.Eval.Rollout == gibbs.RolloutSample {
				tolerance = 5 * spread / math.Sqrt(250)
			}
			if want := float64(forecast.Mean[i]); math.Abs((v-offset[i%2])/unit[i%2]-want) > tolerance {
				t.Errorf("%s: forecast value %d is %v, want %v", kind, i, (v-offset[i%2])/unit[i%2], want)
			}
			if other := flat(got["spread"])[i] / unit[i%2]; math.Abs(other/spread-1) > 0.25 {
				t.Errorf("%s: value %d of a forecast spreads by %v, want %v", kind, i, other, spread)
			}
		}
	}
}
