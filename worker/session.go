package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/quantize"
	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// receive handles a message of the coordinator. It drops messages that are malformed, of another run or of an older
// term.
func (w *Worker) receive(d delivery, ticker *time.Ticker) error {
	msg, err := wire.Decode(d.data)
	if err != nil {
		if !errors.Is(err, wire.ErrVersion) { // a coordinator of another version sends a Refusal
			w.log.Debug("message dropped", "error", err)
		}
		return nil
	}
	h := msg.Head()
	if h.Run != w.cfg.Run || h.From != "" {
		return nil
	}
	if h.Term < w.term && msg.Kind() != wire.KindRefusal {
		w.logOutdated(h.Term)
		return nil
	}
	if d.direct && h.Token != 0 && h.Token != w.mark {
		return nil // it is for another worker with this id
	}
	if msg.Kind() == wire.KindRefusal && h.Token != w.mark {
		return nil // who sent it does not know this worker
	}
	w.heard()
	switch msg := msg.(type) {
	case *wire.Introduce:
		// A broadcast of the coordinator that has already welcomed this worker is late, and has no effect.
		if d.direct || !w.welcomed || h.Term != w.term {
			w.reset()
			w.hello()
		}
		return nil
	case *wire.Welcome:
		w.welcome(msg, ticker)
		return nil
	case *wire.Refusal:
		return fmt.Errorf("%w: %s; %s", ErrRefused, msg.Reason, msg.Remedy)
	case *wire.End:
		w.log.Info("the run ends", "reason", strings.TrimPrefix(msg.Reason, "coordinator: "))
		return errEnd
	}
	if !w.welcomed || h.Term != w.term {
		return nil
	}
	if piece, ok := msg.(*wire.Piece); ok {
		w.takePiece(piece)
		return nil
	}
	if w.program == nil {
		return nil
	}
	switch msg := msg.(type) {
	case *wire.Theta:
		w.takeTheta(msg)
	case *wire.Lease:
		w.takeLease(msg)
	case *wire.Pull:
		w.serve(msg)
	}
	return nil
}

// logOutdated logs, once per term, that a coordinator still sends messages although another one has replaced it.
func (w *Worker) logOutdated(term uint64) {
	if term < w.outdated {
		return
	}
	w.outdated = term + 1
	w.log.Info("messages of a coordinator of an older term are ignored", "term", term, "now", w.term,
		"remedy", "if this continues, two coordinators lead this run: stop the one that was started first")
}

// reset forgets everything that belongs to one coordinator. The data set and the program stay, because they belong to
// the job.
func (w *Worker) reset() {
	w.welcomed, w.repeated, w.leased, w.loaded = false, false, false, 0
	w.theta.known = false
	w.dropLeases()
}

func (w *Worker) welcome(msg *wire.Welcome, ticker *time.Ticker) {
	if msg.Term != w.term {
		w.reset()
	}
	if msg.Chunk < 4 || msg.Heartbeat <= 0 || !offered(msg) {
		w.log.Debug("welcome dropped", "chunk", msg.Chunk, "heartbeat", msg.Heartbeat, "data", msg.DataHash, "bytes", msg.DataSize)
		return
	}
	rounder, err := rounderOf(msg)
	if err != nil {
		w.log.Debug("welcome dropped", "error", err)
		return
	}
	w.term, w.welcomed, w.lastBeat = msg.Term, true, time.Now()
	if msg.Heartbeat != w.heartbeat {
		w.heartbeat = msg.Heartbeat
		ticker.Reset(max(w.heartbeat/50, time.Millisecond))
	}
	w.chunk, w.rounder = msg.Chunk, rounder
	w.shape()
	w.wanted = order{string(msg.Job), msg.DataHash}
	w.supply(msg)
	w.prepare()
}

// install installs a program.
func (w *Worker) install(b build) {
	w.program, w.made, w.golden, w.served = b.program, b.order, b.golden, nil
	w.shape()
}

