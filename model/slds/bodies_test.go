package slds

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// bodied are settings of a small model with bodies.
func bodied(switching Switching, bodies string) *Settings {
	s := DefaultSettings()
	s.Switching, s.Bodies, s.Latent, s.Switches, s.Hidden, s.KLSamples = switching, bodies, 3, 4, 10, 3
	s.Anneal.Start, s.Anneal.KLUntil = 1, 0
	return s
}

func build(t testing.TB, s *Settings, nx, nu int) modeltest.Model {
	t.Helper()
	m, err := s.New(model.Data{NX: nx, NU: nu, Horizon: 100}, rng.New(5, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	return m.(modeltest.Model)
}

// TestBodies_KeepTheContract: a model with bodies can do what every model can, with any switch and any layout.
func TestBodies_KeepTheContract(t *testing.T) {
	for _, test := range []struct {
		switching    Switching
		durations    int
		interactions int
		bodies       string
		nu           int
		body         []int
		golden       string
		change       func(*Settings)
	}{
		{Deterministic, 0, 0, "2", 2, []int{0, 1}, "e6172ed46c3944be", nil},
		{Deterministic, 0, 3, "1/2/3/4", 4, []int{3}, "3af2f03397c41274", nil},
		{Categorical, 0, 0, "1,3:2/2,4:1", 2, []int{1, 3}, "1320ad2cc768b9ef", nil},
		{Categorical, 3, 0, "1,3:2/2,4:1", 2, []int{1, 3}, "73372d18d9145312", nil},
		{Categorical, 3, 2, "1,3:2/2,4:1", 2, []int{1, 3}, "90e23d47aacc8b9a", nil},
		{Normal, 0, 0, "2", 3, []int{2, 3}, "23ab7f3738a759b2", nil},
		{Normal, 0, 2, "2", 3, []int{2, 3}, "6337522389bec2dc", nil},
		{Concrete, 0, 0, "1,4/2,3", 0, []int{0, 3}, "67196a882b05e8d1", nil},
		{Deterministic, 0, 0, "1,2:2,1/3,4:1,2", 2, []int{0, 1}, "f17c56f9599c4fc8", nil},
		{Normal, 0, 0, "1,3:2/2,4:1", 2, []int{1, 3}, "5ae468efc01cc92c", func(s *Settings) {
			s.Weights, s.Offset, s.VarianceFloor = statespace.Sigmoid, true, 0.1
		}},
	} {
		t.Run(string(test.switching), modeltest.Case{
			New: func(t testing.TB) modeltest.Model {
				s := bodied(test.switching, test.bodies)
				s.Durations, s.Interactions = test.durations, test.interactions
				if test.change != nil {
					test.change(s)
				}
				m := build(t, s, 4, test.nu)
				draws := rng.New(6, rng.Init).At(0, 0, 0)
				for i := range m.Params().Values { // no weight is zero, as some are at the beginning
					m.Params().Values[i] += float32(0.1 * draws.Normal())
				}
				m.Params().Pack()
				return m
			},
			NX: 4, NU: test.nu, First: 3, Golden: test.golden, Body: test.body,
			Smooths: test.switching == Normal || test.switching == Concrete, Interacts: test.interactions > 0,
		}.Run)
	}
}

// TestBodies_OneIsNone: one body is the model without bodies, also where the model of bodies is asked.
func TestBodies_OneIsNone(t *testing.T) {
	s := bodied(Concrete, "1")
	plain := build(t, s, 4, 2)
	if _, wrapped := plain.(*statespace.Bodies); wrapped {
		t.Error("a model of one body is one of bodies")
	}
	layout, err := statespace.NewLayout("1", 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	of := func(m modeltest.Model) string {
		return modeltest.Case{NX: 4, NU: 2, First: 3, New: func(testing.TB) modeltest.Model { return m }}.Bits(t)
	}
	if a, b := of(plain), of(statespace.NewBodies(build(t, s, 4, 2).(statespace.Bodied), layout)); a != b {
		t.Errorf("bits %s and %s", a, b)
	}
}

// silent cuts the message of a model with bodies and returns the model of one body with the same parameters.
func silent(t *testing.T, s *Settings, m modeltest.Model, nx, nu int) modeltest.Model {
	t.Helper()
	alone := *s
	alone.Bodies = "1"
	one := build(t, &alone, nx, nu)
	from := map[string]autodiff.Named{}
	for _, w := range m.Params().Layout() {
		from[w.Name] = w
	}
	for _, to := range one.Params().Layout() {
		w := from[to.Name] // the rows of a message come last
		values := m.Params().Values[w.Offset : w.Offset+w.Size]
		copy(one.Params().Values[to.Offset:to.Offset+to.Size], values)
		clear(values[to.Size:])
	}
	m.Params().Pack()
	one.Params().Pack()
	return one
}

// TestBodies_AddUp: without a message the objective of a sequence is the sum of those of its bodies.
func TestBodies_AddUp(t *testing.T) {
	for _, switching := range []Switching{Deterministic, Categorical, Normal, Concrete} {
		s := bodied(switching, "3")
		m := build(t, s, 6, 3)
		one := silent(t, s, m, 2, 1)
		b := modeltest.Case{NX: 6, NU: 3}.Batch(7, 4)
		apart := model.Batch{T: 7, B: 12, NX: 2, NU: 1, Observations: b.Observations, Controls: b.Controls}
		loss := func(m modeltest.Model, b model.Batch) float64 {
			terms := make([]float32, len(m.Terms()))
			return float64(m.Loss(autodiff.NewInferenceTape(m.Params()), b, noiseOf(1), 10, terms).Value[0])
		}
		if got, want := loss(m, b), 3*loss(one, apart); math.Abs(got-want) > 1e-4*math.Abs(want) {
			t.Errorf("%s: %v for three bodies, %v for each alone", switching, got, want)
		}
	}
}

// TestBodies_KnowOfEachOther: what one body shows changes the weights of another of the same sequence, and nothing of
// another sequence.
func TestBodies_KnowOfEachOther(t *testing.T) {
	m := build(t, bodied(Deterministic, "2"), 4, 2)
	weights := func(b model.Batch) []float32 {
		var f model.Filtering
		m.NewForecaster().(model.Filterer).Filter(&f, b, noiseOf(0))
		return slices.Clone(f.Switches[2*f.M*2:]) // two sequences, from the third time step on
	}
	b := modeltest.Case{NX: 4, NU: 2}.Batch(4, 2)
	before := weights(b)
	b.Observations[0] += 3 // of the first body of the first sequence
	after := weights(b)
	const own = 4 // weights of a body
	for i := 0; i < len(before); i += own {
		body, sequence := i/own%2, i/own/2%2
		same := slices.Equal(before[i:i+own], after[i:i+own])
		if same == (sequence == 0) {
			t.Errorf("body %d of sequence %d: the same weights: %v", body+1, sequence+1, same)
		}
	}
}

// TestBodies_AreInterchangeable: bodies in another order, with their noise, have the same answers in that order.
func TestBodies_AreInterchangeable(t *testing.T) {
	for _, switching := range []Switching{Deterministic, Categorical, Normal, Concrete} {
		s := bodied(switching, "3")
		s.Interactions = 2
		f := build(t, s, 6, 3).NewForecaster().(model.Exporter)
		d := f.Dims()
		b := modeltest.Case{NX: 6, NU: 3}.Batch(5, 2)
		noise := model.Disturbance{State: make([]float32, 2*d.NZ), Switch: make([]float32, 2*d.M)}
		draws := noiseOf(3)
		draws.Normals(noise.State)
		draws.Gumbels(noise.Switch)
		run := func(turn func(x []float32, width int) []float32) []float32 {
			at := func(from, steps int) model.Batch {
				return model.Batch{
					T: steps, B: 2, NX: 6, NU: 3, Observations: turn(b.Observations[from*12:][:steps*12], 2),
					Controls: turn(b.Controls[from*6:][:steps*6], 1),
				}
			}
			n := model.Disturbance{State: turn(noise.State, d.NZ/3), Switch: turn(noise.Switch, d.M/3)}
			var first, second, third model.Belief
			f.Begin(&first, at(0, 3))
			f.Step(&second, &first, at(3, 1), n)
			f.Advance(&third, &second, at(4, 1).Controls, n)
			return append(slices.Clone(third.Z), third.Weights...)
		}
		plain := func(x []float32, _ int) []float32 { return x }
		turned := func(x []float32, width int) []float32 { // the last body first
			y := make([]float32, 0, len(x))
			for i := 0; i < len(x); i += 3 * width {
				y = append(append(y, x[i+2*width:i+3*width]...), x[i:i+2*width]...)
			}
			return y
		}
		got, want := run(turned), run(plain)
		want = append(turned(want[:2*d.NZ], d.NZ/3), turned(want[2*d.NZ:], d.M/3)...)
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > 1e-4 {
				t.Fatalf("%s: %v, want %v", switching, got, want)
			}
		}
	}
}

// TestBodies_MixSystems: the weights of all bodies mix the systems, which are those of one body for each, to the
// transition; controls are in the order of the sequence, and the constant of an offset is a bias.
func TestBodies_MixSystems(t *testing.T) {
	offset := bodied(Deterministic, "1,4:2/2,3:1")
	offset.Offset = true
	f := build(t, offset, 4, 2).NewForecaster().(bodies)
	d := f.Dims()
	b := modeltest.Case{NX: 4, NU: 2}.Batch(4, 1)
	first := b
	first.T = 3
	var from, to model.Belief
	f.Begin(&from, first)
	u := b.Controls[3*2:]
	f.Advance(&to, &from, u, model.Disturbance{})
	weights := make([]float64, d.M)
	for i, w := range to.Weights {
		weights[i] = float64(w)
	}
	s := f.Systems()
	mixed := s.Mix(weights)
	for i := range d.NZ {
		want := mixed.Bias[i]
		for j, z := range from.Z {
			want += mixed.A[i*d.NZ+j] * float64(z)
		}
		for j, v := range u {
			want += mixed.B[i*d.NU+j] * float64(v)
		}
		if math.Abs(float64(to.Mean[i])-want) > 1e-5 {
			t.Errorf("dimension %d: %v, want %v", i, to.Mean[i], want)
		}
	}
	one := s.Body()
	if n := one.NZ; one.M != d.M/2 || n != d.NZ/2 || one.A[n] != s.A[d.NZ] || one.Q[n+1] != s.Q[d.NZ+1] {
		t.Errorf("systems of one body: %d of %d dimensions", one.M, n)
	}
}

// TestBodies_Interact: what the other bodies do to a body is the sum over pairs that Interaction says, here with numbers
// of twice the precision, beside what the systems do.
func TestBodies_Interact(t *testing.T) {
	const count, nz, systems, width = 3, 3, 4, 5
	for _, switching := range []Switching{Deterministic, Categorical} {
		s := bodied(switching, "3")
		s.Interactions = systems
		m := build(t, s, 6, 3)
		draws := rng.New(6, rng.Init).At(0, 0, 0)
		for i := range m.Params().Values {
			m.Params().Values[i] += float32(0.3 * draws.Normal())
		}
		m.Params().Pack()
		values := map[string][]float32{}
		for _, w := range m.Params().Layout() {
			values[strings.TrimPrefix(w.Name, "interaction.")] = m.Params().Values[w.Offset : w.Offset+w.Size]
		}
		f := m.NewForecaster().(bodies)
		b := modeltest.Case{NX: 6, NU: 3}.Batch(4, 1)
		first := b
		first.T = 3
		var from, to model.Belief
		f.Begin(&from, first)
		f.Advance(&to, &from, b.Controls[3*3:], model.Disturbance{})
		mix := make([]float64, f.Dims().M)
		for i, w := range to.Weights {
			mix[i] = float64(w)
		}
		alone := f.Systems().Mix(mix)
		layer := func(x []float64, weight, bias string, width int) []float64 {
			y := make([]float64, width)
			for j := range y {
				if bias != "" {
					y[j] = float64(values[bias][j])
				}
				for i, v := range x {
					y[j] += v * float64(values[weight][i*width+j])
				}
			}
			return y
		}
		z := make([][]float64, count)
		for i, v := range from.Z {
			z[i/nz] = append(z[i/nz], float64(v))
		}
		moved := 0.0
		for k := range count {
			effect := make([]float64, nz)
			for j := range count {
				if j == k {
					continue
				}
				h, away := layer(z[j], "weight", "bias", width), make([]float64, nz)
				for i, v := range layer(z[k], "own", "", width) {
					h[i] = math.Tanh(h[i] + v)
				}
				h = layer(h, "hidden.weight", "hidden.bias", width)
				for i := range h {
					h[i] = max(0, h[i])
				}
				v, sum := layer(h, "logits.weight", "logits.bias", systems), 0.0
				for p := range v {
					v[p] = math.Exp(v[p])
					sum += v[p]
				}
				for i := range away {
					away[i] = 4 * math.Tanh((z[j][i]-z[k][i])/4)
				}
				for p := range v {
					for i := range nz {
						for l := range nz {
							effect[i] += v[p] / sum * away[l] * float64(values["A"][(p*nz+l)*nz+i])
						}
					}
				}
			}
			for i, e := range effect {
				row := k*nz + i
				want := alone.Bias[row] + e
				for j, v := range from.Z {
					want += alone.A[row*count*nz+j] * float64(v)
				}
				for j, v := range b.Controls[3*3:] {
					want += alone.B[row*3+j] * float64(v)
				}
				moved = max(moved, math.Abs(e))
				if math.Abs(float64(to.Mean[row])-want) > 1e-4 {
					t.Errorf("%s, body %d, dimension %d: %v, want %v", switching, k+1, i+1, to.Mean[row], want)
				}
			}
		}
		if moved < 0.1 {
			t.Errorf("%s: no body is moved by more than %v", switching, moved)
		}
	}
}

type bodies interface {
	model.Stepper
	model.Systematic
}

func TestBodies_Layouts(t *testing.T) {
	for text, want := range map[string]string{
		"2": "", "1": "", "1,2/3,4": "", "4,1/2,3": "", "1,2:1/3,4:1": "",
		"3":           "4 channels are not those of 3 bodies",
		"0":           "4 channels are not those of 0 bodies",
		"1,2/3,x":     `"x" is none of the numbers 1 to 4`,
		"1,2/3,5":     `"5" is none of the numbers 1 to 4`,
		"1,2/3":       "body 2 has 1 channels and 0 controls, body 1 has 2 and 0",
		"1,2/2,3":     "channel 2 is not",
		"1/2/3":       "channel 4 of 4 belongs to no body",
		"1,2:1/3,4":   "1 of 2 bodies have controls listed",
		"1,2:1/3,4:9": `"9" is none of the numbers 1 to 2`,

		"1,2,3,4": `"1,2,3,4" lists a single body`, "1,2,3,4:1": `"1,2,3,4:1" lists a single body`,
		"1,1/2,3": "body 1: 1 is listed twice", "1,2:1,1/3,4:2,2": "body 1: 1 is listed twice",
	} {
		_, err := statespace.NewLayout(text, 4, 2)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
		if err != nil && !errors.Is(err, statespace.ErrBodies) {
			t.Errorf("%s: %v does not wrap ErrBodies", text, err)
		}
	}
}
