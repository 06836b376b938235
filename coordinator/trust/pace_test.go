package trust

import (
	"testing"
	"time"
)

// The time in which shards are in hand counts, for as many as there are slots, and until something is delivered the pace
// is low.
func TestPace_CountsBusyTime(t *testing.T) {
	var p Pace
	p.Start(time.Second)
	if _, known := p.Rate(); known {
		t.Error("there is a pace before anything was measured")
	}
	p.Count(4*time.Second, 5, 2)
	if rate, known := p.Rate(); !known || rate != unproven/6 {
		t.Errorf("nothing delivered in 6 s: %g, %v", rate, known)
	}
	p.Deliver(3, 2)
	if rate, _ := p.Rate(); rate != 3.0/6 {
		t.Errorf("3 shards in 6 s: %g", rate)
	}
	if p.Doubt(); p.seconds >= 6*memory {
		t.Errorf("who was given nothing: %g s", p.seconds)
	}
}
