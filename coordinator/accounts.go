package coordinator

import (
	"fmt"
	"maps"

	"github.com/switchyard-ml/switchyard/wire"
)

// What is held against a worker, and what is not.
//
// Networks lose, repeat, delay, reorder and change messages. A changed message fails its seal, and its sender is not
// known. The bytes of a chunk are not under the seal, but a changed chunk fails its own checksum. So a whole message
// with a worker's token was sent by that worker. It may have been sent twice, or late, or for a lease that was taken
// back meanwhile. These are therefore never held against a worker: duplicates, other steps and terms, leases that were
// taken back, chunks that are not wanted, chunks with a wrong checksum, silence, and requests without an answer.
//
// An offence is a message that no honest worker can send on any network: a block, an attempt or a length that was not
// leased; a lease that was never given; a whole block that is not what was announced although each chunk has its
// checksum; ranges out of order or out of bounds; a message of another run, or one that is not for a coordinator. A
// fault or a NaN in a block that others can compute is an offence, too. One of these can be bad luck, so a few offences
// have no consequence. A worker with more, and with more than one for eight accepted blocks, is cut off.
//
// A worker is cut off at once if the referee or two other workers show that its bits are wrong. All that it contributed
// and nobody confirmed is undone. A worker is also cut off if far more of its messages were refused than the
// coordinator can have caused.

const (
	// A worker may commit offencesBorne offences, and one more for every offencesPer of its blocks that were accepted.
	offencesBorne = 3
	offencesPer   = 8
	// A worker may send noiseBorne messages that are refused, and noisePer more for every message that it was sent, or
	// that was accepted from it.
	noiseBorne = 1000
	noisePer   = 8
)

// account is what is known of a worker by its token, also while it is no member.
type account struct {
	token uint64
	mark  uint64 // of messages for it; see wire.Mark
	id    string // of its first membership
	pace  pace
	standing
	deaf     exclusion // it is sent the parameters by the coordinator itself
	mute     exclusion // it hands none on
	accepted int       // blocks
	offences int       // see above
	noise    int       // refused messages
	allowed  int       // messages that may have caused noise
	examined bool      // the referee has found it right
	tainted  bool      // it contributed blocks that nobody has confirmed,
	since    uint64    // the first at the parameters of this step
	unshared bool      // it is not to share memory
	banned   string    // why it was cut off; empty: it was not
}

// allow notes messages that were sent to a worker, or accepted from it. Each of them may cause refused messages.
func (a *account) allow(messages int) { a.allowed += messages }

// excess says why a worker is to be cut off for what it sends, if it is.
func (a *account) excess() string {
	switch {
	case a.offences > offencesBorne+a.accepted/offencesPer:
		return fmt.Sprintf("%d of its messages cannot come from a sound worker; %d of its blocks were accepted", a.offences,
			a.accepted)
	case a.noise > noiseBorne+noisePer*a.allowed:
		return fmt.Sprintf("%d of its messages were refused", a.noise)
	}
	return ""
}

// taint notes that a worker contributed to a sum of a step, and that nobody confirmed it. It returns the first such
// step, and whether it was not known before. A wrong validation leaves the parameters right, but what is reported of
// them is wrong: the run cannot go back to them, so a validation counts for the step before.
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

// trust notes that a worker contributed to a sum of a step, and that nobody confirmed it. It is written to the log,
// too: the worker may stay longer than this coordinator.
func (as *accounts) trust(a *account, step uint64, work wire.Work) {
	if since, news := a.taint(step, work); news {
		as.out.add(eventCommand{Event{Kind: EventContributor, Step: since, Worker: a.id, Mark: a.mark}})
	}
}

// of returns the account of a token. It opens one if there is none.
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

// forget closes an account in which nothing is noted.
func (as *accounts) forget(a *account) {
	if !a.tainted && a.banned == "" && a.offences == 0 && a.noise == 0 && !a.unshared {
		delete(as.byToken, a.token)
	}
}

// rewind forgets contributions to the parameters after a step, which do not count any more.
func (as *accounts) rewind(step uint64) {
	for _, a := range as.byToken { // the order does not matter
		if a.tainted && a.since >= step {
			a.tainted = false
		}
	}
	maps.DeleteFunc(as.before, func(_, since uint64) bool { return since >= step })
}

// contributors returns, by mark, since which step each worker has contributed, according to the events of a log.
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
