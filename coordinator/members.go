package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// member is a worker that said Hello and is not lost. It gets leases once it is ready: when it has the data set and has
// built its program.
type member struct {
	id       string
	slots    int
	ready    bool
	fresh    bool // it has said Hello, and not Ready since
	busy     int  // shards leased to it and not announced
	lastSeen time.Duration
	fetch    fetch
}

func (m *machine) member(id string) *member {
	for _, w := range m.members {
		if w.id == id {
			return w
		}
	}
	return nil
}

// ready counts the members that can be given leases.
func (m *machine) ready() int {
	n := 0
	for _, w := range m.members {
		if w.ready {
			n++
		}
	}
	return n
}

func (m *machine) slots() int {
	n := 0
	for _, w := range m.members {
		if w.ready {
			n += w.slots
		}
	}
	return n
}

// receive handles a message of a worker. What fails a check is refused and changes nothing.
func (m *machine) receive(now time.Duration, msg wire.Message) {
	if m.finished {
		return
	}
	h := msg.Head()
	w := m.member(h.From)
	if reason, detail := m.admit(w, msg); reason != "" {
		known := ""
		if w != nil {
			known = h.From
		}
		m.reject(known, reason, "%s", detail)
		return
	}
	if w != nil {
		w.lastSeen = now
	}
	switch msg := msg.(type) {
	case *wire.Hello:
		m.hello(now, w, msg)
	case *wire.Fetch:
		m.fetch(now, w, msg)
	case *wire.Ready:
		m.becomeReady(now, w, msg)
	case *wire.Heartbeat:
		m.beat(now, w, msg)
	case *wire.Need:
		m.resendTheta(w, msg)
	case *wire.Result:
		m.announce(now, w, msg)
	case *wire.Chunk:
		m.arrive(now, w, msg)
	case *wire.Bye:
		m.remove(now, w, "said goodbye")
	}
}

// admit checks what is common to all messages: run, term, membership and direction.
func (m *machine) admit(w *member, msg wire.Message) (Reason, string) {
	h := msg.Head()
	if err := wire.CheckName(h.From); err != nil {
		return ReasonMalformed, fmt.Sprintf("worker id: %v", err)
	}
	if h.Run != m.cfg.Run {
		return ReasonRun, fmt.Sprintf("message for run %q", h.Run)
	}
	switch msg := msg.(type) {
	case *wire.Hello:
		if msg.Slots < 1 {
			return ReasonMalformed, fmt.Sprintf("hello from %s with %d slots", h.From, msg.Slots)
		}
		return "", ""
	case *wire.Heartbeat: // a stranger's heartbeat is answered: it may have been here before
		if w == nil {
			return "", ""
		}
	case *wire.Fetch, *wire.Ready, *wire.Need, *wire.Result, *wire.Chunk, *wire.Bye:
		if w == nil {
			return ReasonWorker, fmt.Sprintf("%T from %s, which is no member", msg, h.From)
		}
	default:
		return ReasonMalformed, fmt.Sprintf("%T is not for a coordinator", msg)
	}
	if h.Term != m.term {
		return ReasonTerm, fmt.Sprintf("%T of term %d, now %d", msg, h.Term, m.term)
	}
	return "", ""
}

func (m *machine) hello(now time.Duration, w *member, msg *wire.Hello) {
	if w == nil {
		w = &member{id: msg.From, lastSeen: now}
		m.members = append(m.members, w)
	}
	w.slots, w.fresh = msg.Slots, true // a known one may have been started anew
	m.send(msg.From, &wire.Welcome{
		Size: m.chunks.Size, Chunk: 4 * m.chunks.Elements, Heartbeat: m.heartbeat(), Job: m.cfg.Job,
		DataHash: m.data.hash, DataSize: m.data.pieces.Size,
	})
}

func (m *machine) becomeReady(now time.Duration, w *member, msg *wire.Ready) {
	if msg.Size != m.chunks.Size || !slices.Equal(msg.Terms, m.cfg.TermNames) {
		detail := fmt.Sprintf("the worker's program has %d parameters and terms %q, the run %d and %q",
			msg.Size, msg.Terms, m.chunks.Size, m.cfg.TermNames)
		m.reject(w.id, ReasonLength, "%s", detail)
		m.send(w.id, &wire.Refusal{Reason: clip(detail), Remedy: "run coordinator and workers from the same release"})
		m.remove(now, w, "its program differs from the run's")
		return
	}
	if !w.fresh {
		return
	}
	w.fresh = false
	m.ground(&w.fetch)
	if !w.ready {
		w.ready = true
		m.emit(MembershipReport{Workers: m.ready(), Slots: m.slots(), Joined: w.id})
	}
	m.emit(thetaCommand{to: w.id, count: m.chunks.Count()})
	m.assign(now)
}

