package gibbs

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// mixed is data with everything: controls, missing values, recordings of unequal length, one of a single step.
func mixed(observed int) Data {
	s := testSource(6000)
	data := Data{Observed: observed, Controls: 2}
	for _, n := range []int{40, 1, 25, 2} {
		r := Recording{Y: make([]float64, n*observed), U: randoms(&s, 2*n)}
		x := randoms(&s, observed)
		for t := range n {
			for i := range x {
				x[i] = 0.9*x[i] + 0.3*r.U[2*t+i%2] + 0.2*s.normal()
				r.Y[t*observed+i] = x[i]
				if s.stream.IntN(6) == 0 {
					r.Y[t*observed+i] = math.NaN()
				}
			}
		}
		data.Recordings = append(data.Recordings, r)
	}
	return data
}

// variants are configurations that use every part of the sampler, for data of three observed dimensions.
func variants() map[string]Config {
	rslds, trslds := DefaultConfig(false), DefaultConfig(true)
	rslds.Latent, trslds.Latent = 3, 2
	trslds.Identity, trslds.Leaves = false, 5
	wide := DefaultConfig(false)
	wide.Latent, wide.Identity = 5, false
	one := DefaultConfig(true)
	one.Latent, one.Leaves = 3, 1
	return map[string]Config{"rslds": rslds, "trslds": trslds, "more latent than observed dimensions": wide, "one leaf": one}
}

func newFit(t *testing.T, cfg Config, seed uint64, chain uint32) *Fit {
	t.Helper()
	f, err := NewFit(cfg, Schedule{Sweeps: 20, BurnIn: 5, Draws: 4}, mixed(3), rng.New(seed, rng.Noise), chain)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func steps(t *testing.T, f *Fit, n int) *Fit {
	t.Helper()
	for range n {
		if err := f.Step(); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestFit_IsAFunctionOfItsArguments(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			a, b := steps(t, newFit(t, cfg, 1, 0), 8), steps(t, newFit(t, cfg, 1, 0), 8)
			if !reflect.DeepEqual(a.State(), b.State()) {
				t.Error("two fits of the same arguments differ")
			}
			for what, other := range map[string]*Fit{"seed": newFit(t, cfg, 2, 0), "chain": newFit(t, cfg, 1, 1)} {
				if reflect.DeepEqual(a.State(), steps(t, other, 8).State()) {
					t.Errorf("another %s makes no difference", what)
				}
			}
		})
	}
}

func TestFit_GoesOnWithTheSameBits(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			want := steps(t, newFit(t, cfg, 1, 3), 20)
			for _, at := range []int{0, 1, 5, 9, 20} {
				half := steps(t, newFit(t, cfg, 1, 3), at)
				state := half.State()
				restored, err := RestoreFit(cfg, half.schedule, mixed(3), rng.New(1, rng.Noise), 3, state)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(restored.State(), state) {
					t.Fatalf("restored after %d sweeps: another state", at)
				}
				steps(t, restored, 20-at)
				if !restored.Done() || !reflect.DeepEqual(restored.State(), want.State()) {
					t.Errorf("interrupted after %d sweeps: other bits", at)
				}
				if !slices.Equal(restored.Trace(0), want.Trace(0)) || len(want.Trace(0)) != 15 {
					t.Errorf("interrupted after %d sweeps: another trace", at)
				}
			}
		})
	}
}

func TestState_IsACopy(t *testing.T) {
	f := steps(t, newFit(t, variants()["trslds"], 1, 0), 7)
	before := f.State()
	for _, part := range f.State() {
		for i := range part.Values {
			part.Values[i] = -1
		}
	}
	if !reflect.DeepEqual(before, f.State()) {
		t.Error("writing to a state changes the fit")
	}
}

func TestRestore_RefusesWhatIsNoState(t *testing.T) {
	cfg := variants()["trslds"]
	f := steps(t, newFit(t, cfg, 1, 0), 7)
	for name, spoil := range map[string]func([]Tensor) []Tensor{
		"missing": func(s []Tensor) []Tensor { return s[1:] },
		"shape":   func(s []Tensor) []Tensor { s[0].Shape = []int{1}; return s },
		"length":  func(s []Tensor) []Tensor { s[0].Values = s[0].Values[1:]; return s },
		"NaN":     func(s []Tensor) []Tensor { s[0].Values[0] = math.NaN(); return s },
		"regime":  func(s []Tensor) []Tensor { set(s, "regimes", 7); return s },
		"half":    func(s []Tensor) []Tensor { set(s, "regimes", 0.5); return s },
		"sweep":   func(s []Tensor) []Tensor { set(s, "sweep", -1); return s },
		"beyond":  func(s []Tensor) []Tensor { set(s, "sweep", 1000); return s },
	} {
		_, err := RestoreFit(cfg, f.schedule, mixed(3), rng.New(1, rng.Noise), 0, spoil(f.State()))
		if !errors.Is(err, ErrState) {
			t.Errorf("%s: %v, want ErrState", name, err)
		}
	}
}

