package gibbs

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// ulps is the distance of two numbers in units in the last place.
func ulps(a, b float64) float64 {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
}

func TestExp_IsThatOfTheStandardLibrary(t *testing.T) {
	for x := -760.0; x < 720; x += 0.0137 {
		if got, want := matrix.Exp(x), math.Exp(x); ulps(got, want) > 2 {
			t.Fatalf("matrix.Exp(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-300, -1e-17, 709.7, 709.79, -745, -746, math.Inf(1), math.Inf(-1), math.NaN()} {
		if got, want := matrix.Exp(x), math.Exp(x); ulps(got, want) > 1 {
			t.Errorf("matrix.Exp(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestLog_IsThatOfTheStandardLibrary(t *testing.T) {
	for x := 2.3e-308; x < 1e308; x *= 1.0131 {
		if got, want := matrix.Log(x), math.Log(x); ulps(got, want) > 1 {
			t.Fatalf("matrix.Log(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, 1, -1, 1 - 1e-16, 1 + 1e-15, math.Inf(1), math.NaN()} {
		if got, want := matrix.Log(x), math.Log(x); ulps(got, want) > 1 {
			t.Errorf("matrix.Log(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestLogistic_AndSoftplus(t *testing.T) {
	for x := -700.0; x < 700; x += 0.31 {
		if got, want := matrix.Logistic(x), 1/(1+math.Exp(-x)); ulps(got, want) > 4 {
			t.Errorf("matrix.Logistic(%v) = %v, want %v", x, got, want)
		}
		want := math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
		if got := matrix.Softplus(x); math.Abs(got-want) > 1e-15+4e-16*want {
			t.Errorf("matrix.Softplus(%v) = %v, want %v", x, got, want)
		}
	}
}
