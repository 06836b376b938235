package coordinator

import (
	"errors"
	"io"
	"strings"
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
	letters  sync.Pool          // for what several goroutines send
	crcs     []uint32           // of the chunks of the parameters
	summed   version            // of the state that crcs belong to
	memory   io.WriterAt        // that workers of this host read; nil: none
	laid     laid               // what lies there
	unfit    map[wire.Kind]bool // kinds of which one could not be sent at all and that was logged
	bytes    int64              // sent since the last step
}

func newSender(bus wire.Bus, subjects wire.Subjects, chunks int, log hclog.Logger) *sender {
	return &sender{
		bus: bus, subjects: subjects, log: log,
		encoder: wire.NewEncoder(), letters: sync.Pool{New: func() any { return &letters{encoder: wire.NewEncoder()} }},
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

// sight is what workers are to see of the parameters: the vector of a step and pass, and the last difference in it.
type sight struct {
	version
	values      []float32
	chunks      wire.Chunking
	differences *differences
}

// letters is what a goroutine needs to send parameters.
type letters struct {
	encoder  *wire.Encoder
	integers []float32
	room     []byte
}

// sendTheta sends chunks of the parameters. Their checksums are formed once per step.
func (s *sender) sendTheta(cmd thetaCommand, h wire.Header, what sight) {
	subject := s.subject(cmd.to, s.subjects.Theta)
	s.spread(cmd.count, cmd.base, h, what, func(i int) (int, string) { return cmd.first + i, subject })
	if cmd.count == what.chunks.Count() {
		s.summed = what.version
	}
}

// relayTheta sends each section of the parameters to one worker, after all were told who hands it on. The sections go out
// side by side, so that all are handed on from the beginning.
func (s *sender) relayTheta(cmd relayCommand, header func(mark uint64) wire.Header, what sight) {
	digests, names := make([]string, cmd.sections.Count), make([]string, len(cmd.to))
	parallel.Ranges(cmd.sections.Count, 1, func(begin, end int) {
		for i := begin; i < end; i++ {
			from, to := cmd.sections.Span(i, 1)
			digests[i] = cmd.sections.DigestsOf(i, 1, what.values[from:to])
		}
	})
	for i, to := range cmd.to {
		names[i] = to.id
	}
	for _, to := range cmd.to {
		s.send(to.id, header(to.mark), &wire.Relay{Step: what.step - 1, Pass: what.pass, Names: names, Digests: strings.Join(digests, "")})
	}
	order := sideBySide(cmd.sections)
	s.spread(len(order), cmd.base, header(0), what, func(i int) (int, string) {
		return order[i], s.subjects.Worker(names[cmd.sections.Of(order[i])])
	})
	s.summed = what.version
	for _, to := range cmd.direct {
		s.sendTheta(thetaCommand{to: to, count: what.chunks.Count()}, header(0), what)
	}
}

// sideBySide are the chunks of a vector: the first of each section, then the second.
func sideBySide(sections wire.Sections) (order []int) {
	n := sections.Chunks.Count()
	for at := 0; len(order) < n; at++ {
		for i := range sections.Count {
			if c := sections.First(i) + at; c < sections.First(i+1) {
				order = append(order, c)
			}
		}
	}
	return order
}

// spread sends so many chunks of the parameters, from all cores at once: whoever waits for them has nothing else to do.
// next says which chunk is the i-th, and on which subject it goes.
func (s *sender) spread(count int, base version, h wire.Header, what sight, next func(i int) (chunk int, subject string)) {
	chunks, known := what.chunks, s.summed == what.version
	var mu sync.Mutex
	parallel.Ranges(count, max(1, parallel.Elements/chunks.Elements), func(begin, end int) {
		use := s.letters.Get().(*letters)
		defer s.letters.Put(use)
		for at := begin; at < end; at++ {
			i, subject := next(at)
			data := chunks.Encode(nil, what.values, i)
			if !known {
				s.crcs[i] = wire.Checksum(data)
			}
			msg := &wire.Theta{
				Header: h, Step: what.step - 1, Pass: what.pass, Index: i, Count: chunks.Count(), CRC: s.crcs[i], Data: data,
			}
			if base.step > 0 {
				msg.BaseStep, msg.BasePass, msg.Coding = base.step-1, base.pass, what.differences.coding
				msg.Data = use.difference(what, i)
			}
			n, err := s.encode(use.encoder, subject, msg)
			mu.Lock()
			s.count(subject, wire.KindTheta, n, err)
			mu.Unlock()
		}
	})
}

// difference returns the bytes of the last difference of a chunk, which are valid until the next call.
func (l *letters) difference(what sight, chunk int) []byte {
	from, to := what.chunks.Span(chunk)
	n := what.differences.grid.Integers(from, to)
	if cap(l.integers) < n {
		l.integers = make([]float32, n)
	}
	integers := l.integers[:n]
	what.differences.last.Integers(integers, what.values, from, to)
	l.room = what.differences.coding.Whole(n).Encode(l.room, integers, 0)
	return l.room
}

// forgetState lets the checksums of the parameters be formed anew: others come under a number that was used before.
func (s *sender) forgetState() { s.summed, s.laid.version = version{}, version{} }
