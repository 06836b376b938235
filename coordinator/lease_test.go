package coordinator

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// The answer to a lease is about the block, the work and the attempt that were leased, and has their form.
func TestLease_ChecksItsAnswer(t *testing.T) {
	_, l := testMachine(t, nil)
	answer := func(change func(*wire.Result)) (Reason, string) {
		msg := &wire.Result{
			Lease: l.id, Attempt: l.attempt, Work: wire.Gradient, First: l.Block.First, Count: l.Block.Count,
			Terms: []float32{1}, Length: 40,
		}
		change(msg)
		return l.check(msg, 1)
	}
	if reason, detail := answer(func(*wire.Result) {}); reason != "" {
		t.Errorf("the answer is refused: %s, %s", reason, detail)
	}
	for name, c := range map[string]struct {
		want   Reason
		change func(*wire.Result)
	}{
		"another block":      {ReasonBlock, func(m *wire.Result) { m.First++ }},
		"a larger block":     {ReasonBlock, func(m *wire.Result) { m.Count *= 2 }},
		"another work":       {ReasonBlock, func(m *wire.Result) { m.Work = wire.Validate }},
		"an earlier attempt": {ReasonBlock, func(m *wire.Result) { m.Attempt-- }},
		"a later attempt":    {ReasonBlock, func(m *wire.Result) { m.Attempt++ }},
		"another length":     {ReasonLength, func(m *wire.Result) { m.Length-- }},
		"a term too many":    {ReasonLength, func(m *wire.Result) { m.Terms = append(m.Terms, 2) }},
		"no terms":           {ReasonLength, func(m *wire.Result) { m.Terms = nil }},
		"an audit's digest":  {ReasonLength, func(m *wire.Result) { m.Digest = strings.Repeat("0", wire.HashLength) }},
		"digests of parts":   {ReasonLength, func(m *wire.Result) { m.Digests = strings.Repeat("0", wire.DigestLength(2)) }},
	} {
		if got, detail := answer(c.change); got != c.want {
			t.Errorf("%s: got %q, %s", name, got, detail)
		}
	}
	l.state = announced
	if got, _ := answer(func(*wire.Result) {}); got != ReasonDuplicate {
		t.Errorf("a second answer: got %q", got)
	}
}

// A message of an earlier term is meant for an earlier coordinator, whose numbers may be those of this one.
func TestMachine_RefusesOtherTerms(t *testing.T) {
	m, l := testMachine(t, nil)
	m.term = 2
	for term, want := range map[uint64]Reason{1: ReasonTerm, 2: "", 3: ReasonTerm} {
		msg := &wire.Result{Header: wire.Header{Run: "r", From: "w", Term: term, Token: 7}, Lease: l.id}
		if got, detail, offence := m.admit(l.owner, msg); got != want || offence {
			t.Errorf("term %d: got %q, %s, an offence %v", term, got, detail, offence)
		}
	}
}

// A block whose chunks each have their checksum, but which is not what was announced, is computed once more.
func TestMachine_ComparesBlockWithAnnouncement(t *testing.T) {
	for _, honest := range []bool{true, false} {
		m, l := testMachine(t, nil)
		from := wire.Header{Run: "r", From: "w", Term: 1, Token: 7}
		crcs := []uint32{1, 2, 3}
		said := wire.Combine(crcs)
		if !honest {
			crcs[1]++
		}
		m.receive(0, &wire.Result{
			Header: from, Lease: l.id, Attempt: l.attempt, Work: wire.Gradient, First: l.Block.First, Count: l.Block.Count,
			Terms: []float32{1}, Length: 40, Checksum: said,
		})
		for i, crc := range crcs {
			chunk := &wire.Chunk{Header: from, Lease: l.id, Index: i, CRC: crc}
			m.receive(0, exchange.Stored{Chunk: chunk, Opening: l.opening, Finite: true})
		}
		if made := m.run.opt.step == 1; made != honest {
			t.Errorf("honest %v: a step is made %v", honest, made)
		}
		if offences := l.owner.Offences; (offences == 0) != honest {
			t.Errorf("honest %v: %d offences", honest, offences)
		}
	}
}
