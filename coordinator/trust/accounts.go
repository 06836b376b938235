package trust

import (
	"fmt"
	"maps"
	"slices"

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

// Account is what is known of a worker by its token, also while it is no member. It outlives the membership, so that
// a worker cannot shed it by leaving and coming again; a new token opens a new one.
type Account struct {
	Token, Mark uint64 // the mark is that of messages for it; see wire.Mark
	ID          string // of its first membership
	Pace        Pace
	Standing
	Deaf     Exclusion // it is sent the parameters by the coordinator itself
	Mute     Exclusion // it hands none on
	Unshared bool      // it is not to share memory
	Accepted int       // blocks
	Offences int       // see above
	Examined bool      // the referee has found it right
	Banned   string    // why it was cut off; empty: it was not

	spoke   bool   // a case has what it said of a block
	noise   int    // refused messages
	allowed int    // messages that may have caused noise
	tainted bool   // it contributed blocks that nobody has confirmed,
	since   uint64 // the first at the parameters of this step
}

// Allow notes messages that were sent to a worker, or accepted from it. Each of them may cause refused messages.
func (a *Account) Allow(messages int) { a.allowed += messages }

// Refuse counts a message that was refused, and whether it is an offence.
func (a *Account) Refuse(offence bool) {
	a.noise++
	if offence {
		a.Offences++
	}
}

// Noise is the number of messages that were refused.
func (a *Account) Noise() int { return a.noise }

// Excess says why a worker is to be cut off for what it sends, if it is. It is empty while the worker may stay.
func (a *Account) Excess() string {
	switch {
	case a.Offences > offencesBorne+a.Accepted/offencesPer:
		return fmt.Sprintf("%d of its messages cannot come from a sound worker; %d of its blocks were accepted", a.Offences,
			a.Accepted)
	case a.noise > noiseBorne+noisePer*a.allowed:
		return fmt.Sprintf("%d of its messages were refused", a.noise)
	}
	return ""
}

// Taint notes that a worker contributed to a sum of a step, and that nobody confirmed it. It returns the first such
// step, and whether it was not known before. A wrong validation leaves the parameters right, but what is reported of
// them is wrong: the run cannot go back to them, so a validation counts for the step before.
func (a *Account) Taint(step uint64, work wire.Work) (since uint64, news bool) {
	if work == wire.Validate {
		step--
	}
	if a.tainted && a.since <= step {
		return a.since, false
	}
	a.tainted, a.since = true, step
	return step, true
}

// Clear forgets what a worker contributed. It returns since which step that was, and whether there was anything.
func (a *Account) Clear() (since uint64, tainted bool) {
	tainted, a.tainted = a.tainted, false
	return a.since, tainted
}

// maxGone is how many accounts of workers with one key are kept after they have gone.
const maxGone = 4096

// Accounts are what is known of all workers that are members, and of those that have gone and did something of note:
// see Leave.
//
// Invariant: an account of a worker that has gone is once in gone, under the key of its first membership.
type Accounts struct {
	byToken map[uint64]*Account
	gone    map[string][]*Account // by key, in the order in which they went; at most maxGone
	before  map[uint64]uint64     // by mark, since which step who contributed under an earlier coordinator
}

// NewAccounts returns no accounts.
func NewAccounts() Accounts {
	return Accounts{byToken: make(map[uint64]*Account), gone: make(map[string][]*Account)}
}

// Inherit notes who contributed under an earlier coordinator, by mark, and since which step. The map belongs to it.
func (as *Accounts) Inherit(since map[uint64]uint64) { as.before = since }

// Of returns the account of a worker that becomes a member. It opens one if there is none. One that contributed under
// an earlier coordinator is known by its mark.
func (as *Accounts) Of(token uint64, id string) *Account {
	a := as.byToken[token]
	if a == nil {
		a = &Account{Token: token, Mark: wire.Mark(token), ID: id}
		a.since, a.tainted = as.before[a.Mark]
		as.byToken[token] = a
		return a
	}
	as.back(a)
	return a
}

// back takes an account out of those of workers that have gone, if it is there.
func (as *Accounts) back(a *Account) {
	_, key := wire.SplitName(a.ID)
	if as.gone[key] = slices.DeleteFunc(as.gone[key], func(o *Account) bool { return o == a }); len(as.gone[key]) == 0 {
		delete(as.gone, key)
	}
}

// Banned returns the account of a token that was cut off; nil if it was not.
func (as *Accounts) Banned(token uint64) *Account {
	if a := as.byToken[token]; a != nil && a.Banned != "" {
		return a
	}
	return nil
}

// Leave notes that a worker is a member no more. It closes an account in which nothing is noted, so a stranger who
// comes and goes leaves nothing behind. One who spoke of a block stays known: cases compare accounts, and it must not
// confirm under a new one what it said before.
//
// Whoever comes under ever new tokens leaves one account each. Of more than maxGone with one key, the one is forgotten
// in which the least is noted, see weight, and of several the oldest. So nobody is rid of what is held against a token
// by coming under others that only make noise.
func (as *Accounts) Leave(a *Account) {
	as.back(a)
	if a.weight() == 0 {
		delete(as.byToken, a.Token)
		return
	}
	_, key := wire.SplitName(a.ID)
	as.gone[key] = append(as.gone[key], a)
	if len(as.gone[key]) > maxGone {
		least := slices.MinFunc(as.gone[key], func(a, b *Account) int { return a.weight() - b.weight() })
		as.back(least)
		delete(as.byToken, least.Token)
	}
}

// weight is how much would be lost with an account: 0 nothing, 1 what it said or sent, 2 which steps are to be undone
// if it lied, 3 that it was cut off.
func (a *Account) weight() int {
	switch {
	case a.Banned != "":
		return 3
	case a.tainted:
		return 2
	case a.Offences > 0 || a.noise > 0 || a.Unshared || a.spoke:
		return 1
	}
	return 0
}

// Rewind forgets contributions to the parameters after a step, which do not count any more. The run goes back by so
// many rounds, and so does the end of each exclusion.
func (as *Accounts) Rewind(step, back uint64) {
	for _, a := range as.byToken { // the order does not matter
		a.Deaf.rewind(back)
		a.Mute.rewind(back)
		if a.since >= step {
			a.tainted = false
		}
	}
	maps.DeleteFunc(as.before, func(_, since uint64) bool { return since >= step })
}
