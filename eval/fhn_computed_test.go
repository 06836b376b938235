package eval

import (
	"math"
	"testing"
)

// TestFHNComputed_AreOfTheProtocol: two runs of each model that the paper compares with, each with all horizons, and
// their means between them.
func TestFHNComputed_AreOfTheProtocol(t *testing.T) {
	count := map[string]int{}
	seen := map[string]bool{}
	for _, r := range FHNComputedRuns() {
		count[r.Name]++
		if len(r.R2) != 30 || len(r.Hash) != 64 || len(r.Identity) != 64 || seen[r.Hash] || seen[r.Identity] {
			t.Errorf("%s, %s: %d horizons, hash %q, identity %q", r.Name, r.Arguments, len(r.R2), r.Hash, r.Identity)
		}
		seen[r.Hash], seen[r.Identity] = true, true
		for k, v := range r.R2 {
			if !(v > 0.5 && v <= 1) {
				t.Errorf("%s, %s: R² at %d is %v", r.Name, r.Arguments, k+1, v)
			}
		}
	}
	for _, p := range FHNComputedMeans(7) {
		if count[p.Name] != 2 || len(p.Values) != 7 {
			t.Errorf("%s: %d runs, %d horizons", p.Name, count[p.Name], len(p.Values))
		}
		sum := 0.0
		for _, r := range FHNComputedRuns() {
			if r.Name == p.Name {
				sum += r.R2[6] / 2
			}
		}
		if math.Abs(sum-p.Values[6]) > 1e-12 {
			t.Errorf("%s: mean %v, want %v", p.Name, p.Values[6], sum)
		}
	}
	if count["TrSLDS"] != 2 || count["rSLDS"] != 2 || len(count) != 2 {
		t.Errorf("runs %v", count)
	}
	var table Table
	table.pick("", []float64{1, 2}, []int{2, 3})
	if v := table.Rows[0].Values; v[0] != 2 || !math.IsNaN(v[1]) {
		t.Errorf("at the last horizon and beyond there is %v", v)
	}
}