// rounderOf returns the rounder that the coordinator asks for. It has no grid if gradients are float32.
func rounderOf(msg *wire.Welcome) (quantize.Rounder, error) {
	if msg.Gradients == wire.Float32 {
		return quantize.Rounder{}, nil
	}
	left := msg.Size
	for _, n := range msg.Tensors {
		left -= n
	}
	if left != 0 {
		return quantize.Rounder{}, fmt.Errorf("%d tensors do not make %d parameters", len(msg.Tensors), msg.Size)
	}
	grid, err := quantize.NewGrid(quantize.Width(msg.Gradients.Width()), msg.Tensors, msg.Shards)
	return quantize.Rounder{Grid: grid, Seed: msg.Seed}, err
}

// codingOf is the form in which integers of a width travel.
func codingOf(width quantize.Width) wire.Coding {
	if width == quantize.Int8 {
		return wire.Int8
	}
	return wire.Int16
}

// shape allocates the vectors of the program, in the form that the coordinator asks for, unless they have that form.
func (w *Worker) shape() {
	if w.program == nil {
		return
	}
	var now quantize.Rounder
	if r, ok := w.served.(*rounded); ok {
		now = r.rounder
	}
	coding, served := wire.Float32, w.program
	if w.rounder.Grid != nil {
		coding, served = codingOf(w.rounder.Grid.Width()), Rounded(w.program, w.rounder)
	}
	if w.served == nil || !now.Equal(w.rounder) {
		w.served = served
		n := w.served.Size()
		w.theta = assembly{values: make([]float32, n)}
		w.memory = &vectors{size: n, terms: len(w.program.TermNames())}
		w.leased, w.loaded = false, 0
	}
	w.chunks = wire.NewChunking(w.served.Size(), w.chunk)
	w.sums = coding.Chunking(w.served.Size(), w.chunk)
}

func (w *Worker) sayReady() {
	w.publish(w.subjects.Control, &wire.Ready{
		Size: w.program.Size(), Terms: w.program.TermNames(), Job: wire.HashData([]byte(w.made.job)), Golden: w.golden,
	})
}

// takeTheta stores one chunk of the parameters. The first chunk of a newer step ends all work on the older one.
func (w *Worker) takeTheta(msg *wire.Theta) {
	i := msg.Index
	if msg.Count != w.chunks.Count() || i >= msg.Count || len(msg.Data) != w.chunks.Bytes(i) || wire.Checksum(msg.Data) != msg.CRC {
		w.log.Debug("parameters dropped", "step", msg.Step, "chunk", i)
		return
	}
	if !w.turn(msg.Step, msg.Pass) || w.theta.got[i] {
		return
	}
	w.chunks.Decode(w.theta.values, i, msg.Data)
	now := time.Now()
	w.theta.arrived(i, now)
	w.stir(now)
}

// turn moves on to a pass of a step if it is a newer one. It reports whether this is the current pass.
func (w *Worker) turn(step uint64, pass int) bool {
	t := &w.theta
	if !t.known || step > t.step || step == t.step && pass > t.pass {
		w.dropLeases()
		t.open(step, pass, w.chunks.Count())
	}
	return step == t.step && pass == t.pass
}

// takeLease accepts a lease. A known lease was sent again because a message was lost.
func (w *Worker) takeLease(msg *wire.Lease) {
	b := reduce.Block{First: msg.First, Count: msg.Count}
	if !b.Valid(wire.MaxCount) || msg.Work != wire.Gradient && msg.Work != wire.Validate || !w.turn(msg.Step, msg.Pass) {
		return
	}
	w.leased = true
	w.trusted.Store(true)
	now := time.Now()
	w.theta.follows(now)
	w.stir(now)
	for _, l := range w.leases {
		if l.ID == msg.ID {
			if l.finished() {
				w.announce(l)
			}
			return
		}
	}
	l := &lease{
		Lease: *msg, block: b, program: w.served, memory: w.memory, chunks: w.sums, tree: reduce.NewTree(b),
	}
	if w.rounder.Grid != nil {
		l.tree.Peaks = w.rounder.Grid.Blocks()
	}
	w.leases = append(w.leases, l)
}

// announce tells the coordinator that a block is done.
func (w *Worker) announce(l *lease) {
	w.stir(time.Now())
	r := &wire.Result{
		Lease: l.ID, Step: l.Step, Attempt: l.Attempt, Work: l.Work, First: l.First, Count: l.Count,
	}
	if l.err != nil {
		text := l.err.Error()
		r.Fault = text[:min(len(text), wire.MaxText)]
	} else {
		r.Took = min(l.took, wire.MaxDuration)
		r.Terms, r.Length, r.Checksum, r.Digest = l.sum.Terms, l.length, wire.Combine(l.crcs), l.digest
	}
	w.publish(w.subjects.Control, r)
}

