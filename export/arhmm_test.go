package export

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/rng"
)

// fitted is an autoregressive HMM of so many lags and past controls, and a series with controls.
func fitted(t *testing.T, lags, past int) (Model, model.Forecaster, model.Batch) {
	t.Helper()
	s := arhmm.DefaultSettings()
	s.Order, s.Past, s.Switches = lags, past, 2
	made, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(3, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	b.Resize(80, 1, 2, 1)
	draws := rng.New(4, rng.Noise).At(0, 0, 0)
	draws.Normals(b.Controls)
	x, slope := [2]float64{}, 0.6
	for i := range b.T {
		if i%15 == 0 {
			slope = -slope
		}
		for d := range x {
			x[d] = slope*x[d] + float64(b.Controls[i]) + 0.8*float64(b.Controls[max(i-past, 0)]) + 0.5*draws.Normal()
			b.Observations[2*i+d] = float32(x[d])
		}
	}
	m := made.(*arhmm.Model)
	chain, err := m.NewChain([]model.Batch{b}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := chain.Sweep(make([]float64, 2)); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for _, part := range m.Layout(nil) {
		size += part.Size()
	}
	state := make([]float64, size)
	chain.State(state)
	if err := m.Install([][]float64{state}); err != nil {
		t.Fatal(err)
	}
	f := m.NewForecaster()
	return Model{
		Description: Description{Family: "arhmm", NX: 2, NU: 1, NZ: f.Dims().NZ, M: 2, Warmup: lags},
		Tensors:     Fitted(f),
		Scale: files.Normalisation{
			Observations: files.Scale{Mean: []float64{100, -2}, SD: []float64{10, 0.5}},
			Controls:     files.Scale{Mean: []float64{1}, SD: []float64{4}},
		},
	}, f, b
}

const arhmmProgram = `import json, sys, arhmm
given = json.load(sys.stdin)
m = arhmm.load(sys.argv[1])
json.dump({"filtered": m.filter(given["x"], given["u"]).tolist(),
           "forecast": m.forecast(given["x"], given["u"], given["plan"]).tolist()}, sys.stdout)`

// TestPython_ARHMM: from the tensors alone a numpy program filters what the model does, and forecasts the mean of its
// paths, wherever values are missing.
func TestPython_ARHMM(t *testing.T) {
	t.Parallel()
	name := python(t, "numpy")
	m, f, b := fitted(t, 2, 0)
	dir := write(t, m, NPZ)
	for what, missing := range map[string][]int{ // values, two at a step
		"none":        nil,
		"three steps": {60, 61, 62, 63, 64, 65},
		"at the end":  {155, 156, 157, 158, 159},
		"all over":    {0, 3, 5, 21, 25, 29, 33, 90, 93, 94, 120, 121, 122, 140, 143, 151, 153, 159},
	} {
		t.Run(what, func(t *testing.T) { arhmmAgrees(t, name, dir, f, hidden(b, missing)) })
	}
	for what, sizes := range map[string][2]int{"no lags": {0, 0}, "past controls": {2, 1}} {
		t.Run(what, func(t *testing.T) {
			m, f, b := fitted(t, sizes[0], sizes[1])
			dir := write(t, m, NPZ)
			arhmmAgrees(t, name, dir, f, hidden(b, []int{60, 61, 158}))
		})
	}
}

// hidden is the series without some of its values.
func hidden(b model.Batch, missing []int) model.Batch {
	if missing == nil {
		return b
	}
	b.Seen, b.Observations = slices.Repeat([]float32{1}, len(b.Observations)), slices.Clone(b.Observations)
	for _, i := range missing {
		b.Seen[i], b.Observations[i] = 0, 0
	}
	return b
}

// inData are observations in the units of the data, and null where one is missing.
func inData(b model.Batch) [][]*float64 {
	list := make([][]*float64, b.T)
	for t := range list {
		list[t] = make([]*float64, 2)
		for c, sd := range []float64{10, 0.5} {
			if v := float64(b.Observations[2*t+c])*sd + []float64{100, -2}[c]; b.Seen == nil || b.Seen[2*t+c] == 1 {
				list[t][c] = &v
			}
		}
	}
	return list
}

func controlsInData(u []float32) (list []float32) {
	for _, v := range u {
		list = append(list, v*4+1)
	}
	return list
}

func arhmmAgrees(t *testing.T, name, dir string, f model.Forecaster, b model.Batch) {
	t.Helper()
	var filtering model.Filtering
	f.(model.Filterer).Filter(&filtering, b, rng.Stream{})
	const horizon, samples = 4, 2000
	q := model.Query{
		Prefix: b, Horizon: horizon, Samples: samples, Controls: []float32{1, -1, 0.5, 0},
		Noise: rng.New(1, rng.Evaluation).At(0, 0, 0),
	}
	var forecast model.Forecast
	f.Forecast(&forecast, q)
	got := run(t, map[string]any{
		"x": inData(b), "u": rows(controlsInData(b.Controls), b.T),
		"plan": rows(controlsInData(q.Controls), horizon),
	}, name, "-c", arhmmProgram, dir)
	for i, v := range flat(got["filtered"])[2*3:] {
		if want := float64(filtering.Switches[2*3+i]); math.Abs(v-want) > 1e-3 {
			t.Fatalf("filtered value %d is %v, want %v", i, v, want)
		}
	}
	for i, v := range flat(got["forecast"]) {
		unit, spread := []float64{10, 0.5}[i%2], 0.0
		for s := range samples {
			e := float64(forecast.Paths[s*2*horizon+i] - forecast.Mean[i])
			spread += e * e / samples
		}
		mean := float64(forecast.Mean[i])*unit + []float64{100, -2}[i%2]
		if math.Abs(v-mean) > 4*unit*math.Sqrt(spread/samples) {
			t.Errorf("forecast value %d is %v, want %v", i, v, mean)
		}
	}
}

// TestFitted_HasStartAndTransitions: rows of P and π are probabilities, and the start is mean and variance of the series.
func TestFitted_HasStartAndTransitions(t *testing.T) {
	m, _, b := fitted(t, 2, 0)
	sums := map[string]float64{}
	for _, tensor := range m.Tensors {
		for _, v := range tensor.Values {
			sums[tensor.Name] += float64(v)
		}
	}
	mean := 0.0
	for _, v := range b.Observations {
		mean += float64(v) / float64(b.T)
	}
	for name, want := range map[string]float64{"regimes.first": 1, "regimes.transition": 2, "start.mean": mean} {
		if math.Abs(sums[name]-want) > 1e-5 {
			t.Errorf("%s sums to %v, want %v", name, sums[name], want)
		}
	}
	if sums["start.variance"] <= 0 {
		t.Errorf("the variances of the start sum to %v", sums["start.variance"])
	}
}
