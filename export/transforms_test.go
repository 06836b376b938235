package export

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model/gibbs"
)

// changed is a model of observations that training transformed: logarithms of the first channel, and differences.
func changed(m Model) Model {
	m.Scale.Recordings = nil
	m.Scale.Observations = files.Scale{
		Mean: []float64{0.1, -2}, SD: []float64{0.5, 3}, Transforms: []files.Transform{{Log: true, Lag: 1}, {Lag: 2}},
	}
	return m
}

// plain is the same model of the transformed observations.
func plain(m Model) Model {
	m = changed(m)
	m.Scale.Observations.Transforms = nil
	return m
}

// stepwise filters and predicts a series, and says what was shown at each step.
const stepwise = `import json, sys, numpy as np, switchyard
given = json.load(sys.stdin)
x, u = np.array(given["x"], float), np.array(given["u"])
m = switchyard.load(sys.argv[1])
s = m.begin(x, u)
shown = [m.emission(s["mean"])["x"].tolist()]
for t in range(1, len(x)):
    s = m.filter(s, x[t], u[t])
    shown.append(m.emission(s["mean"])["x"].tolist())
last = m.advance(m.advance(s, u[0]), u[1])
json.dump({"mean": [s["mean"].tolist()], "shown": shown, "path": m.predict(s, u[:4]).tolist(),
           "later": m.predict(last, u[2:4]).tolist(), "paths": [p.ravel().tolist() for p in m.sample(s, u[:4], paths=3, seed=1)],
           }, sys.stdout)`

// ofARHMM and ofTRSLDS filter and forecast a series as a whole.
const (
	ofARHMM = `import json, sys, arhmm
given = json.load(sys.stdin)
m = arhmm.load(sys.argv[1])
json.dump({"mean": m.filter(given["x"], given["u"]).tolist(),
           "path": m.forecast(given["x"], given["u"], given["u"][:4]).tolist()}, sys.stdout)`
	ofTRSLDS = `import json, sys, trslds
given = json.load(sys.stdin)
m = trslds.load(sys.argv[1])
x, u = given["x"], given["u"]
json.dump({"mean": m.filter(x, u)[0].tolist(), "path": m.forecast(x, u, u[:4]).tolist(),
           "paths": [p.ravel().tolist() for p in m.sample(x, u, u[:4], paths=3, seed=1)]}, sys.stdout)`
)

// TestPython_UndoesTransforms: what the programs say of a series is what they say of its transformed values, and their
// paths are those of the transformed values, undone.
func TestPython_UndoesTransforms(t *testing.T) {
	t.Parallel()
	name := python(t, "numpy")
	data := [][]*float64{}
	for i := range 12 {
		row := []float64{math.Exp(math.Sin(float64(3 * i))), float64(i*i%7) - 3}
		data = append(data, []*float64{&row[0], &row[1]})
	}
	var controls [][]float64
	for i := range data {
		controls = append(controls, []float64{float64(i%5) - 2})
	}
	for what, gaps := range map[string][][2]int{
		"inside": {{4, 0}, {5, 0}, {5, 1}}, "at the end": {{11, 0}, {11, 1}},
	} {
		x := make([][]*float64, len(data))
		for i := range data {
			x[i] = slices.Clone(data[i])
		}
		for _, g := range gaps {
			x[g[0]][g[1]] = nil
		}
		graphs, _ := exported(t, nil)
		regimes, _, _ := fitted(t, 2, 0)
		means, _, _ := fitted(t, 0, 0)
		tree, _, _ := sampled(t, gibbs.DefaultSettings(true))
		for program, m := range map[string]Model{
			stepwise: graphs, ofARHMM: regimes, "# no lags\n" + ofARHMM: means, ofTRSLDS: tree,
		} {
			want := run(t, map[string]any{"x": transformed(t, x), "u": controls}, name, "-c", program, write(t, plain(m), NPZ))
			got := run(t, map[string]any{"x": x, "u": controls}, name, "-c", program, write(t, changed(m), NPZ))
			before := levels(x, want["shown"])
			for _, part := range slices.Sorted(maps.Keys(want)) {
				list := want[part]
				switch part {
				case "path":
					list = undone(list, before)
				case "later":
					list = undone(slices.Concat(want["path"][:2], list), before)[2:]
				case "paths":
					for i, p := range list {
						list[i] = flat(undone(slices.Collect(slices.Chunk(p, 2)), before))
					}
				}
				if gaps[0][0] == 11 && program != stepwise && part != "mean" {
					finite(t, what+": "+part, got[part])
					continue // what they fill in is not shown
				}
				near(t, what+": "+part, flat(got[part]), narrow(flat(list)))
			}
		}
	}
}

func finite(t *testing.T, what string, rows [][]float64) {
	t.Helper()
	for _, v := range flat(rows) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s: %v", what, rows)
		}
	}
}

func narrow(x []float64) []float32 {
	list := make([]float32, len(x))
	for i, v := range x {
		list[i] = float32(v)
	}
	return list
}

func column(x [][]*float64, c int) []float64 {
	list := make([]float64, len(x))
	for t := range x {
		list[t] = math.NaN()
		if x[t][c] != nil {
			list[t] = *x[t][c]
		}
	}
	return list
}

func transformed(t *testing.T, x [][]*float64) [][]*float64 {
	t.Helper()
	list := make([][]*float64, len(x))
	for c, k := range changed(Model{}).Scale.Observations.Transforms {
		values, bad := k.Apply(column(x, c))
		if bad >= 0 {
			t.Fatal(bad)
		}
		for t := range values {
			list[t] = append(list[t], nil)
			if !math.IsNaN(values[t]) {
				list[t][c] = &values[t]
			}
		}
	}
	return list
}

// levels are the observations, with what was shown where they are missing.
func levels(x [][]*float64, shown [][]float64) [][]float64 {
	list := make([][]float64, len(x))
	for c, k := range changed(Model{}).Scale.Observations.Transforms {
		values := column(x, c)
		for t, v := range values {
			if math.IsNaN(v) && shown != nil {
				values[t] = k.Undo(shown[t][c:c+1], values[:t])[0]
			}
			list[t] = append(list[t], values[t])
		}
	}
	return list
}

func undone(path, before [][]float64) [][]float64 {
	list := make([][]float64, len(path))
	for c, k := range changed(Model{}).Scale.Observations.Transforms {
		var values, past []float64
		for _, row := range path {
			values = append(values, row[c])
		}
		for _, row := range before {
			past = append(past, row[c])
		}
		for t, v := range k.Undo(values, past) {
			list[t] = append(list[t], v)
		}
	}
	return list
}
