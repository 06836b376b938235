//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package config_test

import "testing"

// TestFamilies_WarmGradientAllocatesNothing, with the simulation of its episodes.
func TestFamilies_WarmGradientAllocatesNothing(t *testing.T) {
	for _, c := range citizens(t) {
		p := shards(t, c.resolve(t, "maze/smoke"), 1)
		if p == nil {
			continue
		}
		if err := p.Load(0, p.Model().Params().Values); err != nil {
			t.Fatal(err)
		}
		gradient, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
		step := func() {
			if err := p.Gradient(0, 0, 0, gradient, terms); err != nil {
				t.Fatal(err)
			}
		}
		step()
		step()
		if n := testing.AllocsPerRun(5, step); n != 0 {
			t.Errorf("%s: a warm gradient allocates %v times", c.name, n)
		}
	}
}
