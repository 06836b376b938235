package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// What is held against a worker, and what is not.
//
// Networks lose, repeat, delay, reorder and change messages. A changed message breaks its seal and has no sender; a
// changed chunk, whose bytes are not under the seal, breaks its own checksum. So a message that is whole and bears a
// worker's token was sent by that worker, but perhaps twice, late, or for a lease that was taken back meanwhile. Never
// held against anyone are therefore: duplicates, other steps and terms, leases taken back, chunks not or no longer asked
// for, chunks with the wrong checksum, silence, unanswered requests.
//
// An offence is what no honest worker can send on any network: a block, an attempt or a length other than what was
// leased; a lease never given; a whole block that is not what was announced, though all its chunks are what they say;
// ranges out of order or out of bounds; messages of another run or that are not for a coordinator. So is a fault or a
// NaN in a block that others compute: it may be bad luck once, so it takes several. More offences than one in eight
// accepted blocks, and more than a few, and the worker is cut off.
//
// A worker that says wrong bits, and is found out by the referee or two others, is cut off at once, and all it
// contributed that nobody confirmed is undone. So is a flood of whatever kind: far more refused messages than
// the coordinator can have caused.

const (
	// offencesBorne is how many offences no worker is cut off for, and offencesPer how many accepted blocks excuse one more.
	offencesBorne = 3
	offencesPer   = 8
	// noiseBorne is how many refused messages no worker is cut off for, and noisePer how many each message excuses that
	// it was sent or that was accepted of it.
	noiseBorne = 1000
	noisePer   = 8
	// maxMembers bounds the workers of a run. One that is not ready makes room for a newcomer.
	maxMembers = 4096
)

// account is what is known of a worker by its token, also while it is no member.
type account struct {
	token    uint64
	mark     uint64 // of messages for it; see wire.Mark
	id       string // of its first membership
	pace     pace
	accepted int    // blocks
	offences int    // see above
	noise    int    // refused messages
	allowed  int    // messages that may have caused noise
	examined bool   // the referee has found it right
	tainted  bool   // it contributed blocks that nobody has confirmed,
	since    uint64 // the first at the parameters of this step
	banned   string // why it was cut off; empty: it was not
}

// allow notes that messages were sent to a worker, or accepted of it, which may have caused noise.
func (a *account) allow(messages int) { a.allowed += messages }

// taint notes that a worker contributed to a sum at the present step. The parameters of a step whose validation was wrong
// are right, but not what is said of them, so they are no place to go back to. The log knows it, too: the worker may stay
// longer than this coordinator.
func (m *machine) taint(a *account, work wire.Work) {
	step := m.opt.step
	if work == wire.Validate {
		step--
	}
	if a.tainted && a.since <= step {
		return
	}
	a.tainted, a.since = true, step
	m.emit(eventCommand{Event{Kind: EventContributor, Step: step, Worker: a.id, Mark: a.mark}})
}

// contributors is who contributed since when, by mark, according to the events of a log.
func contributors(events []Event) map[uint64]uint64 {
	since := make(map[uint64]uint64)
	for _, e := range events {
		switch known, ok := since[e.Mark]; {
		case e.Kind == EventContributor && (!ok || e.Step < known):
			since[e.Mark] = e.Step
		case e.Kind == EventRollback:
			maps.DeleteFunc(since, func(_, step uint64) bool { return step >= e.Step })
		}
	}
	return since
}

// excess says why a worker is to be cut off for what it sends, if it is.
func (a *account) excess() string {
	switch {
	case a.offences > offencesBorne+a.accepted/offencesPer:
		return fmt.Sprintf("%d of its messages cannot come from a sound worker; %d of its blocks were accepted", a.offences, a.accepted)
	case a.noise > noiseBorne+noisePer*a.allowed:
		return fmt.Sprintf("%d of its messages were refused", a.noise)
	}
	return ""
}

// account returns what is known by a token, and begins to take note.
func (m *machine) account(token uint64, id string) *account {
	a := m.accounts[token]
	if a == nil {
		a = &account{token: token, mark: wire.Mark(token), id: id}
		a.since, a.tainted = m.before[a.mark]
		m.accounts[token] = a
	}
	return a
}

// forgetAccount drops an account that has nothing to remember.
func (m *machine) forgetAccount(a *account) {
	if !a.tainted && a.banned == "" && a.offences == 0 && a.noise == 0 {
		delete(m.accounts, a.token)
	}
}

