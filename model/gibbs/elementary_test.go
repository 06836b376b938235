package gibbs

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A product that is fused with a sum has other bits on processors that can do so. Convergence is a report that no chain
// depends on.
func TestArithmetic_IsNotFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another processor")
	}
	build := exec.Command("go", "build", "-gcflags=-S", ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	listing, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, listing)
	}
	fused := regexp.MustCompile(`(\w+\.go:\d+)\).*\bFN?M(ADD|SUB)D`).FindAllStringSubmatch(string(listing), -1)
	seen := map[string]bool{}
	for _, f := range fused {
		if !seen[f[1]] && !strings.HasPrefix(f[1], "convergence.go") {
			t.Errorf("%s: a product is fused with a sum: round it first, as float64(a*b) + c", f[1])
		}
		seen[f[1]] = true
	}
	if len(fused) == 0 {
		t.Error("the listing has no fused operation at all, not even those of convergence.go: is it one?")
	}
}

// ulps is the distance of two numbers in units in the last place.
func ulps(a, b float64) float64 {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
}

func TestExp_IsThatOfTheStandardLibrary(t *testing.T) {
	for x := -760.0; x < 720; x += 0.0137 {
		if got, want := exp(x), math.Exp(x); ulps(got, want) > 2 {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-300, -1e-17, 709.7, 709.79, -745, -746, math.Inf(1), math.Inf(-1), math.NaN()} {
		if got, want := exp(x), math.Exp(x); ulps(got, want) > 1 {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestLog_IsThatOfTheStandardLibrary(t *testing.T) {
	for x := 2.3e-308; x < 1e308; x *= 1.0131 {
		if got, want := log(x), math.Log(x); ulps(got, want) > 1 {
			t.Fatalf("log(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, 1, -1, 1 - 1e-16, 1 + 1e-15, math.Inf(1), math.NaN()} {
		if got, want := log(x), math.Log(x); ulps(got, want) > 1 {
			t.Errorf("log(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestLogistic_AndSoftplus(t *testing.T) {
	for x := -700.0; x < 700; x += 0.31 {
		if got, want := logistic(x), 1/(1+math.Exp(-x)); ulps(got, want) > 4 {
			t.Errorf("logistic(%v) = %v, want %v", x, got, want)
		}
		want := math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
		if got := softplus(x); math.Abs(got-want) > 1e-15+4e-16*want {
			t.Errorf("softplus(%v) = %v, want %v", x, got, want)
		}
	}
}
