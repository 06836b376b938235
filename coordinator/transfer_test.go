package coordinator

import (
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// announcedLease is a lease that is pulled, of a machine with three chunks to a gradient.
func announcedLease(t *testing.T, credit int) (*machine, *lease) {
	t.Helper()
	m, l := testMachine(t, func(cfg *Config) { cfg.Credit = credit })
	l.said = &trust.Claim{Account: l.owner.Account}
	m.transfer.start(0, l)
	m.take()
	return m, l
}

// Chunks are asked for as far as the credit goes, and those that arrive make room for the next.
func TestTransfer_PullsWithinCredit(t *testing.T) {
	m, l := announcedLease(t, 128) // a full chunk has 64 bytes, the last 32
	x := &m.transfer
	m.leasing.pull(0)
	if l.asked.Next() != 2 || x.inFlight != 128 || l.asked.Missing() != 3 {
		t.Fatalf("%d chunks asked for, %d bytes in flight", l.asked.Next(), x.inFlight)
	}
	commands := m.take()
	expect, ok := commands[0].(expectCommand)
	if !ok || expect.First != 0 || expect.End != 2 || len(expect.Values) != 40 || expect.Opening != l.opening {
		t.Errorf("the shell is to expect the chunks before they are asked for: %+v", commands[0])
	}
	arrive := func(index int, opening uint64) Reason {
		reason, _ := x.arrive(time.Second, l, exchange.Stored{Chunk: &wire.Chunk{Lease: l.id, Index: index, CRC: 5}, Opening: opening, Finite: index != 1})
		return reason
	}
	if arrive(0, l.opening) != "" || x.inFlight != 64 || l.crcs[0] != 5 || l.special {
		t.Error("a chunk was not counted")
	}
	for name, c := range map[string]struct {
		index   int
		opening uint64
		want    Reason
	}{
		"twice":                        {0, l.opening, ReasonDuplicate},
		"not asked for":                {2, l.opening, ReasonUnrequested},
		"of a delivery that was ended": {1, l.opening - 1, ReasonUnrequested},
	} {
		if got := arrive(c.index, c.opening); got != c.want || x.inFlight != 64 {
			t.Errorf("%s: got %q, %d bytes in flight", name, got, x.inFlight)
		}
	}
	if arrive(1, l.opening) != "" || !l.special || l.asked.Missing() != 1 || x.inFlight != 0 {
		t.Errorf("special %v, %d missing, %d bytes in flight", l.special, l.asked.Missing(), x.inFlight)
	}
}

// What was pulled and is not needed gives back its credit and its memory, and nothing more is let in.
func TestTransfer_ForgetGivesBack(t *testing.T) {
	m, l := announcedLease(t, 256)
	m.leasing.pull(0)
	values := l.values
	m.take()
	m.transfer.forget(l)
	if m.transfer.inFlight != 0 || l.values != nil || &m.transfer.vector()[0] != &values[0] {
		t.Error("credit or memory is not given back")
	}
	if c, ok := m.take()[0].(closeCommand); !ok || c.lease != l.id {
		t.Error("chunks of the lease are still let in")
	}
	if m.transfer.forget(l); len(m.take()) != 0 {
		t.Error("it was given back twice")
	}
}

// A worker's copy goes first if the one before it stands still.
func TestTransfer_PrefersWhatMoves(t *testing.T) {
	m, l := announcedLease(t, 256)
	other := &lease{task: l.task, id: 9, owner: l.owner, state: announced, delivery: delivery{chunks: l.chunks}}
	l.task.leases = append(l.task.leases, other)
	if m.transfer.prefer(time.Millisecond, other); l.task.source() != l {
		t.Error("a copy that moves is given up")
	}
	if m.transfer.prefer(time.Minute, other); l.task.source() != other || l.state != announced {
		t.Error("a copy that stands still is preferred")
	}
	other.state = revoked
	if m.transfer.resume(time.Minute, l.task); l.task.source() != l {
		t.Error("the copy that is left is not pulled")
	}
}

// Chunks that never come use up the credit. A piece of the data set waits for them, then goes out alone.
func TestTransfer_PieceIsHeldBackForAWhile(t *testing.T) {
	m, _ := announcedLease(t, 128)
	x := &m.transfer
	x.data = newDataset(make([]byte, 300), 64)
	m.leasing.pull(0)
	m.take()
	newcomer := &member{id: "new"}
	newcomer.fetch.isSent = make([]bool, x.data.pieces.Count())
	newcomer.fetch.lacking = []wire.Range{{First: 0, Count: 5}}
	sent := func(now time.Duration) int {
		x.deliver(now, []*member{newcomer})
		return len(newcomer.fetch.sent)
	}
	patience := x.timing.patience()
	if n := sent(time.Second); n != 0 {
		t.Errorf("%d pieces beyond the credit, at once", n)
	}
	if n := sent(time.Second + patience - 1); n != 0 {
		t.Errorf("%d pieces beyond the credit, after a moment", n)
	}
	if n := sent(time.Second + patience); n != 1 {
		t.Errorf("%d pieces after %v, want 1", n, patience)
	}
	x.confirm(time.Second+patience, &newcomer.fetch, []wire.Range{{First: 1, Count: 4}})
	if n := sent(time.Second + patience); n != 0 {
		t.Errorf("%d pieces more at once: the next has to wait as well", n)
	}
	if n := sent(time.Second + 2*patience); n != 1 {
		t.Errorf("%d pieces after twice the time, want 1", n)
	}
}
