package coordinator

import (
	"fmt"
	"maps"

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

// taint notes that a worker contributed to a sum at a step what nobody confirmed, and from which step on it did. It
// reports whether that is news. The parameters of a step whose validation was wrong are right, but not what is said of
// them, so they are no place to go back to.
func (a *account) taint(step uint64, work wire.Work) (since uint64, news bool) {
	if work == wire.Validate {
		step--
	}
	if a.tainted && a.since <= step {
		return a.since, false
	}
	a.tainted, a.since = true, step
	return step, true
}

// accounts are what is known of all workers that were ever members.
type accounts struct {
	byToken map[uint64]*account
	before  map[uint64]uint64 // by mark, who contributed to the parameters before this coordinator, and since which step
	out     *outbox
}

// trust notes that a worker contributed to a sum at a step what nobody confirmed. The log knows it, too: the worker may
// stay longer than this coordinator.
func (as *accounts) trust(a *account, step uint64, work wire.Work) {
	if since, news := a.taint(step, work); news {
		as.out.add(eventCommand{Event{Kind: EventContributor, Step: since, Worker: a.id, Mark: a.mark}})
	}
}

// of returns what is known by a token, and begins to take note.
func (as *accounts) of(token uint64, id string) *account {
	a := as.byToken[token]
	if a == nil {
		a = &account{token: token, mark: wire.Mark(token), id: id}
		a.since, a.tainted = as.before[a.mark]
		as.byToken[token] = a
	}
	return a
}

// banned returns the account of a token that was cut off; nil if it was not.
func (as *accounts) banned(token uint64) *account {
	if a := as.byToken[token]; a != nil && a.banned != "" {
		return a
	}
	return nil
}

// forget drops an account that has nothing to remember.
func (as *accounts) forget(a *account) {
	if !a.tainted && a.banned == "" && a.offences == 0 && a.noise == 0 {
		delete(as.byToken, a.token)
	}
}

// rewind forgets what was contributed to the parameters after a step: they do not count any more.
func (as *accounts) rewind(step uint64) {
	for _, a := range as.byToken { // the order does not matter
		if a.tainted && a.since >= step {
			a.tainted = false
		}
	}
	maps.DeleteFunc(as.before, func(_, since uint64) bool { return since >= step })
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
