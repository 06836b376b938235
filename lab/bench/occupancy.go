package bench

import (
	"errors"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/worker"
)

// Occupancy notes when the slots of workers have shards of runs to compute. A slot is busy while it has a task: from
// the moment at which it is given a shard until it has the result. All other time is idle, whatever the reason.
//
// The slots do not compute: with each shard they wait as long as it would take, and give a vector of zeros of the right
// length. So more slots can be watched than there are cores, what is measured is how they are given work, and
// all the processor time of the process is that of the coordinator, the broker and the messages.
type Occupancy struct {
	Shard time.Duration // that a shard takes

	mu    sync.Mutex
	spans []*span
}

// span is what one slot did in one run. Each run that a worker joins builds a program, and with it a span for
// each slot.
type span struct {
	worker, slot int
	first, last  time.Time     // begin of its first shard there, end of its last
	busy         time.Duration // sum of the times of its shards
	shards       int
}

// Watch returns a program of a worker, from 0, whose shards only take their time. The golden shard, which is computed
// before parameters are loaded and belongs to no run, is that of p.
func (o *Occupancy) Watch(p worker.Program, number, slots int) worker.Program {
	v := &watched{Program: p, of: o, spans: make([]*span, slots)}
	for i := range v.spans {
		v.spans[i] = &span{worker: number, slot: i}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spans = append(o.spans, v.spans...)
	return v
}

// watched is a program with its spans. A slot is used by one goroutine at a time.
type watched struct {
	worker.Program
	of     *Occupancy
	spans  []*span
	loaded bool
}

// Load implements worker.Program.
func (p *watched) Load(step uint64, theta []float32) error {
	p.loaded = true
	return p.Program.Load(step, theta)
}

// Gradient implements worker.Program.
func (p *watched) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	if !p.loaded {
		return p.Program.Gradient(slot, step, shard, grad, terms)
	}
	clear(grad)
	return p.Validate(slot, step, shard, terms)
}

// Validate implements worker.Program. It sleeps for the time of a shard and enters it into the span of the slot.
func (p *watched) Validate(slot int, _ uint64, _ int, terms []float32) error {
	clear(terms)
	began := time.Now()
	time.Sleep(p.of.Shard)
	now := time.Now()
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	s := p.spans[slot]
	if s.shards++; s.first.IsZero() {
		s.first = began
	}
	s.last = now
	s.busy += now.Sub(began)
	return nil
}

// Shares says where the time of the slots went, in parts of all of it: the number of slots times Seconds.
type Shares struct {
	Slots   int     `json:"slots"`
	Seconds float64 `json:"seconds"` // from begin to end
	Shards  int     `json:"shards"`
	Busy    float64 `json:"busy"`
	// InRun is idle time between two shards of a run: messages, updates of the parameters, shards of others.
	InRun float64 `json:"idle_in_run"`
	// Between is idle time between the last shard in a run and the first one in the next.
	Between float64 `json:"idle_between"`
	// Ends is idle time before the first shard of all, and after a slot's last one.
	Ends float64 `json:"idle_at_ends"`
	// Cost is the processor time of this process.
	Cost float64 `json:"cost"`
}

// Meter is a measurement under way.
type Meter struct {
	of     *Occupancy
	began  time.Time
	before time.Duration
}

// Begin begins to measure.
func (o *Occupancy) Begin() *Meter { return &Meter{o, time.Now(), worker.ProcessorTime()} }

// End ends the measurement of so many slots. With T the time since Begin, and for each slot the time from its
// first shard to its last, in one run (inside) or in all (present),
//
//	Busy    = Σ busy / (slots·T)                InRun = Σ (inside − busy) / (slots·T)
//	Between = Σ (present − inside) / (slots·T)  Ends  = 1 − Σ present / (slots·T)
//
// The four add up to 1. It is an error if no slot had a shard.
func (m *Meter) End(slots int) (Shares, error) {
	now := time.Now()
	total, used := now.Sub(m.began), worker.ProcessorTime()-m.before
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	all := float64(slots) * total.Seconds()
	s := Shares{Slots: slots, Seconds: total.Seconds(), Cost: used.Seconds() / all}
	type place struct{ worker, slot int }
	first, last := map[place]time.Time{}, map[place]time.Time{}
	var inside, busy, present time.Duration
	for _, p := range m.of.spans {
		if p.shards == 0 {
			continue
		}
		// Spans of one slot in several runs: its time is from the first of them to the last.
		at := place{p.worker, p.slot}
		if t, ok := first[at]; !ok || p.first.Before(t) {
			first[at] = p.first
		}
		if p.last.After(last[at]) {
			last[at] = p.last
		}
		inside, busy, s.Shards = inside+p.last.Sub(p.first), busy+p.busy, s.Shards+p.shards
	}
	for at, t := range first {
		present += last[at].Sub(t)
	}
	if s.Shards == 0 {
		return s, errors.New("no slot has computed anything")
	}
	s.Busy, s.InRun, s.Between = busy.Seconds()/all, (inside-busy).Seconds()/all, (present-inside).Seconds()/all
	s.Ends = 1 - present.Seconds()/all
	return s, nil
}
