package eval

import (
	"math"
	"testing"
)

func TestMixture_Quantile(t *testing.T) {
	m := Mixture{[]float64{-1, 3}, []float64{0.5, 2}}
	for _, level := range []float64{0.01, 0.3, 0.5, 0.9} {
		if _, got := m.shares(m.Quantile(level)); math.Abs(got-level) > 1e-12 {
			t.Errorf("level %g: the share up to the quantile is %g", level, got)
		}
	}
	if got := (Mixture{[]float64{2}, []float64{3}}).Quantile(0.975); math.Abs(got-(2+3*1.959963984540054)) > 1e-9 {
		t.Errorf("a normal quantile is %g", got)
	}
	points := Mixture{[]float64{3, 1, 2, 5, 4}, make([]float64, 5)}
	for level, want := range map[float64]float64{0: 1, 0.2: 1, 0.5: 3, 0.8: 4, 1: 5} {
		if got := points.Quantile(level); got != want {
			t.Errorf("of points: quantile %g is %g, want %g", level, got, want)
		}
	}
}

// TestMixture_CRPS: it is the integral of (F(y) − 1{y ≥ x})².
func TestMixture_CRPS(t *testing.T) {
	for _, m := range []Mixture{
		{[]float64{1}, []float64{0.7}},
		{[]float64{-1, 3, 0.2}, []float64{0.5, 2, 1}},
		{[]float64{-1, 3}, []float64{0.5, 0}},
	} {
		for _, x := range []float64{-2, 0.4, 5} {
			integral, step := 0.0, 1e-3
			for y := -30.0; y < 30; y += step {
				_, f := m.shares(y + step/2)
				if y+step/2 >= x {
					f--
				}
				integral += f * f * step
			}
			if got := m.CRPS(x); math.Abs(got-integral) > 2e-3 {
				t.Errorf("%v at %g: %g, want %g", m, x, got, integral)
			}
		}
	}
	if got := (Mixture{[]float64{2}, []float64{0}}).CRPS(5); got != 3 {
		t.Errorf("of a point: %g", got)
	}
}

func TestModes(t *testing.T) {
	sin, cos := math.Sincos(0.3)
	a := []float64{0.9 * cos, -0.9 * sin, 0, 0.9 * sin, 0.9 * cos, 0, 0, 0, 1.1}
	modes, err := Modes(a, 3, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if m := modes[0]; math.Abs(m.Modulus-1.1) > 1e-12 || m.TimeConstant > 0 || !math.IsInf(m.Period, 1) {
		t.Errorf("the growing one: %+v", m)
	}
	if m := modes[1]; math.Abs(m.TimeConstant+0.5/math.Log(0.9)) > 1e-9 || math.Abs(m.Period-2*math.Pi*0.5/0.3) > 1e-9 || m.Imaginary < 0 {
		t.Errorf("the turning one: %+v", m)
	}
}

// TestModes_ThatNeitherShrinkNorGrow: what rounding leaves of a modulus of 1 has no time constant.
func TestModes_ThatNeitherShrinkNorGrow(t *testing.T) {
	for _, v := range []float64{1, 1 - 1e-13, 1 + 1e-13, -1 + 1e-13} {
		modes, err := Modes([]float64{v}, 1, 1)
		if err != nil || !math.IsInf(modes[0].TimeConstant, 1) {
			t.Errorf("%v: %+v, %v", v, modes, err)
		}
	}
}

func TestDwells(t *testing.T) {
	s := [][]int{{0, 0, 1, 1, 1, 0}, {1}}
	d := Dwells(s, 3)
	if d[0].Visits != 2 || d[0].Mean != 1.5 || d[0].Longest != 2 || d[1].Steps != 4 || d[1].Median != 2 || !math.IsNaN(d[2].Mean) {
		t.Errorf("got %+v", d)
	}
	if c := Transitions(s, 3); c[0][0] != 1 || c[0][1] != 1 || c[1][1] != 2 || c[1][0] != 1 || c[2][2] != 0 {
		t.Errorf("got %v", c)
	}
}

// TestMixture_QuantileOfPoints: the quantile of a share that some of the points make up is the last of these, whatever
// a product of both is rounded to.
func TestMixture_QuantileOfPoints(t *testing.T) {
	for n := 1; n <= 300; n++ {
		m := Mixture{make([]float64, n), make([]float64, n)}
		for i := range n {
			m.Means[i] = float64(n - i)
		}
		for k := 1; k <= n; k++ {
			if got := m.Quantile(float64(k) / float64(n)); got != float64(k) {
				t.Fatalf("%d of %d points: %v", k, n, got)
			}
		}
	}
}
