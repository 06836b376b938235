package modeltest

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
)

// graphTolerance is how far a graph may be from the model, relative to the largest value of an output, and at least 1.
const graphTolerance = 1e-5

// Graphs compares every graph of a model that has some with what the model does itself, on several rows, with
// noise and missing values: first the initial state, then two filtered steps with the prediction beside each, the
// emission, and a prediction of several steps. Models without graphs pass.
func (c Case) Graphs(t *testing.T) {
	f, ok := c.New(t).NewForecaster().(model.Exporter)
	if !ok {
		return
	}
	const rows, horizon = 3, 4
	d := f.Dims()
	by := map[string]model.Graph{}
	for _, g := range f.Graphs(horizon) {
		by[g.Name] = g
	}
	// evaluate runs a graph and compares the outputs that are wanted.
	evaluate := func(name string, inputs map[string][]float32, want map[string][]float32) {
		t.Helper()
		g, ok := by[name]
		if !ok {
			t.Fatalf("there is no graph %s", name)
		}
		got, err := g.Evaluate(rows, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for output, values := range want {
			size := 1.0
			for _, v := range values {
				size = max(size, math.Abs(float64(v)))
			}
			if len(got[output]) != len(values) {
				t.Fatalf("%s: output %s has %d values, want %d", name, output, len(got[output]), len(values))
			}
			for i, v := range values {
				if math.Abs(float64(got[output][i]-v)) > graphTolerance*size {
					t.Fatalf("%s: output %s is %v, want %v", name, output, got[output], values)
				}
			}
		}
	}
	b := c.Batch(f.Warmup()+3, rows)
	pair := c.NX + c.NU
	// The graph reads pairs (x, u) of a sequence side by side; a batch is time-major.
	first := make([]float32, rows*f.Warmup()*pair)
	for r := range rows {
		for s := range f.Warmup() {
			at := first[(r*f.Warmup()+s)*pair:]
			copy(at, b.Observations[(s*rows+r)*c.NX:][:c.NX])
			copy(at[c.NX:], b.Controls[(s*rows+r)*c.NU:][:c.NU])
		}
	}
	// one is a single step of the batch.
	one := func(step int) model.Batch {
		return model.Batch{
			T: 1, B: rows, NX: c.NX, NU: c.NU, Observations: b.Observations[step*rows*c.NX:][:rows*c.NX],
			Controls: b.Controls[step*rows*c.NU:][:rows*c.NU],
		}
	}
	var start, next, other model.Belief
	whole := b
	whole.T, whole.Observations, whole.Controls = f.Warmup(), b.Observations[:f.Warmup()*rows*c.NX],
		b.Controls[:f.Warmup()*rows*c.NU]
	f.Begin(&start, whole)
	evaluate("initial", map[string][]float32{"first": first}, map[string][]float32{"z": start.Z})

	noise := model.Disturbance{State: make([]float32, rows*d.NZ), Switch: make([]float32, rows*d.M)}
	draws := Noise(9)
	draws.Normals(noise.State)
	draws.Gumbels(noise.Switch)
	// outputs are those of a graph of a step, as a belief has them; a model without a switch has no s_next.
	outputs := func(b *model.Belief) map[string][]float32 {
		m := map[string][]float32{"z_next": b.Z, "mean": b.Mean, "variance": b.Variance, "weights": b.Weights}
		if c.Switched() {
			m["s_next"] = b.Switch
		}
		return m
	}
	// step filters an observation and predicts one from the same belief, by the model and by its graphs.
	// Of the second observation nothing is seen, or all but one channel.
	step := func(prefix string, from *model.Belief, s int, part bool) {
		x := one(s)
		x.Seen = make([]float32, rows*c.NX)
		seen := []float32{1, 0, 1}
		for i := range x.Seen {
			if x.Seen[i] = seen[i/c.NX]; part && i%c.NX > 0 {
				x.Seen[i] = 1
			}
		}
		if c.Body != nil { // a graph of bodies is told of each value; one body may be missing alone
			for _, channel := range c.Body {
				x.Seen[channel] = 0
			}
			seen = x.Seen
		}
		f.Step(&next, from, x, noise)
		inputs := map[string][]float32{
			"z": from.Z, "s": from.Switch, "u": x.Controls, "x": x.Observations, "seen": seen,
			"noise_z": noise.State, "noise_s": noise.Switch, "drawn": {1, 1, 1},
		}
		evaluate(prefix+"filter_step", inputs, outputs(&next))
		f.Advance(&other, from, x.Controls, noise)
		evaluate(prefix+"transition", inputs, outputs(&other))
	}
	// A first switch with a network of its own has graphs of its own.
	prefix := ""
	if _, ok := by["first_filter_step"]; ok {
		prefix = "first_"
	}
	step(prefix, &start, 1, false)
	f.Step(&other, &start, one(1), model.Disturbance{})
	// Buffers of a Belief are those of the next call, so states that are still needed are copied.
	again := other
	again.Z, again.Switch = append([]float32(nil), other.Z...), append([]float32(nil), other.Switch...)
	step("", &again, 2, true)

	mean, sd := make([]float32, rows*c.NX), make([]float32, rows*c.NX)
	f.Emit(mean, sd, again.Z)
	want := map[string][]float32{"x": mean}
	if !c.Binary {
		want["sd"] = sd
	}
	evaluate("emission", map[string][]float32{"z": again.Z}, want)

	// The prediction of several steps is compared with that many single steps without noise.
	path := make([]float32, rows*horizon*c.NX)
	controls := make([]float32, rows*horizon*c.NU)
	draws.Normals(controls)
	last := again
	for h := range horizon {
		u := make([]float32, 0, rows*c.NU)
		for r := range rows {
			u = append(u, controls[(r*horizon+h)*c.NU:][:c.NU]...)
		}
		var y model.Belief
		f.Advance(&y, &last, u, model.Disturbance{})
		y.Z, y.Switch = append([]float32(nil), y.Z...), append([]float32(nil), y.Switch...)
		f.Emit(mean, sd, y.Z)
		for r := range rows {
			copy(path[(r*horizon+h)*c.NX:], mean[r*c.NX:(r+1)*c.NX])
		}
		last = y
	}
	evaluate("predict", map[string][]float32{"z": again.Z, "s": again.Switch, "controls": controls},
		map[string][]float32{"x": path, "z_next": last.Z})
}

// Switched reports whether the model has a switch that goes from step to step.
func (c Case) Switched() bool { return !c.Unswitched }
