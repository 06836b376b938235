package trust

import "testing"

// Each time a worker is left out for twice as many steps, up to a limit. What was long ago is forgotten.
func TestExclusion_Doubles(t *testing.T) {
	var e Exclusion
	step := uint64(10)
	for i := range 2 * maxExclusions {
		e.Extend(step)
		if want := step + 1 + firstExclusion<<min(i, maxExclusions); e.Until() != want {
			t.Errorf("exclusion %d after step %d: until %d, want %d", i, step, e.Until(), want)
		}
		step = e.Until()
	}
	step += firstExclusion << maxExclusions
	if e.Extend(step); e.Until() != step+1+firstExclusion {
		t.Errorf("long after: until %d, after step %d", e.Until(), step)
	}
}
