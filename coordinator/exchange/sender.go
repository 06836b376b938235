package exchange

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

// Sender puts messages on the bus. One that cannot be sent at the moment counts as lost, which the protocol provides
// for. One that can never be sent would be waited for in vain; the first of each kind is logged. The goroutine of the
// coordinator owns it, and uses others inside a call.
type Sender struct {
	bus      wire.Bus
	subjects wire.Subjects
	log      hclog.Logger
	encoder  *wire.Encoder      // of Send
	scratch  sync.Pool          // for what several goroutines send
	crcs     []uint32           // of the chunks of the parameters
	summed   Version            // of the state that crcs belong to
	memory   io.WriterAt        // that workers of this host read; nil: none
	laid     laid               // what lies there
	unfit    map[wire.Kind]bool // kinds of which one could not be sent at all and that was logged
	counting sync.Mutex         // of what follows, where several goroutines send
	bytes    int64              // sent since the last step
}

// NewSender sends parameters of so many chunks.
func NewSender(bus wire.Bus, subjects wire.Subjects, chunks int, log hclog.Logger) *Sender {
	return &Sender{
		bus: bus, subjects: subjects, log: log,
		encoder: wire.NewEncoder(), scratch: sync.Pool{New: func() any { return &scratch{encoder: wire.NewEncoder()} }},
		crcs: make([]uint32, chunks), unfit: make(map[wire.Kind]bool),
	}
}

// subject is where a worker hears, or all if to is empty.
func (s *Sender) subject(to, all string) string {
	if to == "" {
		return all
	}
	return s.subjects.Worker(to)
}

// Send sends a message with its header to one worker, or to all if to is empty. It writes the header into msg, and
// keeps nothing of msg.
func (s *Sender) Send(to string, h wire.Header, msg wire.Message) {
	*msg.Head() = h
	subject := s.subject(to, s.subjects.All)
	n, err := s.encode(s.encoder, subject, msg)
	s.count(subject, wire.TypeOf(msg), n, err)
}

// encode sends a message and returns how many bytes it sent. It may be called from several goroutines, each with its
// encoder.
func (s *Sender) encode(e *wire.Encoder, subject string, msg wire.Message) (int, error) {
	data, err := e.Encode(msg)
	if err != nil {
		return 0, err
	}
	return len(data), s.bus.Publish(subject, data)
}

