package coordinator

import (
	"testing"
	"time"
)

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
	bad.Miss(0, time.Second, time.Second)
	resting.Miss(now, time.Second, time.Hour)
	busy.Miss(0, time.Second, time.Second)
	busy.busy = 1
	if f := s.field(now); len(s.trials(now, &f)) != 0 {
		t.Error("there are trials although nobody is known to deliver")
	}
	good.Delivers()
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
