package worker

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Parameters are read where they lie if they have their checksum. If not, nothing is kept of them, and it is known whether
// the worker was only too slow.
func TestAssembly_Read(t *testing.T) {
	const size, at = 1000, 64
	host := shm.NewTwin(nil)
	server, err := host.Open(1<<16, 0)
	if err != nil {
		t.Fatal(err)
	}
	server.Expect([]uint64{7})
	link, err := host.Join(t.Context(), server.Place(), 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	chunks := wire.NewChunking(size, 256)
	values := make([]float32, size)
	for i := range values {
		values[i] = float32(i) / 3
	}
	lay := func(turn uint64, spoil bool) {
		t.Helper()
		data := append(binary.LittleEndian.AppendUint64(nil, turn), wire.FloatBytes(values)...)
		if spoil {
			data[2000] ^= 1
		}
		if _, err := server.WriteAt(data, at-wire.TurnLength); err != nil {
			t.Fatal(err)
		}
	}
	msg := &wire.ThetaAt{Step: 5, Pass: 1, At: at, Turn: 3, Sum: chunks.ChecksumOf(values)}
	for name, c := range map[string]struct {
		turn      uint64
		spoil     bool
		place     uint64
		overtaken bool
		fails     bool
	}{
		"sound":     {turn: 3, place: at},
		"changed":   {turn: 3, spoil: true, place: at, fails: true},
		"overtaken": {turn: 5, spoil: true, place: at, overtaken: true, fails: true},
		"not yet":   {turn: 1, spoil: true, place: at, fails: true},
		"elsewhere": {turn: 3, place: 0, fails: true},
		"far off":   {turn: 3, place: wire.MaxPlace, fails: true},
	} {
		lay(c.turn, c.spoil)
		a := &assembly{values: make([]float32, size)}
		a.open(5, 1, chunks.Count())
		for i := range 3 { // these came as chunks
			a.arrived(i, time.Now())
			a.held[i] = held{true, 5, 1}
		}
		m := *msg
		m.At = c.place
		err := a.read(link, &m, chunks)
		if (err != nil) != c.fails || errors.Is(err, errOvertaken) != c.overtaken {
			t.Errorf("%s: %v", name, err)
		}
		missing := 0
		for i := range a.got.Count() {
			got := a.got.Has(i)
			if !got {
				missing++
			}
			if got != (a.held[i] == held{true, 5, 1}) || got == c.fails {
				t.Errorf("%s: chunk %d: got %v, held %+v", name, i, got, a.held[i])
			}
		}
		if missing != a.got.Missing() {
			t.Errorf("%s: %d missing, %d counted", name, missing, a.got.Missing())
		}
		if !c.fails && a.values[999] != values[999] {
			t.Errorf("%s: other values", name)
		}
	}
}
