package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// order is what the newest Welcome asks for: a job, and the hash of its data set; empty if it has none.
type order struct{ job, data string }

// build is the result of building a program.
type build struct {
	order   order
	program Program
	golden  string // hash of the golden shard
	err     error
}

// prepare takes the next step towards Ready: it fetches the data set, builds the program, or sends the Ready.
func (w *Worker) prepare() {
	switch {
	case w.building: // finish calls prepare again
	case w.program != nil && w.made == w.wanted:
		w.sayReady()
	case w.fetching():
		w.program = nil
		w.fetch()
	default:
		w.build()
	}
}

// build builds the program in a goroutine of its own, so that the worker continues to send heartbeats. It forms the
// hash of a fetched data set there, too, which takes long.
func (w *Worker) build() {
	w.program, w.building = nil, true
	b, checked := build{order: w.wanted}, true
	var data []byte
	if b.order.data != "" {
		data, checked = w.data.bytes, w.data.checked
	}
	w.goroutines.Go(func() {
		// Each piece had its checksum, but only the hash shows that all are of this data set.
		if !checked && wire.HashData(data) != b.order.data {
			b.err = ErrData
		} else {
			b.program, b.err = w.cfg.Build([]byte(b.order.job), data, w.cfg.Slots)
		}
		if b.err == nil {
			b.golden = w.goldenShard(b.program)
			w.logMemory(b.program)
		}
		w.built <- b
	})
}

// logMemory logs how much memory a program needs, if the program knows.
func (w *Worker) logMemory(p Program) {
	if sized, ok := p.(interface{ Memory(slots int) Memory }); ok {
		w.log.Info("the program is built", "parameters", p.Size(), "slots", w.cfg.Slots,
			"memory", fmt.Sprintf("about %.1f MiB", float64(sized.Memory(w.cfg.Slots).Total())/(1<<20)))
	}
}

// goldenShard is the hash of the result for shard 0 of step 0 at the initial parameters; with local steps, of the
// first update alone. It is empty if the program fails there. The coordinator then decides. It runs before the
// program is given to the worker, so nothing else uses it.
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

// finish installs the result of a build, if it is still wanted. If the data set has the wrong hash, it is fetched
// once more. An error ends the worker: a job that cannot be built, or a data set that was wrong twice.
func (w *Worker) finish(b build) error {
	w.building = false
	spoilt := errors.Is(b.err, ErrData)
	// Another data set may have been offered while the program was built.
	if b.order.data == w.data.hash && w.data.got.Missing() == 0 {
		w.data.checked = !spoilt
		if spoilt {
			w.log.Warn("the data set is not what was offered", "hash", b.order.data)
			w.data.got.Begin(w.data.got.Count())
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

// cache is what a worker leaves to its successor: its data set and its program.
type cache struct {
	data dataset
	made build
}

// leave returns the cache for the next worker. It must not be called while Run is running.
func (w *Worker) leave() cache {
	return cache{w.data, build{order: w.made, program: w.program, golden: w.golden}}
}

// inherit takes over the cache of a worker with the same number of slots. It is called before Run. Its order tells
// whether the next job is the same.
func (w *Worker) inherit(s cache) {
	w.data = s.data
	w.data.spoilt = 0
	if s.made.program != nil {
		w.install(s.made)
	}
}

// dataset is a data set, as far as it has arrived. It is kept until another one is offered.
type dataset struct {
	hash     string
	bytes    []byte
	pieces   wire.Chunking
	got      wire.Arrivals
	checked  bool // the bytes have the right hash
	spoilt   int  // how often they had the wrong one
	openedAt time.Time
	movedAt  time.Time // time of the last request or arrival
}

// offered reports whether a Welcome offers a data set correctly, or none. The decoder has bounded the size.
func offered(msg *wire.Welcome) bool {
	if msg.DataHash == "" {
		return msg.DataSize == 0
	}
	return msg.DataSize > 0 && len(msg.DataHash) == wire.HashLength && strings.Trim(msg.DataHash, "0123456789abcdef") == ""
}

// openData checks whether the worker has the data set that a coordinator offers. If not, it allocates memory for it.
// The decoder has bounded that by wire.MaxData bytes.
func (w *Worker) openData(msg *wire.Welcome) {
	s, pieces := &w.data, wire.Pieces(msg.DataSize, msg.Chunk)
	whole := s.hash != "" && s.got.Missing() == 0
	if msg.DataHash == "" || msg.DataHash == s.hash && (whole || s.pieces == pieces) {
		return
	}
	// What was there of another data set, or in other pieces, is of no use.
	*s = dataset{hash: msg.DataHash, pieces: pieces}
	if w.cfg.DataSet != nil {
		if data := w.cfg.DataSet(s.hash); len(data) == msg.DataSize {
			s.bytes, s.checked = data, true
			return
		}
	}
	s.bytes, s.openedAt = make([]byte, msg.DataSize), time.Now()
	s.got.Begin(pieces.Count())
	w.log.Info("fetching the data set", "hash", s.hash, "bytes", msg.DataSize)
}

// fetching reports whether the worker waits for pieces of the data set that it needs.
func (w *Worker) fetching() bool {
	return w.wanted.data != "" && w.data.got.Missing() > 0
}

// fetch asks the coordinator for the missing pieces of the data set, or for the first of them if there are many gaps.
func (w *Worker) fetch() {
	s := &w.data
	s.movedAt = time.Now()
	w.publish(w.subjects.Control, &wire.Fetch{Hash: s.hash, Ranges: s.got.Gaps(0, s.got.Count(), wire.MaxRanges)})
}

// takePiece stores a piece of the data set and asks for more. After the last one, the program is built. What does not
// belong to the data set, or was changed on its way, is dropped, and asked for again later.
func (w *Worker) takePiece(msg *wire.Piece) {
	s, i := &w.data, msg.Index
	if !w.fetching() || i >= s.got.Count() || !s.pieces.Sound(i, msg.Data, msg.CRC) {
		w.log.Debug("piece dropped", "piece", i)
		return
	}
	if !s.got.Take(i) {
		return
	}
	from, to := s.pieces.Span(i)
	copy(s.bytes[from:to], msg.Data)
	w.fetch()
	if s.got.Missing() == 0 {
		w.log.Info("the data set has arrived", "bytes", len(s.bytes), "seconds", time.Since(s.openedAt).Seconds())
		w.prepare()
	}
}
