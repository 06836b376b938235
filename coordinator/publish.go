package coordinator

import (
	"errors"
	"io"
	"iter"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// sender puts messages on the bus. One that cannot be sent at the moment counts as lost, which the protocol provides
// for. One that can never be sent would be waited for in vain; the first of each kind is logged.
type sender struct {
	bus      wire.Bus
	subjects wire.Subjects
	log      hclog.Logger
	encoder  *wire.Encoder
	scratch  sync.Pool          // for what several goroutines send
	crcs     []uint32           // of the chunks of the parameters
	summed   version            // of the state that crcs belong to
	memory   io.WriterAt        // that workers of this host read; nil: none
	laid     laid               // what lies there
	unfit    map[wire.Kind]bool // kinds of which one could not be sent at all and that was logged
	counting sync.Mutex         // of what follows, where several goroutines send
	bytes    int64              // sent since the last step
}

func newSender(bus wire.Bus, subjects wire.Subjects, chunks int, log hclog.Logger) *sender {
	return &sender{
		bus: bus, subjects: subjects, log: log,
		encoder: wire.NewEncoder(), scratch: sync.Pool{New: func() any { return &scratch{encoder: wire.NewEncoder()} }},
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
	s.count(subject, wire.TypeOf(msg), n, err)
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

// view is what workers are to see of the parameters: the vector of a step and pass, and the last difference in it.
type view struct {
	version
	values      []float32
	chunks      wire.Chunking
	differences *differences
}

// scratch is what a goroutine needs to send parameters.
type scratch struct {
	encoder  *wire.Encoder
	integers []float32
	room     []byte
}

// sendTheta sends chunks of the parameters, from all cores at once: whoever waits for them has nothing else to do.
// Their checksums are formed once per step.
func (s *sender) sendTheta(cmd thetaCommand, h wire.Header, what view) {
	subject := s.subject(cmd.to, s.subjects.Theta)
	known := s.summed == what.version
	vector.Ranges(cmd.count, max(1, vector.Elements/what.chunks.Elements), func(begin, end int) {
		s.stream(consecutive(cmd.first+begin, cmd.first+end), cmd.base, h, what, known, func(int) string { return subject })
	})
	if cmd.count == what.chunks.Count() {
		s.summed = what.version
	}
}

// relayTheta sends each section of the parameters to one worker, after all were told who hands it on. The sections go
// out side by side, so that all are handed on from the beginning.
func (s *sender) relayTheta(cmd relayCommand, header func(mark uint64) wire.Header, what view) {
	digests, names := make([]string, cmd.sections.Count), make([]string, len(cmd.to))
	vector.Ranges(cmd.sections.Count, 1, func(begin, end int) {
		for i := begin; i < end; i++ {
			from, to := cmd.sections.Span(i, 1)
			digests[i] = cmd.sections.DigestsOf(i, 1, what.values[from:to])
		}
	})
	for i, to := range cmd.to {
		names[i] = to.id
	}
	for _, to := range cmd.to {
		s.send(to.id, header(to.mark), &wire.Relay{
			Step: what.step - 1, Pass: what.pass, Names: names,
			Digests: strings.Join(digests, ""),
		})
	}
	h, known := header(0), s.summed == what.version
	// each section in order: what comes late shows what was lost
	vector.Ranges(cmd.sections.Count, 1, func(begin, end int) {
		s.stream(sideBySide(cmd.sections, begin, end), cmd.base, h, what, known, func(chunk int) string {
			return s.subjects.Worker(names[cmd.sections.Of(chunk)])
		})
	})
	s.summed = what.version
	for _, to := range cmd.direct {
		s.sendTheta(thetaCommand{to: to, count: what.chunks.Count()}, header(0), what)
	}
}

// sideBySide yields the chunks of the sections [from, to) of a vector: the first of each section, then the second.
func sideBySide(sections wire.Sections, from, to int) iter.Seq[int] {
	return func(yield func(chunk int) bool) {
		for at, left := 0, true; left; at++ {
			left = false
			for i := from; i < to; i++ {
				if c := sections.First(i) + at; c < sections.First(i+1) {
					if left = true; !yield(c) {
						return
					}
				}
			}
		}
	}
}

// consecutive yields the chunks [first, end).
func consecutive(first, end int) iter.Seq[int] {
	return func(yield func(chunk int) bool) {
		for c := first; c < end; c++ {
			if !yield(c) {
				return
			}
		}
	}
}

// chunk encodes a chunk of the parameters, and forms its checksum. known: it is that of these parameters already.
func (s *sender) chunk(what view, i int, known bool) []byte {
	data := what.chunks.Encode(nil, what.values, i)
	if !known {
		s.crcs[i] = wire.Checksum(data)
	}
	return data
}

// stream sends chunks of the parameters one after the other, each on the subject that to says. Several goroutines may
// do so at a time, for different chunks. known: the checksums are those of these parameters.
func (s *sender) stream(list iter.Seq[int], base version, h wire.Header, what view, known bool,
	to func(chunk int) (subject string),
) {
	chunks := what.chunks
	use := s.scratch.Get().(*scratch)
	defer s.scratch.Put(use)
	for i := range list {
		subject := to(i)
		data := s.chunk(what, i, known)
		msg := &wire.Theta{
			Header: h, Step: what.step - 1, Pass: what.pass, Index: i, Count: chunks.Count(), CRC: s.crcs[i], Data: data,
		}
		if base.step > 0 {
			msg.BaseStep, msg.BasePass, msg.Coding = base.step-1, base.pass, what.differences.coding
			msg.Data = use.difference(what, i)
		}
		n, err := s.encode(use.encoder, subject, msg)
		s.counting.Lock()
		s.count(subject, wire.KindTheta, n, err)
		s.counting.Unlock()
	}
}

// difference returns the bytes of the last difference of a chunk, which are valid until the next call.
func (l *scratch) difference(what view, chunk int) []byte {
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