// refuse counts a message of a member that changes nothing, and whether it is an offence.
func (m *machine) refuse(w *member, reason Reason, offence bool, format string, args ...any) {
	m.reject(w.id, reason, format, args...)
	w.noise++
	if offence {
		w.offences++
	}
}

// cutOff bans the members that have sent more than can be borne. It is called when an event is done with.
func (m *machine) cutOff(now time.Duration) {
	for i := len(m.members) - 1; i >= 0 && !m.finished && !m.suspended; i-- {
		if i >= len(m.members) {
			continue
		}
		w := m.members[i]
		if why := w.excess(); why != "" {
			m.ban(w.account, why)
			m.remove(now, w, "cut off: "+why)
		}
	}
}

// ban closes the run to a token, and tells the worker. One whose id others have used is not told: they would hear it, too.
func (m *machine) ban(a *account, why string) {
	a.banned = why
	m.figures.Quarantined = append(m.figures.Quarantined, a.id)
	m.emit(eventCommand{Event{Kind: EventQuarantine, Step: m.opt.step, Worker: a.id, Reason: why}})
	m.turnAway(a.id, a.token, why, quarantineRemedy)
}

// quarantineRemedy is what helps a worker whose bits differ.
const quarantineRemedy = "check the machine's memory and that the worker's binary is of the same release; then start it anew"

// name notes under which id a worker was ready.
func (m *machine) name(id string, token uint64) {
	switch known := m.names[id]; {
	case known == 0 && len(m.names) < 16*maxMembers:
		m.names[id] = token
	case known != token:
		m.shared[id] = true
	}
}

// turnAway refuses a worker, unless another one has been seen under its id, who would believe to be meant.
func (m *machine) turnAway(id string, token uint64, reason, help string) {
	if m.taken(id, token) || m.shared[id] || m.names[id] != token && m.names[id] != 0 {
		return
	}
	m.send(id, &wire.Refusal{Reason: clip(reason), Remedy: clip(help)})
}

// turnAwayStranger refuses one who speaks another version, unless the id is that of a worker that was ready.
func (m *machine) turnAwayStranger(id, reason string) {
	if _, seen := m.names[id]; !seen && !m.taken(id, 0) {
		m.send(id, &wire.Refusal{Reason: clip(reason), Remedy: sameRelease})
	}
}

// quarantine cuts off workers whose bits are wrong. If they contributed what nobody has confirmed, the step begins
// anew, or the run goes back to before that, and true is returned: all tasks are void.
func (m *machine) quarantine(now time.Duration, liars []*account, why string) bool {
	clean, tainted := m.opt.step, false
	for _, a := range liars {
		if a.banned == "" {
			m.ban(a, why)
		}
		if a.tainted {
			clean, tainted = min(clean, a.since), true
			a.tainted = false
		}
	}
	if tainted && clean < m.opt.step {
		m.suspended = true
		m.emit(rollbackCommand{clean, why})
		return true
	}
	for _, w := range slices.Clone(m.members) {
		if w.account.banned == "" {
			continue
		}
		if tainted {
			m.dropMember(now, w, "cut off: "+why)
		} else {
			m.remove(now, w, "cut off: "+why)
		}
	}
	if tainted && !m.finished {
		m.beginAnew(now)
	}
	return tainted || m.finished
}

// rewind continues from a checkpoint, in a term that the shell has raised: what is on its way belongs to steps that did not happen.
func (m *machine) rewind(now time.Duration, cp *Checkpoint) {
	lost := (m.opt.step - cp.Step) / m.opt.Stride() * uint64(m.cfg.Shards)
	m.figures.Useful -= min(lost, m.figures.Useful)
	m.figures.Rollbacks++
	m.wary = max(m.wary, m.opt.step+1)
	m.opt.restore(cp)
	m.integers.restore(cp.Levels)
	m.pass, m.narrow = 0, 0
	m.validated, m.best, m.bestStep, m.saved = cp.Validated, cp.BestLoss, cp.BestStep, cp.Step
	if cp.Path == "" {
		m.saved = never
	}
	m.suspended, m.unsaved = false, false
	for _, a := range m.accounts { // the order does not matter
		if a.tainted && a.since >= cp.Step {
			a.tainted = false
		}
	}
	maps.DeleteFunc(m.before, func(_, since uint64) bool { return since >= cp.Step })
	for _, w := range m.members {
		m.ground(&w.fetch)
	}
	clear(m.byKey)
	m.members = m.members[:0]
	m.start(now)
}