func set(state []Tensor, name string, v float64) {
	state[slices.IndexFunc(state, func(t Tensor) bool { return t.Name == name })].Values[0] = v
}

func TestSweep_AllocatesNothingPerStep(t *testing.T) {
	for name, cfg := range variants() {
		f := newFit(t, cfg, 1, 0)
		if got := testing.AllocsPerRun(5, func() {
			if err := f.chain.Sweep(); err != nil {
				t.Fatal(err)
			}
		}); got > 40 { // a few per phase, whatever the number of steps, of which there are 64
			t.Errorf("%s: %v allocations per sweep", name, got)
		}
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	bad := Config{Shape: "bush", Leaves: 0, Latent: 2, Identity: true}
	_, err := New(bad, mixed(3), rng.New(1, rng.Noise), 0)
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("%v, want ErrConfig", err)
	}
	for _, word := range []string{"bush", "leaves", "C = I", "Prior.Start", "Prior.Resolution"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
	for name, spoil := range map[string]func(*Data){
		"no observed dimension": func(d *Data) { d.Observed = 0 },
		"no recording":          func(d *Data) { d.Recordings = nil },
		"single steps":          func(d *Data) { d.Recordings = d.Recordings[1:2] },
		"ragged":                func(d *Data) { d.Recordings[0].Y = d.Recordings[0].Y[1:] },
		"empty":                 func(d *Data) { d.Recordings[0].Y = nil },
		"controls":              func(d *Data) { d.Recordings[0].U = nil },
		"infinite":              func(d *Data) { d.Recordings[0].Y[3] = math.Inf(1) },
		"missing control":       func(d *Data) { d.Recordings[0].U[5] = math.NaN() },
		"never observed": func(d *Data) {
			for _, r := range d.Recordings {
				for i := 0; i < len(r.Y); i += 3 {
					r.Y[i] = math.NaN()
				}
			}
		},
	} {
		d := mixed(3)
		spoil(&d)
		if _, err := New(variants()["rslds"], d, rng.New(1, rng.Noise), 0); !errors.Is(err, ErrData) {
			t.Errorf("%s: %v, want ErrData", name, err)
		}
	}
	d := mixed(3)
	d.Recordings[0].U[0] = math.NaN() // no step is before it
	if _, err := New(variants()["rslds"], d, rng.New(1, rng.Noise), 0); err != nil {
		t.Error(err)
	}
}

func TestInterpolate(t *testing.T) {
	nan := math.NaN()
	y := []float64{9, nan, 1, nan, nan, 4, nan, 9}
	interpolate(y, 1, span{1, 7}, -5)
	if want := []float64{9, 1, 1, 2, 3, 4, 4, 9}; !slices.Equal(y, want) {
		t.Errorf("%v, want %v", y, want)
	}
	y = []float64{1, 0, nan, 0, nan, 0}
	interpolate(y, 2, span{1, 3}, -5)
	if want := []float64{1, 0, -5, 0, -5, 0}; !slices.Equal(y, want) {
		t.Errorf("%v, want %v", y, want)
	}
}

// Leaf probabilities sum to one, and follow the path from the root.
func TestTree(t *testing.T) {
	s := testSource(6100)
	for _, shape := range []Shape{Caterpillar, Balanced} {
		for leaves := 1; leaves <= 9; leaves++ {
			tree := newTree(shape, leaves)
			nu, logPi := randoms(&s, leaves-1), make([]float64, leaves)
			tree.logProbabilities(logPi, nu)
			total := 0.0
			for k, path := range tree.paths {
				want := 1.0
				for _, turn := range path {
					want *= 1 / (1 + math.Exp(-turn.sign*nu[turn.node]))
				}
				if math.Abs(math.Exp(logPi[k])-want) > 1e-14 {
					t.Errorf("%s, leaf %d of %d: probability %v, want %v", shape, k, leaves, math.Exp(logPi[k]), want)
				}
				if got := tree.depth[tree.inner()+k]; got != len(path) || got > tree.height {
					t.Errorf("%s: leaf %d of %d has depth %d, its path %d turns, of at most %d", shape, k, leaves, got, len(path), tree.height)
				}
				total += want
			}
			if math.Abs(total-1) > 1e-14 {
				t.Errorf("%s: the probabilities of %d leaves sum to %v", shape, leaves, total)
			}
		}
	}
	if h := newTree(Balanced, 8).height; h != 3 {
		t.Errorf("a balanced tree of 8 leaves has height %d, want 3", h)
	}
	if h := newTree(Caterpillar, 8).height; h != 7 {
		t.Errorf("a caterpillar of 8 leaves has height %d, want 7", h)
	}
}
