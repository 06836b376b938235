package eval

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/rng"
)

// The calibration figures of the oscillator: predictors that need no model, computed beforehand
// with an independent simulator on 400 trajectories. Here 4000 are used, so the tolerances are
// about three standard errors of the 400, which grow with the spread of the targets.
var calibration = []struct {
	name      string
	r2        []float64 // at FHNHorizons, starts everywhere in the last 30 steps
	tolerance float64
}{
	{"true system", []float64{1.000, 1.000, .999, .997, .995, .991, .984, .977}, .006},
	{"linear least squares", []float64{.999, .996, .976, .913, .828, .740, .662, .600}, .02},
	{"persistence", []float64{.998, .993, .959, .844, .671, .464, .244, .024}, .04},
}

func TestBaselines_MatchTheCalibration(t *testing.T) {
	const length, horizon = 400, 30
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	d := simulateTrials(env, rng.New(1, rng.Episode), 0, 4000, length+horizon)
	linear, err := fitLinear(d, length)
	if err != nil {
		t.Fatal(err)
	}
	predictors := []step{
		func(dst, x []float64) { dst[0], dst[1] = env.Step(x[0], x[1], 0) },
		linear,
		persistence,
	}
	means := d.means()
	for i, c := range calibration {
		got := predictors[i].score(d, means, length-1, length+horizon-2, horizon)
		one := predictors[i].score(d, means, length-1, length-1, horizon)
		for j, k := range FHNHorizons() {
			if math.Abs(got[k-1]-c.r2[j]) > c.tolerance {
				t.Errorf("%s, k = %d: R² = %.3f, want %.3f ± %g", c.name, k, got[k-1], c.r2[j], c.tolerance)
			}
			// Both readings are nearly equal, and equal where only one start is left.
			if math.Abs(one[k-1]-got[k-1]) > .03 || k == horizon && math.Abs(one[k-1]-got[k-1]) > 1e-12 {
				t.Errorf("%s, k = %d: %.3f from the first start, %.3f from all", c.name, k, one[k-1], got[k-1])
			}
		}
		t.Logf("%-20s %.3f", c.name, pick(got))
	}
}

func pick(curve []float64) []float64 {
	var v []float64
	for _, k := range FHNHorizons() {
		v = append(v, curve[k-1])
	}
	return v
}

// Least squares on a noise-free linear system finds the system.
func TestFitLinear_RecoversALinearSystem(t *testing.T) {
	d := trials{N: 3, T: 12, NX: 2}
	for n := range d.N {
		x := [2]float64{float64(n) - 1, 2}
		for range d.T {
			d.x = append(d.x, float32(x[0]), float32(x[1]))
			x = [2]float64{0.5*x[0] - 0.25*x[1] + 1, 0.25*x[0] + 0.75*x[1] - 0.5}
		}
	}
	f, err := fitLinear(d, d.T)
	if err != nil {
		t.Fatal(err)
	}
	for k, r := range f.score(d, d.means(), 4, d.T-2, 5) {
		if math.Abs(r-1) > 1e-9 {
			t.Errorf("k = %d: R² = %v, want 1", k+1, r)
		}
	}
}

// Two trials by hand: errors 1 and 2, distances to the trials' means 2 and 4.
func TestR2_PoolsBeforeItDivides(t *testing.T) {
	r, other := newR2(2), newR2(2)
	r.add(1, []float32{3}, []float64{2}, []float64{1})
	other.add(1, []float32{5}, []float64{3}, []float64{1})
	r.merge(other)
	v := r.values()
	if want := 1 - (1.0+4)/(4+16); v[0] != want {
		t.Errorf("R²_1 = %v, want %v", v[0], want)
	}
	if !math.IsNaN(v[1]) {
		t.Errorf("R²_2 = %v without any target, want NaN", v[1])
	}
}
