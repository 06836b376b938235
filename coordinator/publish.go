package coordinator

import (
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/parallel"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// sender puts messages on the bus. One that cannot be sent at the moment counts as lost, which the protocol provides
// for. One that can never be sent would be waited for in vain; the first of each kind is logged.
type sender struct {
	bus      wire.Bus
	subjects wire.Subjects
	log      hclog.Logger
	encoder  *wire.Encoder
	encoders sync.Pool          // for what several goroutines send
	crcs     []uint32           // of the chunks of the parameters
	summed   version            // of the state that crcs belong to
	unfit    map[wire.Kind]bool // kinds of which one could not be sent at all and that was logged
	bytes    int64              // sent since the last step
}

func newSender(bus wire.Bus, subjects wire.Subjects, chunks int, log hclog.Logger) *sender {
	return &sender{
		bus: bus, subjects: subjects, log: log,
		encoder: wire.NewEncoder(), encoders: sync.Pool{New: func() any { return wire.NewEncoder() }},
		crcs: make([]uint32, chunks), unfit: make(map[wire.Kind]bool),
	}
}

// subject is where a worker hears, or all if to is empty.
func (s *sender) subject(to, all string) string {
	if to == "" {
		return all
	}
	return s.subjects.Worker(to)
}

// send sends a message with its header to one worker, or to all if to is empty.
func (s *sender) send(to string, h wire.Header, msg wire.Message) {
	*msg.Head() = h
	subject := s.subject(to, s.subjects.All)
	n, err := s.encode(s.encoder, subject, msg)
	s.count(subject, msg.Kind(), n, err)
}

// encode sends a message and returns how many bytes it sent. It may be called from several goroutines, each with its
// encoder.
func (s *sender) encode(e *wire.Encoder, subject string, msg wire.Message) (int, error) {
	data, err := e.Encode(msg)
	if err != nil {
		return 0, err
	}
	return len(data), s.bus.Publish(subject, data)
}

// count adds up what was sent, and logs what could not be.
func (s *sender) count(subject string, kind wire.Kind, n int, err error) {
	s.bytes += int64(n)
	never := errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed)
	switch {
	case never && !s.unfit[kind]:
		s.unfit[kind] = true
		s.log.Error("message cannot be sent", "subject", subject, "kind", kind, "error", err)
	case err != nil:
		s.log.Debug("message lost", "subject", subject, "kind", kind, "error", err)
	}
}

// version names a state that is sent out: the number of updates plus 1, and the pass. The zero value names none.
type version struct {
	step uint64
	pass int
}

// sendTheta sends chunks of the parameters, from all cores at once: whoever waits for them has nothing else to do.
// Their checksums are formed once per step.
func (s *sender) sendTheta(cmd thetaCommand, h wire.Header, state []float32, chunks wire.Chunking, step uint64, pass int) {
	subject := s.subject(cmd.to, s.subjects.Theta)
	current := version{step + 1, pass}
	known := s.summed == current
	var mu sync.Mutex
	parallel.Ranges(cmd.count, max(1, parallel.Elements/chunks.Elements), func(begin, end int) {
		encoder := s.encoders.Get().(*wire.Encoder)
		defer s.encoders.Put(encoder)
		for i := cmd.first + begin; i < cmd.first+end; i++ {
			data := chunks.Encode(nil, state, i)
			if !known {
				s.crcs[i] = wire.Checksum(data)
			}
			n, err := s.encode(encoder, subject, &wire.Theta{
				Header: h, Step: step, Pass: pass, Index: i, Count: chunks.Count(), CRC: s.crcs[i], Data: data,
			})
			mu.Lock()
			s.count(subject, wire.KindTheta, n, err)
			mu.Unlock()
		}
	})
	if cmd.count == chunks.Count() {
		s.summed = current
	}
}

// forgetState lets the checksums of the parameters be formed anew: others come under a number that was used before.
func (s *sender) forgetState() { s.summed = version{} }
