package worker

import (
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// Parameters may come by way of other workers: the coordinator sends this worker a section of them, which it hands on
// to all others, and the others do the same. What comes from another worker counts only if its section, once it is
// whole, has the digest that the coordinator has told. If not, nothing of it is kept, and it is asked for as if it had
// been lost.

// maxEarly is how many bytes of other workers are kept that come before the coordinator has said who hands on what:
// twice all parameters, as its own link may be the slow one. It is 4 MiB at least.
func (w *Worker) maxEarly() int { return max(4<<20, 2*4*w.chunks.Size) }

// relay is what the coordinator has said of who hands on the parameters of the current pass. Without sections it has
// said nothing: it sends them itself.
type relay struct {
	sections  wire.Sections
	names     []string
	digests   string
	mixed     []bool // by section: something of it came from another worker
	refused   []bool // by section: something else came than was told
	requested []bool // by chunk: it was asked for because it was overtaken
}

// of is the section that a chunk is in, if the worker with that name hands it on.
func (r *relay) of(chunk int, name string) (section int, ok bool) {
	if r.sections.Count == 0 {
		return 0, false
	}
	i := r.sections.Of(chunk)
	return i, r.names[i] == name
}

// takeRelay learns who hands on the parameters of a pass. A second one of the same pass was repeated, and is dropped.
func (w *Worker) takeRelay(msg *wire.Relay) {
	sections := wire.Sections{Chunks: w.chunks, Count: len(msg.Digests) / wire.DigestLength(1)}
	n := sections.Count
	if len(msg.Digests) != wire.DigestLength(n) || !sections.Valid(0, n) || n > len(msg.Names) ||
		!w.turn(msg.Step, msg.Pass) || w.relay.sections.Count > 0 {
		return
	}
	// From here on others are heard, and so what they hand on.
	w.meet()
	w.relay = relay{sections, msg.Names, msg.Digests, make([]bool, n), make([]bool, n), make([]bool, w.chunks.Count())}
	// Twice as many as there are, for what a network repeats.
	for i, name := range msg.Names[:n] {
		_, key := wire.SplitName(name)
		w.gate.Expect(key, wire.KindTheta, 2*(sections.First(i+1)-sections.First(i)))
	}
	w.handOnHeld()
	early := w.early
	w.early, w.earlyBytes = nil, 0
	for _, m := range early { // nothing else is kept any longer: a liar could fill the room
		if m.Step == msg.Step && m.Pass == msg.Pass {
			w.takeRelayed(m)
		}
	}
}

// handOn sends a chunk of the parameters to the others, if that is this worker's part. Each of them gets a message of
// its own.
func (w *Worker) handOn(msg *wire.Theta) {
	self := w.name()
	if _, mine := w.relay.of(msg.Index, self); !mine {
		return
	}
	for _, name := range w.relay.names {
		if name != self {
			w.tell(name, msg)
		}
	}
}

// handOnHeld hands on what had come before it was known that it is to be handed on. It is handed on as values,
// whatever it came as.
func (w *Worker) handOnHeld() {
	for i := range w.theta.got.Count() {
		if w.theta.got.Has(i) {
			data := w.chunks.Encode(nil, w.theta.values, i)
			w.handOn(&wire.Theta{
				Step: w.theta.step, Pass: w.theta.pass, Index: i, Count: w.theta.got.Count(),
				CRC: wire.Checksum(data), Data: data,
			})
		}
	}
}

// takeRelayed stores a chunk of the parameters that another worker hands on. The sender is believed only as far as
// the digest of its section goes.
func (w *Worker) takeRelayed(msg *wire.Theta) {
	t := &w.theta
	if w.program == nil || msg.Count != w.chunks.Count() || msg.Index >= msg.Count || !t.sound(msg, w.chunks) {
		return
	}
	// What is of the current pass counts; what is newer, or comes before the Relay, is kept for a while; what is
	// older is dropped.
	now := t.known && msg.Step == t.step && msg.Pass == t.pass
	switch {
	case now && w.relay.sections.Count > 0:
	case !t.known || msg.Step < t.step || msg.Step == t.step && msg.Pass < t.pass:
		return
	default:
		if w.earlyBytes += len(msg.Data); w.earlyBytes <= w.maxEarly() {
			w.early = append(w.early, msg)
		}
		return
	}
	// From one that does not hand on this section nothing is taken, so nobody can spoil the part of another.
	i, ok := w.relay.of(msg.Index, msg.From)
	if !ok || w.relay.refused[i] || t.got.Has(msg.Index) || !t.store(msg, w.chunks) {
		return
	}
	w.relay.mixed[i] = true
	t.arrived(msg.Index, time.Now())
	w.verify(msg.Index)
}

// overtaken returns the chunks of the parameters that were lost for certain where workers hand them on: those of its
// own section, once the coordinator has said something later, and of each other one those before a chunk that has
// come. Those who hand on do so in order, each over a link of its own. A chunk is returned once: the answer may take
// long. At most wire.MaxRanges are returned.
func (w *Worker) overtaken() (lost []wire.Range) {
	r, t := &w.relay, &w.theta
	self := w.name()
	for i := range r.sections.Count {
		first, end := r.sections.First(i), r.sections.First(i+1)
		// Of a section that another one hands on, what stands before its last chunk here was overtaken; of the own
		// one, everything, once the coordinator has said something later.
		if r.names[i] != self || !t.behind {
			for end > first && !t.got.Has(end-1) {
				end--
			}
		}
		for i := first; i < end; i++ {
			if !t.got.Has(i) && !r.requested[i] && len(lost) < wire.MaxRanges {
				r.requested[i] = true
				lost = append(lost, wire.Range{First: i, Count: 1})
			}
		}
	}
	return lost
}

// complain tells the coordinator what of the parameters did not come in time from those who were to hand it on: the
// run has gone on without this worker. The coordinator learns from it who did not hand on.
func (w *Worker) complain() {
	if ranges := w.theta.missingRanges(); ranges != nil && w.relay.sections.Count > 0 && w.theta.asks == 0 {
		w.publish(w.subjects.Control, &wire.Need{Step: w.theta.step, Ranges: ranges})
	}
}

// dropUnverified forgets what came from other workers in sections that are not whole, and so have not been compared
// with their digests. A later pass of the step must not keep it.
func (w *Worker) dropUnverified() {
	held := w.theta.held
	for i, mixed := range w.relay.mixed {
		first, end := w.relay.sections.First(i), w.relay.sections.First(i+1)
		if mixed && end <= len(held) { // the program may be another one meanwhile
			clear(held[first:end])
		}
	}
}

// verify looks at the section that a chunk is in, if the chunk is the last of it and some of it came from another
// worker. What is not as the coordinator has told is dropped and asked for.
func (w *Worker) verify(chunk int) {
	r, t := &w.relay, &w.theta
	if r.sections.Count == 0 {
		return
	}
	i := r.sections.Of(chunk)
	first, end := r.sections.First(i), r.sections.First(i+1)
	if !r.mixed[i] || t.got.Gaps(first, end, 1) != nil {
		return
	}
	r.mixed[i] = false
	from, to := r.sections.Span(i, 1)
	// The digest comes from the coordinator, on a subject where a worker with a key of its own may not speak.
	if r.sections.DigestsOf(i, 1, t.values[from:to]) == wire.Part(r.digests, i, 1) {
		return
	}
	// Nothing more of it is taken from a worker in this pass: the coordinator sends it.
	r.refused[i] = true
	t.drop(first, end)
	w.log.Warn("a worker forwards wrong parameters than the coordinator has sent: they are asked for again", "step",
		t.step, "by", r.names[i])
	t.asked(time.Now())
	w.publish(w.subjects.Control, &wire.Need{Step: t.step, Ranges: []wire.Range{{First: first, Count: end - first}}})
}