// count adds up what was sent, and logs what could not be. Where several goroutines send, counting is held.
func (s *Sender) count(subject string, kind wire.Kind, n int, err error) {
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

// Theta asks for chunks of the current parameters to be sent to one worker, or to all if To is empty. If there is a
// base, the differences of the last update are sent, which go from there to the current parameters. First and Count
// are chunks.
type Theta struct {
	To           string
	First, Count int
	Base         Version
}

// Relay asks for each section of the current parameters to be sent to one worker, the one with its number in To, and
// for all of these to be told who hands it on to the others. Those in Direct are sent all of them. The base is as in
// Theta, for those in To.
type Relay struct {
	To       []Recipient
	Direct   []string
	Sections wire.Sections
	Base     Version
}

// Recipient is a worker: its name and the mark of its token.
type Recipient struct {
	ID   string
	Mark uint64
}

// Version names a state that is sent out: the number of updates plus 1, and the pass. The zero value names none.
type Version struct {
	Step uint64
	Pass int
}

// View is what workers are to see of the parameters: the vector of a step and pass, and the last difference in it.
type View struct {
	Version
	Values      []float32 // of the caller, read until the call returns
	Chunks      wire.Chunking
	Differences *Differences
}

// scratch is what a goroutine needs to send parameters.
type scratch struct {
	encoder  *wire.Encoder
	integers []float32
	room     []byte
}

// SendTheta sends chunks of the parameters, from all cores at once: whoever waits for them has nothing else to do.
// Their checksums are formed once per step. A chunk that cannot be sent counts as lost.
func (s *Sender) SendTheta(cmd Theta, h wire.Header, what View) {
	subject := s.subject(cmd.To, s.subjects.Theta)
	known := s.summed == what.Version
	vector.Ranges(cmd.Count, max(1, vector.Elements/what.Chunks.Elements), func(begin, end int) {
		s.stream(consecutive(cmd.First+begin, cmd.First+end), cmd.Base, h, what, known, func(int) string { return subject })
	})
	// Only a whole vector gives all checksums.
	if cmd.Count == what.Chunks.Count() {
		s.summed = what.Version
	}
}

// Relay sends each section of the parameters to one worker, after all were told who hands it on. The sections go out
// side by side, so that all are handed on from the beginning. A digest is of the values as Float32, so it is the same
// for whoever gets differences.
func (s *Sender) Relay(cmd Relay, header func(mark uint64) wire.Header, what View) {
	digests, names := make([]string, cmd.Sections.Count), make([]string, len(cmd.To))
	vector.Ranges(cmd.Sections.Count, 1, func(begin, end int) {
		for i := begin; i < end; i++ {
			from, to := cmd.Sections.Span(i, 1)
			digests[i] = cmd.Sections.DigestsOf(i, 1, what.Values[from:to])
		}
	})
	for i, to := range cmd.To {
		names[i] = to.ID
	}
	for _, to := range cmd.To {
		s.Send(to.ID, header(to.Mark), &wire.Relay{
			Step: what.Step - 1, Pass: what.Pass, Names: names,
			Digests: strings.Join(digests, ""),
		})
	}
	h, known := header(0), s.summed == what.Version
	// each section in order: what comes late shows what was lost
	vector.Ranges(cmd.Sections.Count, 1, func(begin, end int) {
		s.stream(sideBySide(cmd.Sections, begin, end), cmd.Base, h, what, known, func(chunk int) string {
			return s.subjects.Worker(names[cmd.Sections.Of(chunk)])
		})
	})
	s.summed = what.Version
	for _, to := range cmd.Direct {
		s.SendTheta(Theta{To: to, Count: what.Chunks.Count()}, header(0), what)
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
func (s *Sender) chunk(what View, i int, known bool) []byte {
	data := what.Chunks.Encode(nil, what.Values, i)
	if !known {
		s.crcs[i] = wire.Checksum(data)
	}
	return data
}

// stream sends chunks of the parameters one after the other, each on the subject that to says. Several goroutines may
// do so at a time, for different chunks. known: the checksums are those of these parameters. The base names what a
// worker has to have for the differences.
func (s *Sender) stream(list iter.Seq[int], base Version, h wire.Header, what View, known bool,
	to func(chunk int) (subject string),
) {
	chunks := what.Chunks
	use := s.scratch.Get().(*scratch)
	defer s.scratch.Put(use)
	for i := range list {
		subject := to(i)
		data := s.chunk(what, i, known)
		msg := &wire.Theta{
			Header: h, Step: what.Step - 1, Pass: what.Pass, Index: i, Count: chunks.Count(), CRC: s.crcs[i], Data: data,
		}
		if base.Step > 0 {
			msg.BaseStep, msg.BasePass, msg.Coding = base.Step-1, base.Pass, what.Differences.coding
			msg.Data = use.difference(what, i)
		}
		n, err := s.encode(use.encoder, subject, msg)
		s.counting.Lock()
		s.count(subject, wire.KindTheta, n, err)
		s.counting.Unlock()
	}
}

// difference returns the bytes of the last difference of a chunk, which are valid until the next call.
func (l *scratch) difference(what View, chunk int) []byte {
	from, to := what.Chunks.Span(chunk)
	n := what.Differences.grid.Integers(from, to)
	if cap(l.integers) < n {
		l.integers = make([]float32, n)
	}
	integers := l.integers[:n]
	what.Differences.last.Integers(integers, what.Values, from, to)
	l.room = what.Differences.coding.Whole(n).Encode(l.room, integers, 0)
	return l.room
}

// Forget lets the checksums of the parameters be formed anew: others come under a number that was used before.
func (s *Sender) Forget() { s.summed, s.laid.Version = Version{}, Version{} }

// Share lets parameters be laid in memory that workers of this host read.
func (s *Sender) Share(memory io.WriterAt) { s.memory = memory }

// TakeBytes returns how many bytes were sent since the last call.
func (s *Sender) TakeBytes() int64 {
	n := s.bytes
	s.bytes = 0
	return n
}
