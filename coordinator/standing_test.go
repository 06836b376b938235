package coordinator

import (
	"testing"
	"time"
)

// A member that delivers nothing is given copies of blocks ever more rarely, and one that delivers again at once.
func TestStanding_RestsLonger(t *testing.T) {
	var s standing
	if !s.untried() || s.sound(0) {
		t.Error("of a new member something is known")
	}
	now, last := time.Duration(0), time.Duration(0)
	for i := range 20 {
		s.miss(now, 0, time.Second)
		rest := s.restUntil - now
		if want := time.Second << min(i, maxRests); rest != want {
			t.Errorf("after %d misses: rest of %v, want %v", i+1, rest, want)
		}
		if s.untried() || s.sound(now) || rest < last {
			t.Errorf("after %d misses: %+v", i+1, s)
		}
		now, last = s.restUntil, rest
	}
	if s.delivers(); !s.sound(now) || s.restUntil > now {
		t.Errorf("who has delivered: %+v", s)
	}
}

// The first block that a proven member lets wait may be chance. After the second it is not counted on until what that
// has cost is a small part of the time; delivering in between changes nothing.
func TestStanding_OfProvenMembers(t *testing.T) {
	s := standing{}
	s.delivers()
	now := time.Minute
	if s.miss(now, time.Second, time.Second); !s.sound(now) || s.restUntil != 0 {
		t.Errorf("after one miss: %+v", s)
	}
	s.delivers()
	if s.miss(now, time.Second, time.Second); s.sound(now) || s.restUntil != now+time.Second {
		t.Errorf("after two: %+v", s)
	}
	s.delivers()
	if until := now + 2*debt*time.Second; s.sound(until-1) || !s.sound(until) {
		t.Errorf("it is counted on from %v on, want %v", s.forgivenAt, until)
	}
	now += time.Hour
	if s.miss(now, time.Second, time.Second); !s.sound(now) {
		t.Errorf("an hour later, one miss counts as if it were the third: %+v", s)
	}
}

// Copies go to members on trial that are not resting, as long as others are in good standing.
func TestStanding_Trials(t *testing.T) {
	ms := newMembers(new(outbox))
	s := &leasing{members: &ms}
	good, bad, resting, busy, new := testMember("good", 1, 1), testMember("bad", 2, 1), testMember("resting", 3, 1), testMember("busy", 4, 1), testMember("new", 5, 1)
	now := time.Minute
	for _, w := range []*member{good, bad, resting, busy, new} {
		w.ready, w.lastSeen = true, now
		ms.add(w)
	}
	bad.miss(0, time.Second, time.Second)
	resting.miss(now, time.Second, time.Hour)
	busy.miss(0, time.Second, time.Second)
	busy.busy = 1
	if f := s.field(now); len(s.trials(now, &f)) != 0 {
		t.Error("there are trials although nobody is known to deliver")
	}
	good.delivers()
	f := s.field(now)
	if list := s.trials(now, &f); len(list) != 1 || list[0] != bad {
		t.Errorf("%d on trial", len(list))
	}
	s.calmAt = now + 1 // others have let blocks wait lately
	f = s.field(now)
	if list := s.trials(now, &f); len(list) != 2 || list[1] != new {
		t.Errorf("%d on trial when nobody new is believed", len(list))
	}
}
