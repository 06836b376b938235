package export

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// eachScaled is a model whose recordings have scales of their own, and the same model with the scale of recording a
// alone.
func eachScaled(t *testing.T, change func(m *Model)) (each, alone Model) {
	t.Helper()
	alone, _ = exported(t, nil)
	each = alone
	each.Scale = files.Normalisation{
		Controls: files.Scale{Mean: []float64{7}, SD: []float64{3}},
		Recordings: map[string]files.Scale{
			"a": alone.Scale.Observations, "b": {Mean: []float64{1, 2}, SD: []float64{3, 4}},
		},
		RecordingControls: map[string]files.Scale{"a": alone.Scale.Controls, "b": {Mean: []float64{0}, SD: []float64{1}}},
	}
	if change != nil {
		change(&each)
	}
	return each, alone
}

// TestFiles_TakeTheScaleOfARecording: where each recording has a scale of its own, graphs take it, and answer as those
// that have it as constants: every graph, for every input.
func TestFiles_TakeTheScaleOfARecording(t *testing.T) {
	t.Parallel()
	each, alone := eachScaled(t, nil)
	for i := range each.Graphs {
		taking, fixed := inUnits(each.Graphs[i], each, false), inUnits(alone.Graphs[i], alone, false)
		inputs := map[string][]float32{}
		for k, in := range fixed.Inputs {
			for j := range 2 * in.Width {
				inputs[in.Name] = append(inputs[in.Name], float32((7*j+3*k)%11)/5)
			}
		}
		want, err := fixed.Evaluate(2, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string][]float32{"x_mean": {100, -2}, "x_sd": {10, 0.5}, "u_mean": {1}, "u_sd": {4}} {
			inputs[name] = slices.Repeat(v, 2)
		}
		given := 0
		for _, in := range taking.Inputs {
			if strings.HasSuffix(in.Name, "_sd") {
				given++
			}
		}
		got, err := taking.Evaluate(2, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			near(t, taking.Name+", "+name, widen(got[name]), want[name])
		}
		if uses := len(fixed.Inputs) > 1 || fixed.Inputs[0].Name == "x"; uses && given == 0 {
			t.Errorf("%s takes no scale", taking.Name)
		}
	}
}

// recorded filters and predicts a series, of a recording that is named or one that is not.
const recorded = `import json, sys, numpy as np, switchyard
given = json.load(sys.stdin)
x, u = np.array(given["x"], float), np.array(given["u"])
m = switchyard.load(sys.argv[1], *sys.argv[2:])
if len(sys.argv) == 2:
    m = m.measured(x, u)
s = m.begin(x, u)
for t in range(1, len(x)):
    s = m.filter(s, x[t], u[t])
json.dump({"mean": [s["mean"].tolist()], "path": m.predict(s, np.array([[1.0], [5.0], [9.0]])).tolist(),
           "drawn": m.sample(s, horizon=2, paths=4, seed=1)[0].tolist()}, sys.stdout)`

// TestPython_ScalesOfRecordings: the reader takes the scale of the recording that is named, and measures that of
// another series as the model does; where nothing says which, or the series is too short, it says what to do.
func TestPython_ScalesOfRecordings(t *testing.T) {
	t.Parallel()
	name := python(t, "numpy")
	each, alone := eachScaled(t, nil)
	x := [][]float64{{97, -1.8}, {102, -1.5}, {105, -2.5}, {99, -2}, {101, -1.9}}
	u := [][]float64{{0}, {5}, {-3}, {2}, {1}}
	given := map[string]any{"x": x, "u": u}
	want := run(t, given, name, "-c", recorded, write(t, alone, NPZ))
	folder := write(t, each, NPZ)
	equal := func(what string, got map[string][][]float64) {
		t.Helper()
		for _, part := range []string{"mean", "path", "drawn"} {
			near(t, what+": "+part, flat(got[part]), narrow(flat(want[part])))
		}
	}
	equal("recording a", run(t, given, name, "-c", recorded, folder, "a"))

	alone.Scale = each.Scale.OfRows(x, u)
	want = run(t, given, name, "-c", recorded, write(t, alone, NPZ))
	equal("another series", run(t, given, name, "-c", recorded, folder))

	for code, problem := range map[string]string{
		`m = switchyard.load(sys.argv[1]); m.begin(np.zeros((2, 2)))`:        "load(folder, recording) names one of ['a', 'b']",
		`switchyard.load(sys.argv[1], "c")`:                                  "name one of ['a', 'b'], or take measured(x, u)",
		`switchyard.load(sys.argv[1]).measured([[1, 2], [1, np.nan]], None)`: "no two different values of channel 0",
	} {
		c := exec.Command(name, "-c", "import sys, numpy as np, switchyard\n"+code, folder)
		c.Env = append(c.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=../deploy/python")
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), problem) {
			t.Errorf("%s: %v, %s", code, err, out)
		}
	}
}

// TestPython_ONNXTakesScales: onnx accepts the files whose scales are inputs.
func TestPython_ONNXTakesScales(t *testing.T) {
	t.Parallel()
	name := python(t, "numpy, onnx")
	each, _ := eachScaled(t, func(m *Model) { m.Scale.RecordingControls = nil })
	dir := write(t, each, ONNX)
	for _, g := range each.Graphs {
		given := map[string][][]float32{}
		for _, in := range inUnits(g, each, false).Inputs {
			given[in.Name] = rows(slices.Repeat([]float32{1}, 2*in.Width), 2)
		}
		run(t, given, name, "../deploy/python/onnx_run.py", dir+"/"+g.Name+".onnx")
	}
}
