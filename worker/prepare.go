package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// order is what a Welcome wants built: a job, and the hash of the data set for it, empty if there is none.
type order struct{ job, data string }

// build is the outcome of building a program.
type build struct {
	order   order
	program Program
	golden  string // hash of the golden shard
	err     error
}

// prepare does the next thing on the way to Ready: fetch the data set, build the program, or say so.
func (w *Worker) prepare() {
	switch {
	case w.building: // finish comes back here
	case w.program != nil && w.made == w.wanted:
		w.sayReady()
	case w.fetching():
		w.program = nil
		w.fetch()
	default:
		w.build()
	}
}

// build makes the program on a goroutine of its own, so that the worker goes on to send heartbeats.
func (w *Worker) build() {
	w.program, w.building = nil, true
	b, checked := build{order: w.wanted}, true
	var data []byte
	if b.order.data != "" {
		data, checked = w.data.bytes, w.data.checked
	}
	w.goroutines.Go(func() {
		if !checked && wire.HashData(data) != b.order.data {
			b.err = ErrData
		} else {
			b.program, b.err = w.cfg.Build([]byte(b.order.job), data, w.cfg.Slots)
		}
		if b.err == nil {
			b.golden = w.goldenShard(b.program)
			w.tellMemory(b.program)
		}
		w.built <- b
	})
}

// tellMemory says what a program needs, if it knows.
func (w *Worker) tellMemory(p Program) {
	if sized, ok := p.(interface{ Memory(slots int) Memory }); ok {
		w.log.Info("the program is built", "parameters", p.Size(), "slots", w.cfg.Slots,
			"memory", fmt.Sprintf("about %.1f MiB", float64(sized.Memory(w.cfg.Slots).Total())/(1<<20)))
	}
}

// goldenShard is the hash of what a program makes of shard 0 of step 0 at its initial parameters, with local steps of the
// first update alone. It is empty if the
// program fails there, which the coordinator may refuse.
func (w *Worker) goldenShard(p Program) string {
	grad, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
	golden := func(grad, terms []float32) error { return p.Gradient(0, 0, 0, grad, terms) }
	if g, ok := p.(Gradual); ok {
		golden = g.Golden
	}
	if err := golden(grad, terms); err != nil {
		w.log.Error("the golden shard cannot be computed", "error", err)
		return ""
	}
	return wire.DigestPartial(grad, terms)
}

// finish takes the outcome of a build into use, if it is still wanted. A data set that is not what was offered is
// fetched once more.
func (w *Worker) finish(b build) error {
	w.building = false
	spoilt := errors.Is(b.err, ErrData)
	if b.order.data == w.data.hash && w.data.missing == 0 {
		w.data.checked = !spoilt
		if spoilt {
			w.log.Warn("the data set is not what was offered", "hash", b.order.data)
			w.data.empty()
			w.data.spoilt++
		}
	}
	switch {
	case b.order != w.wanted, spoilt && w.data.spoilt < 2:
		w.prepare()
	case spoilt:
		return fmt.Errorf("fetch data set %s: %w", b.order.data, ErrData)
	case b.err != nil:
		return fmt.Errorf("build the program of the job: %w", b.err)
	default:
		w.install(b)
		w.sayReady()
	}
	return nil
}

// stock is what a worker leaves to the one that comes after it: its data set and its program.
type stock struct {
	data supply
	made build
}

// leave returns what the next worker may use. It must not be called while Run is running.
func (w *Worker) leave() stock {
	return stock{w.data, build{order: w.made, program: w.program, golden: w.golden}}
}

// inherit takes over what a worker with as many slots has left. It is called before Run.
func (w *Worker) inherit(s stock) {
	w.data = s.data
	w.data.spoilt = 0
	if s.made.program != nil {
		w.install(s.made)
	}
}

// supply is a data set, or what has arrived of it. It is kept until another one is offered.
type supply struct {
	hash    string
	bytes   []byte
	pieces  wire.Pieces
	got     []bool // by piece
	missing int    // pieces that are not there
	// All pieces below low are there, none from high on is.
	low, high int
	checked   bool // the bytes have the hash
	spoilt    int  // times that they had not
	openedAt  time.Time
	movedAt   time.Time // last request or arrival
}

// offered reports whether a Welcome names a data set as it should, or none.
func offered(msg *wire.Welcome) bool {
	if msg.DataHash == "" {
		return msg.DataSize == 0
	}
	return msg.DataSize > 0 && len(msg.DataHash) == wire.HashLength && strings.Trim(msg.DataHash, "0123456789abcdef") == ""
}

// supply looks whether the data set that a coordinator offers is there, and else makes room for it.
func (w *Worker) supply(msg *wire.Welcome) {
	s, pieces := &w.data, wire.Pieces{Size: msg.DataSize, Each: msg.Chunk}
	whole := s.hash != "" && s.missing == 0
	if msg.DataHash == "" || msg.DataHash == s.hash && (whole || s.pieces == pieces) {
		return
	}
	*s = supply{hash: msg.DataHash, pieces: pieces}
	if w.cfg.Local != nil {
		if data := w.cfg.Local(s.hash); len(data) == msg.DataSize {
			s.bytes, s.checked = data, true
			return
		}
	}
	s.bytes, s.got, s.openedAt = make([]byte, msg.DataSize), make([]bool, pieces.Count()), time.Now()
	s.empty()
	w.log.Info("fetching the data set", "hash", s.hash, "bytes", msg.DataSize)
}

// empty forgets what has arrived.
func (s *supply) empty() {
	clear(s.got)
	s.missing, s.low, s.high = len(s.got), 0, 0
}

// fetching reports whether the worker waits for pieces of the data set that is wanted.
func (w *Worker) fetching() bool {
	return w.wanted.data != "" && w.data.missing > 0
}

// fetch tells the coordinator what is missing of the data set.
func (w *Worker) fetch() {
	w.data.movedAt = time.Now()
	w.publish(w.subjects.Control, &wire.Fetch{Hash: w.data.hash, Ranges: w.data.lacking()})
}

// lacking lists the pieces that are not there.
func (s *supply) lacking() []wire.Range {
	ranges := gaps(s.got, s.low, s.high)
	if s.high < len(s.got) && len(ranges) < wire.MaxRanges {
		ranges = append(ranges, wire.Range{First: s.high, Count: len(s.got) - s.high})
	}
	return ranges
}

// takePiece stores a piece of the data set and asks for more. After the last one the program is built.
func (w *Worker) takePiece(msg *wire.Piece) {
	s, i := &w.data, msg.Index
	if !w.fetching() || i >= len(s.got) || len(msg.Data) != s.pieces.Bytes(i) || wire.Checksum(msg.Data) != msg.CRC {
		w.log.Debug("piece dropped", "piece", i)
		return
	}
	if s.got[i] {
		return
	}
	from, to := s.pieces.Span(i)
	copy(s.bytes[from:to], msg.Data)
	s.got[i] = true
	s.missing--
	s.high = max(s.high, i+1)
	for s.low < s.high && s.got[s.low] {
		s.low++
	}
	w.fetch()
	if s.missing == 0 {
		w.log.Info("the data set is there", "bytes", len(s.bytes), "seconds", time.Since(s.openedAt).Seconds())
		w.prepare()
	}
}
