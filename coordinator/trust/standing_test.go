package trust

import (
	"testing"
	"time"
)

// A member that delivers nothing is given copies of blocks ever more rarely, and one that delivers again at once.
func TestStanding_RestsLonger(t *testing.T) {
	var s Standing
	if !s.Untried() || s.Sound(0) {
		t.Error("of a new member something is known")
	}
	now, last := time.Duration(0), time.Duration(0)
	for i := range 20 {
		s.Miss(now, 0, time.Second)
		rest := s.restUntil - now
		if want := time.Second << min(i, maxRests); rest != want {
			t.Errorf("after %d misses: rest of %v, want %v", i+1, rest, want)
		}
		if s.Untried() || s.Sound(now) || rest < last {
			t.Errorf("after %d misses: %+v", i+1, s)
		}
		now, last = s.restUntil, rest
	}
	if s.Delivers(); !s.Sound(now) || s.restUntil > now {
		t.Errorf("who has delivered: %+v", s)
	}
}

// The first block that a proven member lets wait may be chance. After the second it is not counted on until what that
// has cost is a small part of the time; delivering in between changes nothing.
func TestStanding_OfProvenMembers(t *testing.T) {
	s := Standing{}
	s.Delivers()
	now := time.Minute
	if s.Miss(now, time.Second, time.Second); !s.Sound(now) || s.restUntil != 0 {
		t.Errorf("after one miss: %+v", s)
	}
	s.Delivers()
	if s.Miss(now, time.Second, time.Second); s.Sound(now) || s.restUntil != now+time.Second {
		t.Errorf("after two: %+v", s)
	}
	s.Delivers()
	if until := now + 2*Debt*time.Second; s.Sound(until-1) || !s.Sound(until) {
		t.Errorf("it is counted on from %v on, want %v", s.forgivenAt, until)
	}
	now += time.Hour
	if s.Miss(now, time.Second, time.Second); !s.Sound(now) {
		t.Errorf("an hour later, one miss counts as if it were the third: %+v", s)
	}
}
