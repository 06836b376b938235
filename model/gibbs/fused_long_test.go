//go:build long

package gibbs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A product that is fused with a sum has other bits on processors that can do so. Convergence is a report that no chain
// depends on.
func TestArithmetic_IsNotFused(t *testing.T) {
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