// chunkOf is a chunk of a lease's result.
type chunkOf struct {
	lease *lease
	index int
}

// serve records the chunks that the coordinator pulls. On a slow link they are pulled again before they are sent, but
// each chunk is recorded only once.
func (w *Worker) serve(msg *wire.Pull) {
	for _, l := range w.leases {
		if l.ID != msg.Lease || !l.finished() || msg.First > len(l.crcs) || msg.Count > len(l.crcs)-msg.First {
			continue
		}
		for i := msg.First; i < msg.First+msg.Count; i++ {
			if c := (chunkOf{l, i}); !slices.Contains(w.sending, c) {
				w.sending = append(w.sending, c)
			}
		}
	}
}

// toSend is ready if there are chunks to send and nothing else to do. Chunks are sent one at a time, so that other
// messages need not wait for all of them.
func (w *Worker) toSend() <-chan struct{} {
	if len(w.sending) == 0 || len(w.inbox) > 0 || len(w.computed) > 0 {
		return nil
	}
	return w.always
}

// sendChunk sends the chunk that was pulled first.
func (w *Worker) sendChunk() {
	l, i := w.sending[0].lease, w.sending[0].index
	w.sending = w.sending[:copy(w.sending, w.sending[1:])]
	w.publish(w.subjects.Data, &wire.Chunk{Lease: l.ID, Step: l.Step, Index: i, CRC: l.crcs[i], Data: l.chunk(i)})
}

// assembly collects the chunks of the parameters of one step.
type assembly struct {
	known   bool // step is set
	step    uint64
	pass    int
	values  []float32
	got     []bool
	missing int
	movedAt time.Time     // last arrival or request
	pace    time.Duration // time between the last arrivals; it is kept for the next step
	cameAt  time.Time     // last arrival of a chunk of the step
	asks    int           // number of requests since then
	behind  bool          // a message came that was sent after all chunks: those that are missing were lost
}

func (a *assembly) open(step uint64, pass, chunks int) {
	if len(a.got) != chunks {
		a.got = make([]bool, chunks)
	}
	clear(a.got)
	a.known, a.step, a.pass, a.missing, a.movedAt = true, step, pass, chunks, time.Now()
	a.cameAt, a.asks, a.behind = time.Time{}, 0, false
}

// arrived records the arrival of a chunk.
func (a *assembly) arrived(chunk int, now time.Time) {
	a.got[chunk] = true
	a.missing--
	if !a.cameAt.IsZero() {
		a.pace = (a.pace + now.Sub(a.cameAt)) / 2
	}
	a.movedAt, a.cameAt, a.asks = now, now, 0
}

// follows records the arrival of a message that the coordinator sent after the chunks. Messages of one sender keep
// their order, so a missing chunk was lost, or is about to come.
func (a *assembly) follows(now time.Time) {
	if !a.behind {
		a.behind, a.movedAt = true, now
	}
}

// asked records a request for the missing chunks.
func (a *assembly) asked(now time.Time) {
	a.movedAt = now
	a.asks++
}

// patience is how long to wait for the next chunk before asking for it: several times the usual time between two chunks
// on this link, and longer after each request, so that a slow link does not carry the same chunks many times. It has a
// limit, because an interrupted link looks like a slow one.
func (a *assembly) patience(least time.Duration) time.Duration {
	return min(max(least, 4*a.pace)<<min(a.asks, 4), 20*least)
}

// missingRanges lists the missing chunks; nil if the parameters are complete or no chunks are expected.
func (a *assembly) missingRanges() []wire.Range {
	if !a.known || a.missing == 0 {
		return nil
	}
	return gaps(a.got, 0, len(a.got))
}

// gaps lists the ranges of [from, to) that are missing.
func gaps(got []bool, from, to int) []wire.Range {
	var ranges []wire.Range
	for i := from; i < to && len(ranges) < wire.MaxRanges; i++ {
		first := i
		for i < to && !got[i] {
			i++
		}
		if i > first {
			ranges = append(ranges, wire.Range{First: first, Count: i - first})
		}
	}
	return ranges
}
