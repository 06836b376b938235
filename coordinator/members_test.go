package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

func testMember(id string, token uint64, slots int) *member {
	return &member{Account: &trust.Account{Token: token, Mark: wire.Mark(token), ID: id}, id: id, slots: slots}
}

// Members are known by id and token together; only those that are ready count.
func TestMembers_KnowsByIDAndToken(t *testing.T) {
	ms := newMembers(new(outbox))
	a, other := testMember("a", 1, 2), testMember("a", 2, 3)
	a.ready = true
	ms.add(a)
	ms.add(other)
	if ms.get("a", 1) != a || ms.get("a", 2) != other || ms.get("b", 1) != nil {
		t.Error("a member is not found")
	}
	if !ms.taken("a", 1) || ms.taken("b", 1) || ms.ready() != 1 || ms.slots() != 2 {
		t.Errorf("ready %d, slots %d", ms.ready(), ms.slots())
	}
	if ms.drop(other); ms.taken("a", 1) || ms.get("a", 2) != nil {
		t.Error("a member that was dropped is there")
	}
	if ms.clear(); len(ms.list) != 0 || ms.get("a", 1) != nil {
		t.Error("members are left")
	}
}

// A run that is full makes room at the one that has prepared itself longest, never at one that is ready.
func TestMembers_MakesRoom(t *testing.T) {
	ms := newMembers(new(outbox))
	for i := range maxMembers {
		w := testMember("w", uint64(i+1), 1)
		w.ready = i != 7 && i != 9
		ms.add(w)
	}
	if w, full := ms.full(); !full || w != ms.list[7] {
		t.Error("the one that has prepared itself longest is to go")
	}
	ms.list[7].ready, ms.list[9].ready = true, true
	if w, full := ms.full(); !full || w != nil {
		t.Error("nobody is to go")
	}
	ms.drop(ms.list[0])
	if _, full := ms.full(); full {
		t.Error("there is room")
	}
}

// Nobody is turned away under an id that another token was ready under: that worker would believe to be meant.
func TestMembers_TurnsAwayOnlyWhoIsMeant(t *testing.T) {
	out := new(outbox)
	ms := newMembers(out)
	ms.name("a", 1)
	for _, c := range []struct {
		id    string
		token uint64
		want  int
	}{{"a", 1, 1}, {"a", 2, 0}, {"b", 2, 1}} {
		ms.turnAway(c.id, c.token, "reason", "help")
		if got := len(out.take()); got != c.want {
			t.Errorf("%s with token %d: %d messages, want %d", c.id, c.token, got, c.want)
		}
	}
	if ms.turnAwayStranger("a", 2, "reason"); len(out.take()) != 0 {
		t.Error("a stranger is turned away under the id of a worker that was ready")
	}
}

// The time in which a member has shards in hand counts for its pace.
func TestMember_LoadCountsBusyTime(t *testing.T) {
	w := testMember("a", 1, 2)
	w.load(0, 2)
	w.load(3*time.Second, -2)
	w.Pace.Deliver(3, 2)
	if rate, _ := w.Pace.Rate(); w.busy != 0 || rate != 3.0/6 {
		t.Errorf("%d busy, %g shards per second", w.busy, rate)
	}
}

// TestMembers_RemembersNoMoreIDs: ids beyond those that are remembered are in doubt, and take no memory.
func TestMembers_RemembersNoMoreIDs(t *testing.T) {
	ms := &members{names: make(map[string]uint64), shared: make(map[string]bool)}
	for i := range rememberedMost + 10 {
		ms.name(fmt.Sprint("worker-", i), uint64(i+1))
	}
	last := fmt.Sprint("worker-", rememberedMost)
	if len(ms.names) != rememberedMost || len(ms.shared) != 0 || !ms.doubtful(last) || ms.doubtful("worker-0") {
		t.Errorf("%d ids, %d shared; the last is in doubt: %v, the first: %v", len(ms.names), len(ms.shared), ms.doubtful(last),
			ms.doubtful("worker-0"))
	}
	if ms.name("worker-0", 99); !ms.doubtful("worker-0") {
		t.Error("an id of two workers is not in doubt")
	}
}
