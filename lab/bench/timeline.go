package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// timeline notes what each party of a run does and when: computations, the messages that it sends, and those that
// it takes in. It is written in the trace event format of Chrome, which Perfetto opens, too. Parties are added
// before the run; notes may come from any goroutine.
type timeline struct {
	began time.Time

	mu    sync.Mutex
	spans []during
	last  time.Duration // end of the last step
	named []string      // parties, in the order of their rows
}

// during is something that a party did for a while.
type during struct {
	party    int // place in timeline.named
	row      row
	name     string
	from, to time.Duration // since the beginning
	bytes    int           // of a message
}

// row is a group of rows of one party. It takes as many threads of the trace as things happen at the same time.
type row int

const (
	steps row = iota
	computes
	sends
	takesIn
	updates
)

var rowNames = [...]string{
	steps: "steps", computes: "computes", sends: "sends", takesIn: "takes in",
	updates: "from the last chunk to the first parameters",
}

// newTimeline begins a timeline now.
func newTimeline() *timeline { return &timeline{began: time.Now()} }

// party adds the rows of a party and returns its number, from 0. The first one is the coordinator.
func (l *timeline) party(name string) (number int) {
	l.named = append(l.named, name)
	return len(l.named) - 1
}

// note enters what has just ended, and began at from.
func (l *timeline) note(party int, r row, name string, from time.Time, bytes int) {
	to := time.Since(l.began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, during{party, r, name, from.Sub(l.began), to, bytes})
}

// step enters a step of the run, which the first party leads.
func (l *timeline) step(r coordinator.StepReport) {
	to := time.Since(l.began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, during{0, steps, fmt.Sprintf("step %d", r.Step), l.last, to, 0})
	l.last = to
}

// bus returns the connection of a party, which notes its messages. It lends messages if b does.
func (l *timeline) bus(party int, b wire.Bus) wire.Bus {
	noted := &notedBus{b, l, party}
	if lender, ok := b.(wire.Lender); ok {
		return &notedLender{noted, lender}
	}
	return noted
}

// notedBus is a connection that notes how long each message is on its way through the party.
type notedBus struct {
	wire.Bus
	in    *timeline
	party int
}

// Publish implements wire.Bus.
func (b *notedBus) Publish(subject string, data []byte) error {
	defer b.begin(sends, data)()
	return b.Bus.Publish(subject, data)
}

// begin returns the function that notes the end of a message's way through the party. What a handler does to the bytes
// meanwhile does not matter.
func (b *notedBus) begin(r row, data []byte) (done func()) {
	from, bytes, name := time.Now(), len(data), wire.KindOf(data).String()
	return func() { b.in.note(b.party, r, name, from, bytes) }
}

// Subscribe implements wire.Bus.
func (b *notedBus) Subscribe(subject string, handle func(data []byte)) (wire.Subscription, error) {
	return b.Bus.Subscribe(subject, func(data []byte) {
		defer b.begin(takesIn, data)()
		handle(data)
	})
}

// Hear implements wire.Bus.
func (b *notedBus) Hear(subject string, handle func(key string, data []byte)) (wire.Subscription, error) {
	return b.Bus.Hear(subject, b.noted(handle))
}

// noted is a handler that notes how long handle takes.
func (b *notedBus) noted(handle func(key string, data []byte)) func(key string, data []byte) {
	return func(key string, data []byte) {
		defer b.begin(takesIn, data)()
		handle(key, data)
	}
}

// notedLender is a notedBus that can lend its messages.
type notedLender struct {
	*notedBus
	lender wire.Lender
}

// Lend implements wire.Lender.
func (b *notedLender) Lend(subject string, handle func(key string, data []byte)) (wire.Subscription, error) {
	return b.lender.Lend(subject, b.noted(handle))
}

// notedProgram is the program of a worker, which notes what it computes.
type notedProgram struct {
	worker.Program
	in    *timeline
	party int
}

