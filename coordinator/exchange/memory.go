package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

const (
	// views is how many vectors of parameters lie in memory at a time: who still reads one when the next is written
	// finds it as it was.
	views = 2
	// ahead is the room before a vector, at whose end its turn stands.
	ahead = 64
)

// MemoryFor is the memory that vectors of a length need.
func MemoryFor(length int) int { return views * (ahead + 4*length) }

// laid says which parameters lie in memory, and where.
type laid struct {
	Version
	at, turn uint64
	sum      uint32
}

// Lay writes the parameters to memory, unless they lie there, and says where.
func (s *Sender) Lay(what View) (wire.ThetaAt, error) {
	if s.laid.Version != what.Version {
		if err := s.write(what); err != nil {
			return wire.ThetaAt{}, fmt.Errorf("write parameters to shared memory: %w", err)
		}
	}
	return wire.ThetaAt{Step: what.Step - 1, Pass: what.Pass, At: s.laid.at, Turn: s.laid.turn, Sum: s.laid.sum}, nil
}

// write writes the parameters to the place of the oldest ones. Who reads those then sees that their turn is over.
func (s *Sender) write(what View) error {
	// The turn goes first: whoever still reads the old vector finds the new turn, and knows that it was only late. If
	// writing fails, laid names no version, so that the next call writes anew.
	turn := s.laid.turn + 1
	at := int64(turn%views)*int64(MemoryFor(len(what.Values))/views) + ahead
	s.laid = laid{turn: turn}
	if _, err := s.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, turn), at-wire.TurnLength); err != nil {
		return err
	}
	// Places of chunks do not overlap, so the goroutines need no lock.
	chunks, known := what.Chunks, s.summed == what.Version
	errs := make([]error, chunks.Count())
	vector.Ranges(chunks.Count(), max(1, vector.Elements/chunks.Elements), func(begin, end int) {
		for i := begin; i < end; i++ {
			from, _ := chunks.Span(i)
			_, errs[i] = s.memory.WriteAt(s.chunk(what, i, known), at+int64(4*from))
		}
	})
	s.summed = what.Version
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.laid = laid{Version: what.Version, at: uint64(at), turn: turn, sum: wire.Combine(s.crcs)}
	return nil
}
