package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// receive handles a message of the coordinator. It drops messages that are malformed, of another run or of an older
// term. An error ends the worker.
func (w *Worker) receive(d delivery, ticker *time.Ticker) error {
	if d.peer != "" {
		w.receivePeer(d.peer, d.data)
		return nil
	}
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
	if h.Term < w.term && wire.TypeOf(msg) != wire.KindRefusal {
		w.logOutdated(h.Term)
		return nil
	}
	if d.direct && h.Token != 0 && h.Token != w.mark {
		return nil // it is for another worker with this id
	}
	if wire.TypeOf(msg) == wire.KindRefusal && h.Token != w.mark {
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
	// All else is about what a Welcome of this term has set up.
	if !w.welcomed || h.Term != w.term {
		return nil
	}
	if piece, ok := msg.(*wire.Piece); ok {
		w.takePiece(piece)
		return nil
	}
	if offer, ok := msg.(*wire.Offer); ok {
		w.takeOffer(offer)
		return nil
	}
	// Parameters and leases are for a program; they come again after the Ready.
	if w.program == nil {
		return nil
	}
	switch msg := msg.(type) {
	case *wire.Theta:
		w.takeTheta(msg)
	case *wire.Stay:
		w.takeStay(msg)
	case *wire.ThetaAt:
		w.takeThetaAt(msg)
	case *wire.Relay:
		w.takeRelay(msg)
	case *wire.Lease:
		w.takeLease(msg)
	case *wire.Reduce:
		w.takeReduce(msg)
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
	w.theta.forget()
	w.relay, w.early, w.earlyBytes = relay{}, nil, 0
	w.dropLeases()
	w.closeLink()
	w.sharing.over = false
	w.hearAgain()
}

// welcome takes up the terms of a coordinator. One that says what cannot be is not obeyed, and nothing is changed but
// what belongs to an older term. It leads to a Fetch, a build, or a Ready.
func (w *Worker) welcome(msg *wire.Welcome, ticker *time.Ticker) {
	if msg.Term != w.term {
		w.reset()
	}
	if msg.Chunk < 4 || msg.Heartbeat <= 0 || !offered(msg) {
		w.log.Debug("welcome dropped", "chunk", msg.Chunk, "heartbeat", msg.Heartbeat, "data", msg.DataHash, "bytes",
			msg.DataSize)
		return
	}
	rounder, err := rounderOf(msg)
	if err != nil {
		w.log.Debug("welcome dropped", "error", err)
		return
	}
	changes, err := changesOf(msg)
	if err != nil {
		w.log.Debug("welcome dropped", "error", err)
		return
	}
	// What came before was cut into other chunks. No coordinator changes that within a term.
	if msg.Chunk != w.chunk {
		w.reset()
	}
	w.term, w.welcomed, w.lastBeat = msg.Term, true, time.Now()
	if msg.Heartbeat != w.heartbeat {
		w.heartbeat = msg.Heartbeat
		ticker.Reset(max(w.heartbeat/50, time.Millisecond))
	}
	w.size, w.chunk, w.rounder, w.changes = msg.Size, msg.Chunk, rounder, changes
	w.shape()
	w.wanted = order{string(msg.Job), msg.DataHash}
	w.openData(msg)
	w.prepare()
}

// install installs a program. Its vectors are allocated, for the newest Welcome.
func (w *Worker) install(b build) {
	w.program, w.made, w.golden, w.served = b.program, b.order, b.golden, nil
	w.shape()
}

// rounderOf returns the rounder that the coordinator asks for. It has no grid if gradients are float32.
func rounderOf(msg *wire.Welcome) (vector.Rounder, error) {
	if msg.Gradients == wire.Float32 {
		return vector.Rounder{}, nil
	}
	grid, err := gridOf(msg, msg.Gradients, msg.Shards)
	return vector.Rounder{Grid: grid, Seed: msg.Seed}, err
}

// changesOf returns the grid of the differences in which parameters may come; nil if they come whole.
func changesOf(msg *wire.Welcome) (*vector.Grid, error) {
	if msg.Parameters == wire.Float32 {
		return nil, nil
	}
	return gridOf(msg, msg.Parameters, 1)
}

// gridOf divides the parameters into blocks of integers. The tensors have to make up all parameters.
func gridOf(msg *wire.Welcome, coding wire.Coding, shards int) (*vector.Grid, error) {
	left := msg.Size
	for _, n := range msg.Tensors {
		left -= n
	}
	if left != 0 {
		return nil, fmt.Errorf("%d tensors do not make %d parameters", len(msg.Tensors), msg.Size)
	}
	return vector.NewGrid(vector.Width(coding.Width()), msg.Tensors, shards)
}

// codingOf is the form in which integers of a width travel.
func codingOf(width vector.Width) wire.Coding {
	if width == vector.Int8 {
		return wire.Int8
	}
	return wire.Int16
}

// shape allocates the vectors of the program, in the form that the coordinator asks for, unless they have that form.
// If they have another, all that was loaded is forgotten.
func (w *Worker) shape() {
	if w.program == nil {
		return
	}
	var now vector.Rounder
	if r, ok := w.served.(*rounded); ok {
		now = r.rounder
	}
	coding, served := wire.Float32, w.program
	if w.rounder.Grid != nil {
		coding, served = codingOf(w.rounder.Grid.Width()), Rounded(w.program, w.rounder)
	}
	if w.served == nil || !now.Equal(w.rounder) || !w.theta.changes.Equal(w.changes) {
		w.served = served
		n := w.served.Size()
		w.theta = assembly{values: make([]float32, n), changes: w.changes}
		w.memory, w.parts = &vectors{size: n, terms: len(w.program.TermNames())}, make(map[int]*vectors)
		w.leased, w.loaded = false, 0
	}
	w.chunks = wire.NewChunking(w.served.Size(), w.chunk)
	w.sums = coding.Chunking(w.served.Size(), w.chunk)
}

// sayReady says what was built, for the coordinator to compare. It is repeated with heartbeats until a lease comes.
func (w *Worker) sayReady() {
	w.publish(w.subjects.Control, &wire.Ready{
		Size: w.program.Size(), Terms: w.program.TermNames(), Job: wire.HashData([]byte(w.made.job)), Golden: w.golden,
	})
}

// takeTheta stores one chunk of the parameters. The first chunk of a newer step ends all work on the older one.
func (w *Worker) takeTheta(msg *wire.Theta) {
	if msg.Count != w.chunks.Count() || msg.Index >= msg.Count || !w.theta.sound(msg, w.chunks) {
		w.log.Debug("parameters dropped", "step", msg.Step, "chunk", msg.Index)
		return
	}
	if !w.turn(msg.Step, msg.Pass) || w.theta.got.Has(msg.Index) {
		return
	}
	// First to the others: they wait for it.
	w.handOn(msg)
	now := time.Now()
	if !w.theta.store(msg, w.chunks) {
		w.log.Debug("differences dropped", "step", msg.Step, "chunk", msg.Index, "base", msg.BaseStep)
		w.theta.follows(now) // the values have to be asked for
		return
	}
	w.theta.arrived(msg.Index, now)
	w.verify(msg.Index)
	w.stir(now)
}

// takeStay keeps the parameters of an earlier pass for this one. What it does not have of that pass is asked for like
// what was lost.
func (w *Worker) takeStay(msg *wire.Stay) {
	if msg.Count > w.chunks.Count() || !w.turn(msg.Step, msg.Pass) {
		return
	}
	now := time.Now()
	for i := range msg.Count {
		if !w.theta.got.Has(i) && w.theta.held[i] == (held{true, msg.Step, msg.BasePass}) {
			w.theta.held[i].pass = msg.Pass
			w.theta.arrived(i, now)
		}
	}
	w.stir(now)
}

// turn moves on to a pass of a step if it is a newer one. It reports whether this is the current pass.
func (w *Worker) turn(step uint64, pass int) bool {
	t := &w.theta
	if !t.known || step > t.step || step == t.step && pass > t.pass {
		w.dropLeases()
		w.complain()
		if step == t.step { // a Stay may keep what is here
			w.dropUnverified()
		}
		t.open(step, pass, w.chunks.Count())
		w.relay = relay{}
	}
	return step == t.step && pass == t.pass
}

// takeLease accepts a lease. A known lease was sent again because a message was lost. What cannot be computed is
// dropped: no coordinator of this version asks for it.
func (w *Worker) takeLease(msg *wire.Lease) {
	b := vector.Block{First: msg.First, Count: msg.Count}
	if !b.Valid(wire.MaxCount) || msg.Work != wire.Gradient && (msg.Work != wire.Validate || msg.Sections > 0) ||
		msg.Sections > w.sums.Count() || !w.turn(msg.Step, msg.Pass) {
		return
	}
	if msg.Sections > 0 {
		w.meet()
	}
	if w.given(time.Now(), msg.ID) {
		return
	}
	l := &lease{
		Lease: *msg, block: b, program: w.served, memory: w.memory, chunks: w.sums, tree: vector.NewTree(b),
	}
	if w.rounder.Grid != nil {
		l.tree.Peaks = w.rounder.Grid.Blocks()
	}
	w.leases = append(w.leases, l)
}

// given notes that a lease has come, and reports whether it is a known one, which is announced again if it is finished.
func (w *Worker) given(now time.Time, id uint64) bool {
	w.leased = true
	w.trusted.Store(true)
	w.theta.follows(now)
	w.stir(now)
	for _, l := range w.leases {
		if l.ID == id {
			if l.finished() {
				w.announce(l)
			}
			return true
		}
	}
	return false
}

// announce tells the coordinator that a block is done.
func (w *Worker) announce(l *lease) {
	w.stir(time.Now())
	r := &wire.Result{
		Lease: l.ID, Step: l.Step, Attempt: l.Attempt, Work: l.Work, First: l.First, Count: l.Count,
	}
	if l.err != nil {
		r.Fault = wire.Clip(l.err.Error())
	} else {
		r.Took = min(l.took, wire.MaxDuration)
		r.Terms, r.Length, r.Checksum, r.Digest = l.sum.Terms, l.length, wire.Combine(l.crcs), l.digest
		r.Digests = l.digests
	}
	if l.Sections > 0 { // a Pull asks for a chunk at least, so all that is served is let in
		w.gate.AtLeast(wire.KindPull, w.share())
	}
	w.publish(w.subjects.Control, r)
}

// chunkOf is a chunk of a lease's result.
type chunkOf struct {
	lease *lease
	index int
	peer  string // name of the worker that pulls it; empty: the coordinator does
}

// serve records the chunks that the coordinator pulls. On a slow link they are pulled again before they are sent, but
// each chunk is recorded only once. Chunks that lie in shared memory are only said to lie there.
func (w *Worker) serve(msg *wire.Pull) {
	for _, l := range w.leases {
		if l.ID != msg.Lease || !l.finished() || msg.First > len(l.crcs) || msg.Count > len(l.crcs)-msg.First {
			continue
		}
		if w.lay(l, msg.First, msg.Count) {
			return
		}
		for i := msg.First; i < msg.First+msg.Count; i++ {
			if c := (chunkOf{lease: l, index: i}); !slices.Contains(w.sending, c) {
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

// sendChunk sends the chunk that was pulled first. One whose lease was dropped is not in the list any more.
func (w *Worker) sendChunk() {
	next := w.sending[0]
	l, i := next.lease, next.index
	w.sending = w.sending[:copy(w.sending, w.sending[1:])]
	chunk := &wire.Chunk{Lease: l.ID, Step: l.Step, Index: i, CRC: l.crcs[i], Data: l.chunk(i)}
	if next.peer == "" {
		w.publish(w.subjects.Data, chunk)
	} else {
		w.tell(next.peer, chunk)
	}
}
