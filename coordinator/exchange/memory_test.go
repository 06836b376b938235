package exchange

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Parameters lie in memory as they were when they were last laid there, two of them at a time; and others under the same
// number are laid anew.
func TestSender_Lay(t *testing.T) {
	const size = 40
	host := shm.NewTwin(nil)
	server, err := host.Open(MemoryFor(size), 0)
	if err != nil {
		t.Fatal(err)
	}
	server.Expect([]uint64{9})
	link, err := host.Join(t.Context(), server.Place(), 9, 0)
	if err != nil {
		t.Fatal(err)
	}
	chunks := wire.NewChunking(size, 64)
	s := NewSender(nil, wire.Subjects{}, chunks.Count(), hclog.NewNullLogger())
	s.Share(server)
	lay := func(step uint64, value float32) wire.ThetaAt {
		t.Helper()
		values := make([]float32, size)
		for i := range values {
			values[i] = value
		}
		msg, err := s.Lay(View{Version: Version{step, 0}, Values: values, Chunks: chunks})
		if err != nil {
			t.Fatal(err)
		}
		if msg.Sum != chunks.ChecksumOf(values) || msg.Step != step-1 {
			t.Errorf("step %d: %+v", step, msg)
		}
		return msg
	}
	holds := func(msg wire.ThetaAt, value float32) bool {
		data, turn := make([]byte, 4*size), make([]byte, wire.TurnLength)
		if _, err := link.ReadAt(data, int64(msg.At)); err != nil {
			t.Fatal(err)
		}
		if _, err := link.ReadAt(turn, int64(msg.At)-wire.TurnLength); err != nil {
			t.Fatal(err)
		}
		want := wire.FloatBytes([]float32{value})
		return bytes.Equal(data, bytes.Repeat(want, size)) && binary.LittleEndian.Uint64(turn) == msg.Turn
	}
	first, second := lay(1, 1), lay(2, 2)
	if !holds(first, 1) || !holds(second, 2) || first.Turn >= second.Turn {
		t.Errorf("%+v and %+v do not hold what was laid", first, second)
	}
	if again := lay(2, 2); again != second {
		t.Errorf("laid again: %+v, want %+v", again, second)
	}
	third := lay(3, 3)
	if holds(first, 1) || !holds(second, 2) || !holds(third, 3) || third.At != first.At {
		t.Errorf("the third at %d, the first at %d", third.At, first.At)
	}
	s.Forget()
	other := lay(3, 4)
	if !holds(other, 4) || !holds(third, 3) || other.Turn <= third.Turn {
		t.Errorf("others under the same number: %+v after %+v", other, third)
	}
}
