package coordinator

import (
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// maxMembers bounds the workers of a run. One that is not ready makes room for a newcomer.
const maxMembers = 4096

// member is a worker that said Hello and is not lost. It gets leases once it is ready: when it has the data set and
// has built its program. All times are since the run began.
type member struct {
	*trust.Account
	id       string // its name: see wire.Name
	slots    int
	ready    bool
	fresh    bool          // it has said Hello, and not Ready since
	met      bool          // it hears other workers
	shares   bool          // its vectors go by shared memory
	owed     bool          // it lacks something of the last parameters, and so what differences are added to
	asked    bool          // it was given a lease in this step
	busy     int           // shards leased to it and not announced
	computed time.Duration // how long all its slots computed in this step, as it says
	lastSeen time.Duration // when a message of it was last admitted
	// doubtedAt is when one of its blocks was last given to another worker because it was late. It gets no more until
	// it sends a message.
	doubtedAt time.Duration
	lag       wire.Lag // of its chunks
	echoes    int      // messages that may come twice because they were asked for twice
	fetch     fetch
	footprint footprint
}

// footprint is what the process of a worker uses of its machine, as its last two heartbeats say. It decides nothing:
// it is shown to people.
type footprint struct {
	at        time.Duration // when the last one came; 0: none has
	processor uint64        // milliseconds of processor time so far
	cores     float64       // that it used between the two
	memory    uint64        // bytes
}

// note takes in a heartbeat. If it says less than the one before, cores stay as they were.
func (f *footprint) note(now time.Duration, msg *wire.Heartbeat) {
	if passed := now - f.at; f.at > 0 && passed > 0 && msg.Processor >= f.processor {
		f.cores = float64(msg.Processor-f.processor) / 1000 / passed.Seconds()
	}
	f.at, f.processor, f.memory = now, msg.Processor, msg.Memory
}

// load changes the number of shards in a worker's hands. The time since the last change counts for its pace with the
// number that it had.
func (w *member) load(now time.Duration, shards int) {
	w.Pace.Count(now, w.busy, w.slots)
	w.busy += shards
}

// key identifies a member. Two workers may use the same id, but their tokens differ.
type key struct {
	id    string
	token uint64
}

// members are the workers that take part in a run.
//
// Invariant: list and byKey hold the same members, at most maxMembers.
type members struct {
	list   []*member // in order of arrival
	byKey  map[key]*member
	names  map[string]uint64 // by id: the first token that was ready under it
	shared map[string]bool   // ids under which more than one token was ready
	out    *outbox
}

// newMembers returns an empty list, which writes to out what is to be said to workers.
func newMembers(out *outbox) members {
	return members{byKey: make(map[key]*member), names: make(map[string]uint64), shared: make(map[string]bool), out: out}
}

// get returns the member with an id and a token; nil if there is none.
func (ms *members) get(id string, token uint64) *member { return ms.byKey[key{id, token}] }

// add takes a worker in.
func (ms *members) add(w *member) {
	ms.list = append(ms.list, w)
	ms.byKey[key{w.id, w.Token}] = w
}

// drop takes a member out.
func (ms *members) drop(w *member) {
	ms.list = slices.DeleteFunc(ms.list, func(o *member) bool { return o == w })
	delete(ms.byKey, key{w.id, w.Token})
}

// clear takes all members out.
func (ms *members) clear() {
	clear(ms.byKey)
	ms.list = ms.list[:0]
}

// full reports whether there is no room for one more, and which member is to leave: the one that has prepared itself
// longest; nil if all are ready.
func (ms *members) full() (*member, bool) {
	if len(ms.list) < maxMembers {
		return nil, false
	}
	for _, w := range ms.list {
		if !w.ready {
			return w, true
		}
	}
	return nil, true
}

// taken reports whether there is a member with that id and another token.
func (ms *members) taken(id string, token uint64) bool {
	return slices.ContainsFunc(ms.list, func(w *member) bool { return w.id == id && w.Token != token })
}

// ready counts the members that can be given leases.
func (ms *members) ready() int {
	n := 0
	for _, w := range ms.list {
		if w.ready {
			n++
		}
	}
	return n
}

// sharing counts those whose vectors go by shared memory.
func (ms *members) sharing() int {
	n := 0
	for _, w := range ms.list {
		if w.ready && w.shares {
			n++
		}
	}
	return n
}

// slots counts the slots of those that are ready.
func (ms *members) slots() int {
	n := 0
	for _, w := range ms.list {
		if w.ready {
			n += w.slots
		}
	}
	return n
}

// worked is how long the busiest worker computed in this step, and how long all did together, in seconds.
func (ms *members) worked() (busiest, all float64) {
	for _, w := range ms.list {
		busiest = max(busiest, w.computed.Seconds())
		all += w.computed.Seconds()
	}
	return busiest, all
}

// report says who is there.
func (ms *members) report() MembershipReport {
	return MembershipReport{Workers: ms.ready(), Slots: ms.slots()}
}

// rememberedMost is the largest number of ids that are remembered after their workers have gone.
const rememberedMost = 16 * maxMembers

// name notes under which id a worker was ready. That is kept when the worker has gone. Of more ids than are
// remembered, all others count as shared.
func (ms *members) name(id string, token uint64) {
	switch known := ms.names[id]; {
	case known == 0 && len(ms.names) < rememberedMost:
		ms.names[id] = token
	case known != 0 && known != token:
		ms.shared[id] = true
	}
}

// doubtful reports whether several workers may have been ready under an id.
func (ms *members) doubtful(id string) bool {
	return ms.shared[id] || ms.names[id] == 0 && len(ms.names) >= rememberedMost
}

// turnAway refuses the worker with a token. Another one under the same id does not believe it. It is sent only where
// an id is not in doubt: to one that shares it with others, or took it from another, nothing need be said.
func (ms *members) turnAway(id string, token uint64, reason, help string) {
	if ms.taken(id, token) || ms.doubtful(id) || ms.names[id] != token && ms.names[id] != 0 {
		return
	}
	ms.out.sendMarked(id, token, &wire.Refusal{Reason: wire.Clip(reason), Remedy: wire.Clip(help)})
}

// turnAwayStranger refuses a worker of another protocol version, unless a worker was ready under that id.
func (ms *members) turnAwayStranger(id string, token uint64, reason string) {
	if _, seen := ms.names[id]; !seen && !ms.taken(id, 0) {
		ms.out.sendMarked(id, token, &wire.Refusal{Reason: wire.Clip(reason), Remedy: sameRelease})
	}
}