// Load implements worker.Program.
func (p *notedProgram) Load(step uint64, theta []float32) error {
	from := time.Now()
	err := p.Program.Load(step, theta)
	p.in.note(p.party, computes, "install parameters", from, 0)
	return err
}

// Gradient implements worker.Program.
func (p *notedProgram) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	from := time.Now()
	err := p.Program.Gradient(slot, step, shard, grad, terms)
	p.in.note(p.party, computes, fmt.Sprintf("shard %d of step %d", shard, step), from, 0)
	return err
}

// Prepare implements worker.Preparer.
func (p *notedProgram) Prepare(slot int, step uint64, shard int) (more bool) {
	from := time.Now()
	more = worker.Prepare(p.Program, slot, step, shard)
	p.in.note(p.party, computes, "prepare", from, 0)
	return more
}

// traceEvent is an event of the trace event format: "X" is one that lasts, "M" names a process or a thread.
type traceEvent struct {
	Name      string         `json:"name"`
	Phase     string         `json:"ph"`
	Process   int            `json:"pid"`
	Thread    int            `json:"tid"`
	Start     float64        `json:"ts"` // in microseconds
	Duration  float64        `json:"dur,omitempty"`
	Arguments map[string]any `json:"args,omitempty"`
}

// write writes the timeline as JSON. What happened at the same time in one row of a party stands in lanes of its
// own, up to 64 of them.
func (l *timeline) write(w io.Writer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	spans := append(l.spans, l.updates()...)
	// Of what begins at the same time the longest comes first, so that it gets the upper lane.
	slices.SortStableFunc(spans, func(a, b during) int {
		return cmp.Or(cmp.Compare(a.party, b.party), cmp.Compare(a.row, b.row), cmp.Compare(a.from, b.from),
			cmp.Compare(b.to, a.to))
	})
	var events []traceEvent
	for i, name := range l.named {
		events = append(events, traceEvent{
			Name: "process_name", Phase: "M", Process: i,
			Arguments: map[string]any{"name": name},
		})
	}
	const most = 64 // lanes of a row, each of which is a thread of the trace
	type laneOf struct{ party, thread int }
	free := map[laneOf]time.Duration{}
	for _, s := range spans {
		thread, last := int(s.row)*most, int(s.row)*most+most-1
		// The first lane that is free at the time; the last takes whatever is left.
		for thread < last && free[laneOf{s.party, thread}] > s.from {
			thread++
		}
		lane := laneOf{s.party, thread}
		if _, known := free[lane]; !known {
			events = append(events, traceEvent{
				Name: "thread_name", Phase: "M", Process: s.party, Thread: thread,
				Arguments: map[string]any{"name": rowNames[s.row]},
			})
		}
		free[lane] = s.to
		e := traceEvent{
			Name: s.name, Phase: "X", Process: s.party, Thread: thread, Start: microseconds(s.from),
			Duration: microseconds(s.to - s.from),
		}
		if s.bytes > 0 {
			e.Arguments = map[string]any{"bytes": s.bytes}
		}
		events = append(events, e)
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"}); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}

// microseconds is d in the unit of the format.
func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// updates are the times in which the coordinator has the last chunk of a gradient and sends no parameters yet:
// the end of the sum, clipping and Adam. The caller holds mu.
func (l *timeline) updates() (found []during) {
	spans := slices.DeleteFunc(slices.Clone(l.spans), func(s during) bool {
		return s.party != 0 || s.row != sends &&
			s.row != takesIn
	})
	slices.SortStableFunc(spans, func(a, b during) int { return cmp.Compare(a.from, b.from) })
	var chunk time.Duration
	for _, s := range spans {
		switch {
		// The last chunk of a step is the one before the first parameters that follow.
		case s.row == takesIn && s.name == wire.KindChunk.String():
			chunk = max(chunk, s.to)
		case s.row == sends && s.name == wire.KindTheta.String() && chunk > 0 && chunk < s.from:
			found = append(found, during{0, updates, "sum, clip, Adam", chunk, s.from, 0})
			chunk = 0
		}
	}
	return found
}
