package vector

import (
	"slices"
	"testing"
)

// TestRetreat: after mostLeftOut outlying gradients in a row the parameters are their average again, the first moment is
// zero and the rate half; fewer in a row change nothing. What continues from the moments does the same.
func TestRetreat(t *testing.T) {
	s := Schedule{Rate: 0.125, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Outlier: 100, Decay: 1, DecayEvery: 1}
	theta, average := []float32{1, 2}, []float32{-3, 5}
	adam := NewAdam(s, 2)
	retreat := NewRetreat(adam)
	step := uint64(0)
	rate := 0.0
	update := func(gradient float32) bool {
		t.Helper()
		var err error
		if _, rate, err = adam.Update(theta, []float32{gradient, gradient}, 1, step); err != nil {
			t.Fatal(err)
		}
		step++
		return retreat.Note(theta, average)
	}
	several := func(n int, gradient float32) (retreats int) {
		for range n {
			if update(gradient) {
				retreats++
			}
		}
		return retreats
	}
	several(150, 1)
	if n := several(mostLeftOut-1, 1e9) + several(1, 1) + several(mostLeftOut-1, 1e9); n != 0 || !adam.LeftOut() {
		t.Fatalf("%d retreats, left out: %v", n, adam.LeftOut())
	}

	other := NewAdam(s, 2) // what a checkpoint at this moment continues as
	behind := NewRetreat(other)
	for i, m := range append(adam.Moments(), retreat.Moment()) {
		copy(append(other.Moments(), behind.Moment())[i].Values, m.Values)
	}
	other.Resume(step)
	behind.Resume()
	resumed := slices.Clone(theta)

	if !update(1e9) || !slices.Equal(theta, average) || adam.m[0] != 0 || rate != 0.125 {
		t.Errorf("theta %v, m %v, rate %g", theta, adam.m, rate)
	}
	if _, _, err := other.Update(resumed, []float32{1e9, 1e9}, 1, step-1); err != nil || !behind.Note(resumed, average) {
		t.Errorf("what continues does not retreat: %v", err)
	}
	if update(1) || rate != 0.0625 {
		t.Errorf("afterwards the rate is %g", rate)
	}
	if _, again, err := other.Update(resumed, []float32{1, 1}, 1, step-1); err != nil || again != rate || !slices.Equal(resumed, theta) {
		t.Errorf("what continues has %v at rate %g, %v; want %v", resumed, again, err, theta)
	}
	if several(mostLeftOut, 1e9) != 1 || several(1, 1) != 0 || rate != 0.03125 {
		t.Errorf("after the second retreat the rate is %g", rate)
	}
}
