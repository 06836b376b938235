package coordinator

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

// memoryFor is the memory that vectors of a length need.
func memoryFor(length int) int { return views * (ahead + 4*length) }

// laid says which parameters lie in memory, and where.
type laid struct {
	version
	at, turn uint64
	sum      uint32
}

// lay writes the parameters to memory, unless they lie there, and says where.
func (s *sender) lay(what view) (wire.ThetaAt, error) {
	if s.laid.version != what.version {
		if err := s.write(what); err != nil {
			return wire.ThetaAt{}, fmt.Errorf("write parameters to shared memory: %w", err)
		}
	}
	return wire.ThetaAt{Step: what.step - 1, Pass: what.pass, At: s.laid.at, Turn: s.laid.turn, Sum: s.laid.sum}, nil
}

// write writes the parameters to the place of the oldest ones. Who reads those then sees that their turn is over.
func (s *sender) write(what view) error {
	turn := s.laid.turn + 1
	at := int64(turn%views)*int64(memoryFor(len(what.values))/views) + ahead
	s.laid = laid{turn: turn}
	if _, err := s.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, turn), at-wire.TurnLength); err != nil {
		return err
	}
	chunks, known := what.chunks, s.summed == what.version
	errs := make([]error, chunks.Count())
	vector.Ranges(chunks.Count(), max(1, vector.Elements/chunks.Elements), func(begin, end int) {
		for i := begin; i < end; i++ {
			from, _ := chunks.Span(i)
			_, errs[i] = s.memory.WriteAt(s.chunk(what, i, known), at+int64(4*from))
		}
	})
	s.summed = what.version
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.laid = laid{version: what.version, at: uint64(at), turn: turn, sum: wire.Combine(s.crcs)}
	return nil
}
