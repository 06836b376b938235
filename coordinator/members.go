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
	*account
	id       string
	slots    int
	ready    bool
	fresh    bool          // it has said Hello, and not Ready since
	asked    bool          // it was given a lease in this step
	busy     int           // shards leased to it and not announced
	computed time.Duration // how long all its slots computed in this step, as it says
	lastSeen time.Duration
	// doubtedAt is when a block of its was last given to another because it was late. Until it speaks again it gets no more.
	doubtedAt time.Duration
	fetch     fetch
}

// key tells members apart: whoever speaks under the id of another has another token.
type key struct {
	id    string
	token uint64
}

func (m *machine) member(id string, token uint64) *member { return m.byKey[key{id, token}] }

// taken reports whether there is a member with that id and another token.
func (m *machine) taken(id string, token uint64) bool {
	return slices.ContainsFunc(m.members, func(w *member) bool { return w.id == id && w.token != token })
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

// worked is how long the busiest worker computed in this step, and how long all did together, in seconds.
func (m *machine) worked() (busiest, all float64) {
	for _, w := range m.members {
		busiest = max(busiest, w.computed.Seconds())
		all += w.computed.Seconds()
	}
	return busiest, all
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

// beat notes what is done of the worker's leases, and looks for those that it should know and does not list: their
// Lease or Result was lost.
func (m *machine) beat(now time.Duration, w *member, msg *wire.Heartbeat) {
	if w == nil {
		m.tell(msg.From, wire.Mark(msg.Token), &wire.Introduce{})
		return
	}
	if m.ahead(w, msg.Step) {
		return
	}
	for i := 0; i < len(m.leases); i++ { // a lease that is lost makes new ones
		l := m.leases[i]
		if l.owner != w || l.state != leased {
			continue
		}
		i := slices.IndexFunc(msg.Running, func(p wire.Progress) bool { return p.Lease == l.id })
		if i >= 0 {
			if done := min(msg.Running[i].Done, m.parts(l)); done > l.done {
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
	if step <= m.opt.step {
		return false
	}
	m.tell(w.id, w.mark, &wire.Introduce{})
	return true
}

// resendTheta sends chunks that a worker misses. A request for an older step is out of date.
func (m *machine) resendTheta(w *member, msg *wire.Need) {
	if m.ahead(w, msg.Step) || msg.Step < m.opt.step {
		return
	}
	if reason, detail := checkRanges("chunks", msg.Ranges, m.chunks.Count()); reason != "" {
		m.refuse(w, reason, true, "%s", detail)
		return
	}
	for _, r := range msg.Ranges {
		m.emit(thetaCommand{w.id, r.First, r.Count})
	}
}

// remove takes a member's leases back.
func (m *machine) remove(now time.Duration, w *member, why string) {
	m.dropMember(now, w, why)
	m.assign(now)
	m.spend(now)
	m.stopIdle()
}

func (m *machine) dropMember(now time.Duration, w *member, why string) {
	m.ground(&w.fetch)
	m.members = slices.DeleteFunc(m.members, func(o *member) bool { return o == w })
	delete(m.byKey, key{w.id, w.token})
	for _, l := range slices.Clone(m.leases) {
		if l.owner == w && l.out() {
			m.lose(now, l, nil)
		}
	}
	m.forgetAccount(w.account)
	if w.ready {
		m.waitSince = now
		m.emit(MembershipReport{Workers: m.ready(), Slots: m.slots(), Left: w.id, Reason: why})
	}
}

// dismiss gives up the workers that were not heard of for too long.
func (m *machine) dismiss(now time.Duration) {
	for i := len(m.members) - 1; i >= 0 && !m.finished && !m.suspended; i-- {
		if i >= len(m.members) {
			continue
		}
		if w := m.members[i]; now-w.lastSeen > m.cfg.FailureDetection {
			m.remove(now, w, fmt.Sprintf("not heard of for %v", m.cfg.FailureDetection))
		}
	}
}

// show tells the workers that the coordinator is there, if it has had nothing to say to all of them for a while, as in a long
// round: they would introduce themselves anew, and be sent the parameters once more.
func (m *machine) show(now time.Duration) {
	if m.ready() > 0 && now-m.shownAt >= 2*m.cfg.FailureDetection {
		m.shownAt = now
		m.send("", &wire.Introduce{})
	}
}

// tick looks after all else that time decides: lost chunks, stragglers, and the report of a run that waits.
func (m *machine) tick(now time.Duration) {
	if m.finished || m.suspended {
		return
	}
	for _, l := range slices.Clone(m.leases) {
		if l.state == pulling {
			m.pullAgain(now, l)
		}
	}
	m.groundLost(now)
	m.show(now)
	m.seekAudits(now)
	m.hearThirds(now)
	m.assign(now)
	m.nudge(now)
	m.speculate(now)
	m.cutOff(now)
	if m.finished || m.suspended {
		return
	}
	m.spend(now)
	m.tellWaiting(now)
}
