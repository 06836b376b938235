package coordinator

import (
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// leaver is a coordinator that audits all, and two workers; a has delivered a wrong block, which b is to confirm.
type leaver struct {
	*machine
	lease *lease
	wrong []float32
}

// newLeaver has a take a block of its own: first a third worker takes all, and hands it back to both.
func newLeaver(t *testing.T) *leaver {
	t.Helper()
	cfg := Config{
		Run: "r", Steps: 2, Shards: 8, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 1 << 20, Audit: 1,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}
	s := &leaver{machine: newMachine(cfg, make([]float32, 40), 64), wrong: make([]float32, 40)}
	s.start(0)
	s.comes("z", 9)
	s.says("b", 8, &wire.Hello{Slots: 1})
	s.says("a", 7, &wire.Hello{Slots: 1})
	s.says("b", 8, &wire.Ready{Size: 40, Terms: []string{"loss"}})
	s.says("a", 7, &wire.Ready{Size: 40, Terms: []string{"loss"}})
	s.says("z", 9, &wire.Bye{})
	if s.lease = s.leaseOf("a"); s.lease == nil {
		t.Fatal("a has no lease")
	}
	s.wrong[3] = 666
	l := s.lease
	s.says("a", 7, &wire.Result{
		Lease: l.id, Attempt: l.attempt, Work: wire.Gradient, First: l.Block.First, Count: l.Block.Count, Terms: []float32{1},
		Length: 40, Checksum: l.chunks.ChecksumOf(s.wrong),
	})
	copy(l.values, s.wrong)
	for i := range l.chunks.Count() {
		from, to := l.chunks.Span(i)
		c := &wire.Chunk{
			Header: wire.Header{Run: "r", From: "a", Term: 1, Token: 7}, Lease: l.id, Index: i,
			CRC: wire.Checksum(wire.FloatBytes(s.wrong[from:to])),
		}
		s.receive(0, exchange.Stored{Chunk: c, Opening: l.opening, Finite: true})
	}
	return s
}

func (s *leaver) says(id string, token uint64, m wire.Message) {
	*m.Head() = wire.Header{Run: "r", From: id, Term: 1, Token: token}
	s.receive(0, m)
}

func (s *leaver) comes(id string, token uint64) {
	s.says(id, token, &wire.Hello{Slots: 1})
	s.says(id, token, &wire.Ready{Size: 40, Terms: []string{"loss"}})
}

func (s *leaver) leaseOf(id string) *lease {
	for _, l := range s.leasing.leases {
		if l.owner.id == id && l.state == leased {
			return l
		}
	}
	return nil
}

// A worker that leaves and comes again with the same token is not asked to confirm its own block.
func TestAudit_OfOneWhoComesAgain(t *testing.T) {
	s := newLeaver(t)
	s.says("a", 7, &wire.Bye{})
	s.comes("a", 7)
	if l := s.leaseOf("a"); l != nil && l.audit && l.task == s.lease.task {
		t.Errorf("a is asked to confirm its own block %+v", l.Block)
	}
}

// A worker that the referee finds out after it has left, and has come again, is cut off.
func TestAudit_CutsOffOneWhoComesAgain(t *testing.T) {
	s := newLeaver(t)
	s.judgement.HasReferee = true
	s.says("a", 7, &wire.Bye{})
	s.judgement.ask(s.lease.task)
	s.comes("a", 7)
	known := truth{}
	known.Values, known.Terms = make([]float32, 40), []float32{1}
	s.judgement.decide(0, s.lease.task, known)
	if s.accounts.Banned(7) == nil || s.members.get("a", 7) != nil {
		t.Errorf("the liar is a member still; cut off are %q", s.figures.Quarantined)
	}
}
