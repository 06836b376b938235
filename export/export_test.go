package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// exported is a small SLDS in units of its own.
func exported(t *testing.T, change func(s *slds.Settings)) (Model, model.Exporter) {
	t.Helper()
	s := slds.DefaultSettings()
	s.Latent, s.Switches, s.Hidden, s.Blocks = 3, 4, 9, 1
	if change != nil {
		change(s)
	}
	made, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(3, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	if s.Durations > 1 {
		params := made.(model.Trainable).Params()
		for _, w := range params.Layout() {
			for i := range w.Size {
				if strings.HasPrefix(w.Name, "switch.duration") || w.Name == "switch.transition" {
					params.Values[w.Offset+i] += float32(math.Sin(float64(5 * i)))
				}
			}
		}
		params.Pack()
	}
	f := made.(model.Forecasting).NewForecaster().(model.Exporter)
	return Model{
		Description: Description{Family: "slds", NX: 2, NU: 1, NZ: 3, M: 4, Warmup: f.Warmup(), Horizon: 5},
		Tensors:     Parameters(made), Graphs: f.Graphs(5),
		Scale: files.Normalisation{Observations: files.Scale{Mean: []float64{100, -2}, SD: []float64{10, 0.5}}, Controls: files.Scale{Mean: []float64{1}, SD: []float64{4}}},
	}, f
}

// question is a filter step in the units of the data, with what the model itself answers.
func question(f model.Exporter) (inputs map[string][]float32, want *model.Belief) {
	var from, to model.Belief
	first := model.Batch{T: 1, B: 2, NX: 2, NU: 1, Observations: []float32{0.1, -0.2, 0.7, 1.1}, Controls: []float32{0, 0}}
	f.Begin(&from, first)
	second := first
	second.Observations, second.Controls = []float32{0.3, 0.1, -0.5, 1.4}, []float32{0.5, -0.25}
	f.Step(&to, &from, second, model.Disturbance{})
	again := to
	again.Z, again.Switch = slices.Clone(to.Z), slices.Clone(to.Switch)
	third := first
	third.Observations, third.Controls = []float32{-0.3, 0.4, 0.2, 0.9}, []float32{-1, 2}
	want = new(model.Belief)
	f.Step(want, &again, third, model.Disturbance{})
	return map[string][]float32{
		"z": again.Z, "s": again.Switch, "x": {97, -1.8, 102, -1.55}, "u": {-3, 9}, "seen": {1, 1}, "noise_z": make([]float32, 6), "noise_s": make([]float32, 8),
	}, want
}

func near(t *testing.T, what string, got []float64, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, v := range want {
		if math.Abs(got[i]-float64(v)) > 1e-5*max(1, math.Abs(float64(v))) {
			t.Fatalf("%s is %v, want %v", what, got, want)
		}
	}
}

func widen(x []float32) []float64 {
	var y []float64
	for _, v := range x {
		y = append(y, float64(v))
	}
	return y
}

// TestFiles_ONNX: every file is read back to the same graph, and a filter step in the units of the data is that of the model.
func TestFiles_ONNX(t *testing.T) {
	m, f := exported(t, nil)
	list, err := Files(m, ONNX)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range list {
		names = append(names, file.Name)
		if file.Name != "filter_step.onnx" {
			continue
		}
		g, err := decode(file.Data)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(Encode(g), file.Data) {
			t.Error("a file that is read and written again differs")
		}
		inputs, want := question(f)
		got, err := g.Evaluate(2, inputs)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mean", widen(got["mean"]), want.Mean)
		near(t, "weights", widen(got["weights"]), want.Weights)
	}
	for _, name := range []string{"encoder.onnx", "initial.onnx", "filter_step.onnx", "first_filter_step.onnx", "transition.onnx", "predict.onnx", "emission.onnx", "model.json"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s: %v", name, names)
		}
	}
	m.Graphs = nil
	if _, err := Files(m, ONNX); !errors.Is(err, ErrGraphs) {
		t.Errorf("a model without graphs: %v", err)
	}
	if _, err := Files(m, "pickle"); !errors.Is(err, ErrFormat) {
		t.Errorf("another format: %v", err)
	}
	if _, err := decode([]byte("\x3a\x7f")); !errors.Is(err, errONNX) {
		t.Errorf("a torn file: %v", err)
	}
}

