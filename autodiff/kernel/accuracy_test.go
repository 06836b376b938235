package kernel

import (
	"math"
	"testing"
)

// functions are those that approximate, with the bounds their documentation states.
var functions = []struct {
	name   string
	vector func(dst, src []float32)
	single func(float32) float32
	exact  func(float64) float64
	ulps   float64
	from   float32 // the bound holds from here on
}{
	{"Exp", Exp, exp1, math.Exp, 1.01, float32(math.Inf(-1))},
	{"Log", Log, log1, math.Log, 0.9, 0},
	{"Tanh", Tanh, tanh1, math.Tanh, 2.6, float32(math.Inf(-1))},
	{"Sigmoid", Sigmoid, sigmoid1, func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / (1 + math.Exp(x))
		}
		return 1 / (1 + math.Exp(-x))
	}, 2.4, -87},
	{"Softplus", Softplus, softplus1, func(x float64) float64 {
		return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	}, 1.7, -87},
}

// ulp returns the distance of neighbouring float32 at x.
func ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-24, -149))
}

// TestAccuracy goes through the bit patterns with a stride. The tag exhaustive
// makes it one (exhaustive_test.go).
func TestAccuracy(t *testing.T) {
	stride := accuracyStride
	if underRace || Best() == Portable {
		stride *= 10
	}
	const n = 1 << 12
	src, dst := make([]float32, n), make([]float32, n)
	for _, f := range functions {
		var worst float64
		var at float32
		for next := uint64(0); next < 1<<32; {
			for i := range src {
				src[i] = math.Float32frombits(uint32(min(next, 1<<32-1)))
				next += stride
			}
			f.vector(dst, src)
			for i, x := range src {
				want := f.exact(float64(x))
				if x < f.from || want != want || math.Abs(want) > math.MaxFloat32 {
					continue
				}
				if e := math.Abs(float64(dst[i])-want) / ulp(want); !(e <= worst) {
					worst, at = e, x
				}
			}
		}
		if !(worst <= f.ulps) {
			t.Errorf("%s(%g) is %.3f ulp off, bound %.2f", f.name, at, worst, f.ulps)
		}
		t.Logf("%s: at most %.3f ulp, at %g", f.name, worst, at)
	}
}

// TestFunctions_Limits spells out the values beyond the approximations.
func TestFunctions_Limits(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			f       func(dst, src []float32)
			x, want float32
		}{
			{Exp, 0, 1},
			{Exp, -inf, 0},
			{Exp, inf, inf},
			{Exp, 89, inf},
			{Exp, nan, nan},
			{Exp, -103, 1e-45},
			{Log, 1, 0},
			{Log, 0, -inf},
			{Log, -1, nan},
			{Log, -inf, nan},
			{Log, inf, inf},
			{Log, nan, nan},
			{Tanh, 0, 0},
			{Tanh, inf, 1},
			{Tanh, -inf, -1},
			{Tanh, nan, nan},
			{Sigmoid, 0, 0.5},
			{Sigmoid, inf, 1},
			{Sigmoid, -inf, 1.6458115e-38},
			{Sigmoid, nan, nan},
			{Softplus, inf, inf},
			{Softplus, -inf, 1.6458115e-38},
			{Softplus, nan, nan},
			{ReLU, nan, nan},
			{ReLU, -inf, 0},
		} {
			got := []float32{c.x}
			c.f(got, got)
			if !same(got[0], c.want) {
				t.Errorf("%g gives %g, want %g", c.x, got[0], c.want)
			}
		}
	})
}
