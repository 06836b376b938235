package worker

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// A coordinator whose successor the worker has met can neither end its work nor lead it.
func TestReceive_OlderTerm(t *testing.T) {
	w := newWorker(t, wire.NewMemory(nil), func([]byte, []byte, int) (Program, error) { return still{}, nil })
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	hear := func(term uint64, m wire.Message) error {
		*m.Head() = wire.Header{Run: "r", Term: term}
		data, err := wire.NewEncoder().Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return w.receive(delivery{data: data}, ticker)
	}
	w.term, w.welcomed = 5, true
	old := welcome
	if err := hear(4, &old); err != nil || w.term != 5 {
		t.Errorf("a welcome of term 4: got %v, and follows term %d", err, w.term)
	}
	if err := hear(4, &wire.End{Reason: "done"}); err != nil {
		t.Errorf("an end of term 4: got %v", err)
	}
	if err := hear(5, &wire.End{Reason: "done"}); !errors.Is(err, errEnd) {
		t.Errorf("an end of term 5: got %v", err)
	}
}

// A Welcome of the same term that cuts parameters otherwise than the one before begins anew: what is there lies in other
// chunks.
func TestWelcome_OtherChunks(t *testing.T) {
	l := newListener(t)
	defer l.deafen()
	l.takeTheta(l.piece(1, 2, 0))
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	l.welcome(&wire.Welcome{Header: wire.Header{Run: "r", Term: 1}, Size: 48, Chunk: 16, Heartbeat: welcome.Heartbeat}, ticker)
	data := slices.Clone(l.chunks.Encode(nil, l.values, 11))
	l.takeTheta(&wire.Theta{Step: 1, Index: 11, Count: 12, CRC: wire.Checksum(data), Data: data})
	if n := l.theta.got.Missing(); n != 11 {
		t.Errorf("%d of 12 chunks are missing, want 11", n)
	}
}