// TestFiles_WeightsOfAllGraphs: what a graph finds under the name of a weight is its own, also where bodies lie across
// the channels, so that graphs put them into order.
func TestFiles_WeightsOfAllGraphs(t *testing.T) {
	s := slds.DefaultSettings()
	s.Bodies, s.Latent, s.Switches, s.Hidden, s.Blocks = "1,3:2/2,4:1", 3, 2, 9, 1
	made, err := s.New(model.Data{NX: 4, NU: 2}, rng.New(3, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	m := Model{
		Description: Description{NX: 4, NU: 2}, Tensors: Parameters(made),
		Graphs: made.(model.Forecasting).NewForecaster().(model.Exporter).Graphs(5),
	}
	list, err := Files(m, Safetensors)
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := checkpoint.Decode(list[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range m.Graphs {
		for _, w := range g.Weights {
			found, err := tensors.Tensor(w.Name)
			if err != nil {
				t.Fatal(err)
			}
			if values, err := checkpoint.Values[float32](found); err != nil || !slices.Equal(values, w.Values) {
				t.Errorf("%s finds another %s: %d values, not %d (%v)", g.Name, w.Name, len(values), len(w.Values), err)
			}
		}
	}
}

// python is one that has the modules; the test is skipped where there is none.
func python(t *testing.T, modules string) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import "+modules).Run() == nil {
			return name
		}
	}
	t.Skipf("there is no python3 with %s: apt-get install python3-numpy python3-onnx", modules)
	return ""
}

// write puts an export into a folder.
func write(t *testing.T, m Model, f Format) string {
	t.Helper()
	dir := t.TempDir()
	list, err := Files(m, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func rows(x []float32, n int) [][]float32 { return slices.Collect(slices.Chunk(x, len(x)/n)) }

func run(t *testing.T, input any, name string, arguments ...string) map[string][][]float64 {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, arguments...)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=../deploy/python")
	c.Stdin = bytes.NewReader(text)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var y map[string][][]float64
	if err := json.Unmarshal(out, &y); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return y
}

func flat(x [][]float64) []float64 { return slices.Concat(x...) }

// TestPython_ONNX: onnx accepts every file, by its checker and strict inference of shapes, and a filter step is the model's.
func TestPython_ONNX(t *testing.T) {
	name := python(t, "numpy, onnx")
	for _, change := range []func(s *slds.Settings){nil, func(s *slds.Settings) { s.Switching, s.Initial = slds.Normal, "lstm" }, discrete, aged} {
		m, f := exported(t, change)
		dir := write(t, m, ONNX)
		inputs, want := question(f)
		for _, g := range m.Graphs {
			given := map[string][][]float32{}
			for _, in := range g.Inputs {
				given[in.Name] = rows(make([]float32, 2*in.Width), 2)
				if x, ok := inputs[in.Name]; ok && g.Name == "filter_step" {
					given[in.Name] = rows(x, 2)
				}
			}
			got := run(t, given, name, "../deploy/python/onnx_run.py", filepath.Join(dir, g.Name+".onnx"))
			if g.Name == "filter_step" {
				near(t, "mean", flat(got["mean"]), want.Mean)
				near(t, "variance", flat(got["variance"]), want.Variance)
			}
		}
	}
}

// discrete is the switch that is summed out, and whose weights look at the observation.
func discrete(s *slds.Settings) {
	s.Switching, s.Skip, s.Preview, s.EmissionSD = slds.Categorical, true, true, "constant"
}

// aged is the switch that knows how long a regime has lasted, by odds of its own at every age.
func aged(s *slds.Settings) {
	discrete(s)
	s.Durations = 3
}

// TestPython_Loader: a numpy program filters and predicts what the model does, from either file of tensors.
func TestPython_Loader(t *testing.T) {
	name := python(t, "numpy")
	for _, change := range []func(s *slds.Settings){nil, discrete, aged} {
		loads(t, name, change)
	}
}

func loads(t *testing.T, name string, change func(s *slds.Settings)) {
	t.Helper()
	m, f := exported(t, change)
	x := []float32{0.1, -0.2, 0.5, 0.3, -0.4, 0.8, 0.2, 0.1, 0.9, -0.6}
	u := []float32{0, 0.5, -0.5, 1, 0.25}
	var state, next model.Belief
	first := model.Batch{T: f.Warmup(), B: 1, NX: 2, NU: 1, Observations: x[:2*f.Warmup()], Controls: u[:f.Warmup()]}
	f.Begin(&state, first)
	for t := 1; t < 5; t++ {
		f.Step(&next, &state, model.Batch{T: 1, B: 1, NX: 2, NU: 1, Observations: x[2*t : 2*t+2], Controls: u[t : t+1]}, model.Disturbance{})
		state, next = next, model.Belief{}
	}
	filtered := slices.Clone(state.Mean)
	var path, seen []float32
	for h := range 3 {
		f.Advance(&next, &state, []float32{float32(h)}, model.Disturbance{})
		state, next = next, model.Belief{}
		mean := make([]float32, 2)
		f.Emit(mean, make([]float32, 2), state.Z)
		path = append(path, mean[0]*10+100, mean[1]*0.5-2)
	}
	for i, v := range x {
		seen = append(seen, []float32{v*10 + 100, v*0.5 - 2}[i%2])
	}
	program := `import json, sys, numpy as np, switchyard
given = json.load(sys.stdin)
m = switchyard.load(sys.argv[1])
x, u = np.array(given["x"]), np.array(given["u"])
s = m.begin(x, u)
for t in range(1, len(x)):
    s = m.filter(s, x[t], u[t])
json.dump({"mean": [s["mean"].tolist()], "path": m.predict(s, np.array([[1.0], [5.0], [9.0]])).tolist(),
           "sampled": [[float(v) for v in m.sample(s, horizon=2, paths=4, seed=1).shape]]}, sys.stdout)`
	for _, format := range []Format{NPZ, Safetensors} {
		got := run(t, map[string]any{"x": rows(seen, 5), "u": rows(controlsInData(u), 5)}, name, "-c", program, write(t, m, format))
		near(t, "the filtered state", flat(got["mean"]), filtered)
		near(t, "the prediction", flat(got["path"]), path)
		near(t, "the shape of samples", flat(got["sampled"]), []float32{4, 2, 2})
	}
}