// beat notes what is done of the worker's leases, and looks for those that it should know and does not list: their
// Lease or Result was lost.
func (m *machine) beat(now time.Duration, w *member, msg *wire.Heartbeat) {
	if w == nil {
		m.send(msg.From, &wire.Introduce{})
		return
	}
	if m.ahead(w, msg.Step) {
		return
	}
	for _, l := range m.leases {
		if l.owner != w || l.state != leased {
			continue
		}
		i := slices.IndexFunc(msg.Running, func(p wire.Progress) bool { return p.Lease == l.id })
		if i >= 0 {
			if done := min(msg.Running[i].Done, l.block.Count); done > l.done {
				l.done, l.grewAt = done, now
			}
		} else if now-l.sentAt >= m.patience() {
			m.askAgain(now, l)
		}
	}
}

// ahead reports whether a worker believes to be at a step that has not come, and lets it begin anew: it would drop all
// that is sent to it.
func (m *machine) ahead(w *member, step uint64) bool {
	if step <= m.adam.step {
		return false
	}
	m.send(w.id, &wire.Introduce{})
	return true
}

// resendTheta sends chunks that a worker misses. A request for an older step is out of date.
func (m *machine) resendTheta(w *member, msg *wire.Need) {
	if m.ahead(w, msg.Step) || msg.Step < m.adam.step {
		return
	}
	if reason, detail := checkRanges("chunks", msg.Ranges, m.chunks.Count()); reason != "" {
		m.reject(w.id, reason, "%s", detail)
		return
	}
	for _, r := range msg.Ranges {
		m.emit(thetaCommand{w.id, r.First, r.Count})
	}
}

// remove takes a member's leases back.
func (m *machine) remove(now time.Duration, w *member, why string) {
	m.ground(&w.fetch)
	m.members = slices.DeleteFunc(m.members, func(o *member) bool { return o == w })
	for _, l := range m.leases {
		if l.owner == w && (l.state == leased || l.state == pulling) {
			m.revoke(l)
			l.round.release(l.block)
		}
	}
	for _, r := range m.rounds {
		for i := range r.retry {
			if r.retry[i].not == w {
				r.retry[i].not = nil
			}
		}
	}
	if w.ready {
		m.waitSince = now
		m.emit(MembershipReport{Workers: m.ready(), Slots: m.slots(), Left: w.id, Reason: why})
	}
	m.assign(now)
	m.spend(now)
	m.stopIdle()
}

// dismiss gives up the workers that were not heard of for too long.
func (m *machine) dismiss(now time.Duration) {
	for i := len(m.members) - 1; i >= 0 && !m.finished; i-- {
		if w := m.members[i]; now-w.lastSeen > m.cfg.FailureDetection {
			m.remove(now, w, fmt.Sprintf("not heard of for %v", m.cfg.FailureDetection))
		}
	}
}

// tick looks after all else that time decides: lost chunks, and the report of a run that waits.
func (m *machine) tick(now time.Duration) {
	if m.finished {
		return
	}
	for _, l := range m.leases {
		if l.state == pulling {
			m.pullAgain(now, l)
		}
	}
	m.groundLost(now)
	m.spend(now)
	if waiting := m.waiting(now); waiting != "" && now-m.waitTold >= time.Second {
		m.waitTold = now
		m.emit(MembershipReport{
			Workers: m.ready(), Slots: m.slots(), Waiting: waiting, Seconds: (now - m.waitSince).Seconds(),
		})
	}
}

// waiting says what holds the run up, if anything.
func (m *machine) waiting(now time.Duration) string {
	if m.ready() == 0 {
		if n := len(m.members); n > 0 {
			return fmt.Sprintf("%d workers prepare, %s first", n, m.members[0].id)
		}
		return "no worker has joined"
	}
	for _, l := range m.leases {
		if l.state != leased {
			continue
		}
		if silent := now - l.owner.lastSeen; silent > m.cfg.FailureDetection/2 {
			return fmt.Sprintf("shards %s are at worker %s, silent for %.1f s", l.block, l.owner.id, silent.Seconds())
		}
		if idle := now - l.grewAt; idle > m.cfg.FailureDetection {
			return fmt.Sprintf("shards %s at worker %s: %d of %d done for %.0f s", l.block, l.owner.id, l.done, l.block.Count, idle.Seconds())
		}
	}
	return ""
}
