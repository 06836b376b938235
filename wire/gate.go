package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Gate stands before all that hear workers in a process. It lets a key's messages in up to a rate for each kind, far
// above what honest workers send, before anything of a message is decoded but its kind. What is beyond is dropped. A
// key that goes on is banned: nothing that its holders say is heard until it is let in again. What was asked for,
// results of leases and chunks that were pulled, is let in in addition.
//
// Messages of NoKey, where nobody can be told apart, and of the keys of this process itself are always let in. A Gate
// is safe for concurrent use; the nil Gate lets everything in. It holds its lock for a few comparisons only, as the
// goroutines of the bus call it for every message.
type Gate struct {
	now     func() time.Time // time.Now but in tests
	changed chan struct{}    // holds one notice at most
	peers   bool             // it stands before a worker, and those who speak are workers, too

	mu   sync.Mutex          // guards all below
	own  map[string]bool     // keys that are never held back, NoKey among them; not changed after NewGate
	keys map[string]*conduct // at most maxKeys
	// delivered is, by run and key, how many workers have delivered.
	// Invariant: workers of a conduct is the sum over all runs.
	delivered map[string]map[string]int
	bans      map[string]Ban
}

// Ban says why a key is not heard.
type Ban struct {
	Key    string    `json:"key"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// Offender is a key of which messages were dropped.
type Offender struct {
	Key     string
	Dropped map[string]uint64 // messages, by kind
}

// conduct is what the holders of a key do.
type conduct struct {
	at      time.Time             // when what is left was last made up to date
	left    [lastKind + 2]float64 // by kind: messages that may still be sent now; for state, vectors
	excess  float64               // of what was dropped, in units; it drains
	dropped [lastKind + 2]uint64  // by kind, since the key was first heard or let in again
	workers int                   // that have delivered
}

// unsound takes the place of a kind for what is no message of a worker; state for parameters that are sent to one
// worker on demand, in vectors.
const (
	unsound Kind = 0
	state   Kind = lastKind + 1
)

const (
	// maxSmall is more than the largest message of a worker that is no chunk of anything.
	maxSmall = 64 << 10
	// A dropped message is a unit of excess, and each unitBytes of it are one more. A key is banned at maxExcess.
	// Excess drains at excessDrain units per second, a rate that costs nobody anything.
	unitBytes   = 4096
	maxExcess   = 10_000
	excessDrain = 1000
	// A sign of life of at most lightBytes is less: one in lightShare of a unit. In a run of short steps an honest worker
	// sends one, or two, with every step, at most 25 in the interval of its heartbeat, and a thousand may have one key.
	lightShare = 48
	lightBytes = 1024
	// maxKeys bounds the keys that are remembered. The broker knows who has one, so there are few.
	maxKeys = 4096
	// lenient is the part of what was asked for that may be unsound: networks in tests change bits.
	lenient = 4 // one in so many
	// settle is the time in which what was asked for and has not come is halved. Answers are faster, or are asked for
	// again.
	settle = time.Minute
)

// NewGate returns a gate for a process with those keys, in which the given keys are banned.
func NewGate(bans []Ban, own ...string) *Gate {
	g := &Gate{
		now: time.Now, changed: make(chan struct{}, 1), own: map[string]bool{NoKey: true}, keys: map[string]*conduct{},
		delivered: map[string]map[string]int{}, bans: map[string]Ban{},
	}
	for _, key := range own {
		g.own[key] = true
	}
	for _, b := range bans {
		if !g.own[b.Key] { // the file of bans can be changed by hand
			g.bans[b.Key] = b
		}
	}
	return g
}

// NewPeerGate returns a gate for a worker, before what other workers say to it. No key is banned there at first, and
// none is its own.
func NewPeerGate() *Gate {
	g := NewGate(nil)
	g.peers = true
	return g
}

// glance is the kind of a message of this version, unsound if it is none that is heard here. Nothing else is looked
// at. It takes no lock and allocates nothing, so a flood costs a few comparisons a message.
func (g *Gate) glance(data []byte) Kind {
	at := 1 // behind the length of the array
	switch {
	case len(data) == 0:
		return unsound
	// An array of 16 elements or more has its length in two bytes; shorter ones have it in the first.
	case data[0] == 0xdc:
		at = 3
	case data[0]>>4 != 9:
		return unsound
	}
	if len(data) < at+2 || data[at] >= 0x80 || data[at+1] > byte(lastKind) {
		return unsound
	}
	kind := Kind(data[at+1])
	if g.quotas()[kind].rate == 0 || kind != KindChunk && kind != KindTheta && len(data) > maxSmall {
		return unsound
	}
	return kind
}

// Admit reports whether a message of a key is to be looked at.
func (g *Gate) Admit(key string, data []byte) bool { return g.spend(key, g.glance(data), 1, len(data)) }

// Unsound notes a message that was admitted and could not be decoded. It reports whether to answer or log it.
func (g *Gate) Unsound(key string) bool { return g.spend(key, unsound, 1, 0) }

// State reports whether that part of the parameters may be sent to a worker with a key that asks for it. part is a
// share of the whole vector: 1 is all of it.
func (g *Gate) State(key string, part float64) bool { return g.spend(key, state, part, 0) }

// Expect lets in so many messages of a kind more, which the holder of a key was asked for. They may lie above the
// burst. What is not used up goes away again: half of it in each settle.
func (g *Gate) Expect(key string, kind Kind, n int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.of(key); c != nil {
		c.refresh(g.now(), g.quotas()) // the time before takes nothing away from what is new
		c.left[kind] += float64(n)
		c.left[unsound] = min(c.left[unsound]+float64(n)/lenient, maxExcess)
	}
}

// AtLeast lets each key that was heard so far send so many messages of a kind now, in place of what was left if that is
// less. It is for what may come in each step, however short steps are: unlike Expect, it does not add up.
func (g *Gate) AtLeast(kind Kind, n int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, quotas := g.now(), g.quotas()
	for _, c := range g.keys { // the order does not matter
		c.refresh(now, quotas)
		c.left[kind] = max(c.left[kind], float64(n))
	}
}

// Delivering notes how many workers with each key have delivered in a run; nil when the run has ended. The map is
// copied.
func (g *Gate) Delivering(run string, delivering map[string]int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// What was said of this run before no longer counts.
	for key, n := range g.delivered[run] {
		if c := g.of(key); c != nil {
			c.workers -= n
		}
	}
	delete(g.delivered, run)
	if delivering != nil {
		g.delivered[run] = maps.Clone(delivering)
	}
	for key, n := range delivering {
		if c := g.of(key); c != nil {
			c.workers += n
		}
	}
}

// spend takes n messages from what a key may send, and reports whether they were left. size is the bytes of a
// message: an unsound one costs more the longer it is, and so does what is dropped.
func (g *Gate) spend(key string, kind Kind, n float64, size int) bool {
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, banned := g.bans[key]; banned {
		return false
	}
	c := g.of(key)
	if c == nil { // beyond maxKeys nobody is heard who was not heard before
		return g.own[key]
	}
	c.refresh(g.now(), g.quotas())
	if kind == unsound {
		n += float64(size) / unitBytes
	}
	if c.left[kind] >= n {
		c.left[kind] -= n
		return true
	}
	c.dropped[kind]++
	if light := kind == KindHeartbeat || kind == KindReady; light && size <= lightBytes {
		c.excess += n / lightShare
	} else {
		c.excess += n + float64(size)/unitBytes
	}
	if c.dropped[kind] == 1 {
		g.notify()
	}
	if c.excess >= maxExcess {
		g.ban(key, "flood of messages: "+c.tell())
	}
	return false
}

// Ban bans a key for what its holders did elsewhere than in their messages. The keys of this process are never banned.
func (g *Gate) Ban(key, reason string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.own[key] {
		g.ban(key, reason)
	}
}

// ban bans a key; the first reason stays. The lock is held.
func (g *Gate) ban(key, reason string) {
	if _, banned := g.bans[key]; banned {
		return
	}
	g.bans[key] = Ban{Key: key, Since: g.now().UTC().Truncate(time.Second), Reason: reason}
	g.notify()
}

// of is the conduct of a key; nil for the keys of this process, and beyond the number that is remembered. The lock is
// held. A key begins with a whole burst of each kind.
func (g *Gate) of(key string) *conduct {
	if g.own[key] {
		return nil
	}
	c := g.keys[key]
	if c == nil && len(g.keys) < maxKeys {
		c = &conduct{at: g.now()}
		for kind, a := range g.quotas() {
			c.left[kind] = a.burst
		}
		g.keys[key] = c
	}
	return c
}

// refresh adds what has become free since it was last called, and takes away from what is above the burst. A clock that
// goes back does neither.
func (c *conduct) refresh(now time.Time, quotas *allowances) {
	seconds := max(now.Sub(c.at).Seconds(), 0)
	c.at = now
	c.excess = max(c.excess-seconds*excessDrain, 0)
	kept := math.Exp2(-seconds / settle.Seconds())
	for kind, a := range quotas {
		if surplus := c.left[kind] - a.burst; surplus > 0 {
			c.left[kind] = a.burst + kept*surplus
		} else {
			c.left[kind] = min(c.left[kind]+seconds*(a.rate+a.each*float64(c.workers)), a.burst)
		}
	}
}

// tell says what was dropped.
func (c *conduct) tell() string {
	var parts []string
	for kind, n := range c.dropped {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kindName(Kind(kind))))
		}
	}
	return strings.Join(parts, ", ") + " beyond what workers send"
}

// kindName is the name of what a key sends, for people.
func kindName(k Kind) string {
	switch k {
	case unsound:
		return "unsound"
	case state:
		return "requests of parameters"
	}
	return strings.ToLower(k.String())
}

// notify makes Changed ready. It never waits: whoever reads a notice looks at everything.
func (g *Gate) notify() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// Changed is ready when a key was banned or let in again, or its first message was dropped.
func (g *Gate) Changed() <-chan struct{} { return g.changed }

// Banned reports whether a key is banned.
func (g *Gate) Banned(key string) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, banned := g.bans[key]
	return banned
}

// Bans lists the banned keys in the order of their names.
func (g *Gate) Bans() []Ban {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.SortedFunc(maps.Values(g.bans), func(a, b Ban) int { return strings.Compare(a.Key, b.Key) })
}

// SetBans replaces the banned keys. A key that is let in again begins anew. Keys of this process are left out.
func (g *Gate) SetBans(bans []Ban) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.bans
	g.bans = make(map[string]Ban, len(bans))
	for _, b := range bans {
		if !g.own[b.Key] {
			g.bans[b.Key] = b
		}
	}
	for key := range before {
		if _, still := g.bans[key]; !still && g.keys[key] != nil {
			delivering := g.keys[key].workers
			delete(g.keys, key)
			g.of(key).workers = delivering
		}
	}
	if !maps.Equal(before, g.bans) {
		g.notify()
	}
}

// Offenders lists the keys of which messages were dropped, in the order of their names.
func (g *Gate) Offenders() []Offender {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []Offender
	for _, key := range slices.Sorted(maps.Keys(g.keys)) {
		dropped := map[string]uint64{}
		for kind, n := range g.keys[key].dropped {
			if n > 0 {
				dropped[kindName(Kind(kind))] = n
			}
		}
		if len(dropped) > 0 {
			list = append(list, Offender{key, dropped})
		}
	}
	return list
}
