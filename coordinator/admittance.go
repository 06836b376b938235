package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// maxMembersOfKey is the largest number of members with one key: what the holder of one key does never keeps out the
// workers of others.
const maxMembersOfKey = maxMembers / 4

// welcome reports whether a message goes to the machine: all do, but for the Hello of one more worker with a key that
// has too many. It may come in later.
func (c *Coordinator) welcome(key string, msg wire.Message) bool {
	hello, ok := msg.(*wire.Hello)
	if !ok || key == wire.NoKey || c.machine.members.get(hello.From, hello.Token) != nil {
		return true
	}
	if c.present[key] >= maxMembersOfKey {
		c.machine.out.reject("", ReasonWorker, "there are %d workers with key %s already", maxMembersOfKey, key)
		return false
	}
	c.present[key]++
	return true
}

// A key is banned when idleLimit members with it are idle, and those that deliver are fewer than one in mostly. One
// alone rests longer and longer, and may be slow; many cost the broker copies of all that goes to everybody. It is
// banned, too, when as many of its workers are cut off within a minute, and those that are not idle are fewer than one
// in mostly: each costs lines of the log, and nobody else comes under ever new tokens so fast.
const (
	idleLimit = 16
	mostly    = 4
)

// inspect tells the gate who has delivered, bans keys that are there to deliver nothing or to be cut off, and gives up
// the members whose key is banned. It is called at each tick.
func (c *Coordinator) inspect(now time.Duration) {
	if c.gate == nil || !c.machine.life.active() {
		return
	}
	// Who said Hello since the last tick was added to the count; this is who is there.
	clear(c.present)
	delivering, idle := make(map[string]int), make(map[string]int)
	for _, w := range slices.Clone(c.machine.members.list) {
		_, key := wire.SplitName(w.id)
		if c.machine.life.active() && c.gate.Banned(key) {
			c.machine.run.remove(now, w, "its key is banned")
			continue
		}
		c.present[key]++
		if w.Accepted > 0 {
			delivering[key]++
		}
		if w.Idle() {
			idle[key]++
		}
	}
	for key, n := range idle {
		if n >= idleLimit && n > mostly*delivering[key] {
			c.gate.Ban(key, fmt.Sprintf("%d workers with it were given blocks of run %s and delivered none", n,
				c.machine.cfg.Run))
		}
	}
	for key, n := range c.expelled {
		if n >= idleLimit && n > mostly*(c.present[key]-idle[key]) {
			c.gate.Ban(key, fmt.Sprintf("%d workers with it were cut off within a minute in run %s", n, c.machine.cfg.Run))
			delete(c.expelled, key) // if it is let in again, it begins anew
		}
	}
	if now-c.expelledAt >= time.Minute {
		clear(c.expelled)
		c.expelledAt = now
	}
	c.gate.Delivering(c.machine.cfg.Run, delivering)
}

// expect tells the gate, and the place where memory is shared, what a message to a worker asks for. More is let in
// than that, as what was lost is sent again.
func (c *Coordinator) expect(to string, msg wire.Message) {
	if _, offer := msg.(*wire.Offer); offer {
		c.expectClients()
	}
	if c.gate == nil || to == "" {
		return
	}
	_, key := wire.SplitName(to)
	switch msg := msg.(type) {
	case *wire.Lease, *wire.Reduce:
		c.gate.Expect(key, wire.KindResult, 4)
	case *wire.Pull:
		c.gate.Expect(key, wire.KindChunk, 2*msg.Count)
		if c.shared != nil {
			c.gate.Expect(key, wire.KindChunksAt, 2)
		}
	}
}

// affordable reports whether parameters may be sent to a worker alone. If not, they count as lost: they come with the
// next step, or are asked for again.
func (c *Coordinator) affordable(cmd thetaCommand) bool {
	if cmd.To == "" {
		return true
	}
	_, key := wire.SplitName(cmd.To)
	return c.gate.State(key, float64(cmd.Count)/float64(max(c.machine.run.chunks.Count(), 1)))
}
