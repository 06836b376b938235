//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package worker

import (
	"testing"

	"github.com/switchyard-ml/switchyard/model/slds"
)

// TestShards_WarmGradientAllocatesNothing.
func TestShards_WarmGradientAllocatesNothing(t *testing.T) {
	for _, switching := range []slds.Switching{slds.Concrete, slds.Normal} {
		p := testShards(t, switching, 1)
		grad, terms := make([]float32, p.Size()), make([]float32, 5)
		step := func() {
			if err := p.Gradient(0, 0, 0, grad, terms); err != nil {
				t.Fatal(err)
			}
		}
		step()
		step()
		if n := testing.AllocsPerRun(5, step); n != 0 {
			t.Errorf("%s: a warm gradient allocates %v times", switching, n)
		}
		rounded, state := testRounded(t, p)
		if err := rounded.Load(0, state); err != nil {
			t.Fatal(err)
		}
		integers := make([]float32, rounded.Size())
		if n := testing.AllocsPerRun(5, func() {
			if err := rounded.Gradient(0, 0, 0, integers, terms); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: a warm gradient in integers allocates %v times", switching, n)
		}
		if p.Flops() <= 0 {
			t.Error("work is not counted")
		}
	}
}
