package coordinator

import (
	"slices"
	"sync/atomic"
	"time"
)

// Stats is what a run has done so far and who takes part in it. Counts begin with this coordinator, not with the run.
type Stats struct {
	Step, Term uint64
	Waiting    string // what the run waits for; empty while it goes on
	Exchange   string // how gradients get here, and why if the run chooses itself

	Issued        uint64   // shards given out, also more than once; audits not counted
	Useful        uint64   // of these, shards that are part of the run
	Undone        uint64   // and those that were, until their step began anew, or the run went back
	Speculated    int      // blocks given to a further worker because the first took too long
	Reissued      int      // blocks that were taken back from a worker and have to be given out again
	Repeated      int      // steps of an earlier coordinator that were made again and gave the logged parameters
	Audits        int      // blocks that were confirmed
	AuditedShards uint64   // shards given out to confirm a block
	Unaudited     int      // blocks to be confirmed that nobody was there to confirm
	Refereed      int      // blocks given to the referee
	Disputes      int      // blocks about which workers said different things
	Summed        int      // steps whose gradient workers have summed
	Doubted       int      // sums of workers that were not used: the coordinator summed itself
	Relayed       int      // passes whose parameters workers have handed on
	Unrelayed     int      // chunks of them that were asked for and sent by the coordinator
	Rollbacks     int      // times that the run went back
	CutOff        int      // workers that were cut off
	Quarantined   []string // names of the newest of them, at most maxQuarantined
	Marks         []uint64 // of their tokens, see wire.Mark

	Members []MemberStats // in order of arrival
}

// undo takes shards off those that are part of the run, as far as they were counted.
func (s *Stats) undo(shards uint64) {
	shards = min(shards, s.Useful)
	s.Useful -= shards
	s.Undone += shards
}

// maxQuarantined is how many of the workers that were cut off are named.
const maxQuarantined = 1024

// newest are the last maxQuarantined of a list.
func newest[T any](list []T) []T { return list[max(0, len(list)-maxQuarantined):] }

// MemberStats is the state of one worker.
type MemberStats struct {
	ID       string // its name: see wire.Name
	Mark     uint64 // of its token: see wire.Mark
	Slots    int
	Accepted int     // blocks
	Busy     int     // shards in its hands
	Speed    float64 // shards per second, or local updates of replicas; 0: not measured yet
	LastSeen time.Time
	State    string  // "preparing", "idle" or "computing"
	Shares   bool    // its vectors go by shared memory
	Cores    float64 // that its process used between its last two heartbeats
	Memory   uint64  // bytes that its process holds; 0: not known yet
}

// snapshotInterval is the least time between two snapshots of the figures.
const snapshotInterval = 100 * time.Millisecond

// published is the last snapshot of the figures. Readers never wait: a snapshot is not changed once it is stored.
type published struct {
	stats  atomic.Pointer[Stats]
	madeAt time.Duration
}

// Stats returns the figures of the run as they were a moment ago. It may be called at any time. Its slices are not to
// be changed: others may have got the same.
func (c *Coordinator) Stats() Stats {
	if s := c.figures.stats.Load(); s != nil {
		return *s
	}
	return Stats{}
}

// snapshot publishes the figures, if the last ones are old enough.
func (c *Coordinator) snapshot(now time.Duration, force bool) {
	if c.figures.stats.Load() != nil && !force && now-c.figures.madeAt < snapshotInterval {
		return
	}
	c.figures.madeAt = now
	s := c.machine.stats()
	s.Repeated = c.history.repeated
	for i := range s.Members {
		s.Members[i].LastSeen = c.start.Add(c.machine.members.list[i].lastSeen)
	}
	c.figures.stats.Store(s)
}

// stats is a copy of the figures; when members were last seen is left out. Its slices are copies.
func (m *machine) stats() *Stats {
	s := m.figures
	s.Step, s.Term, s.Waiting = m.run.opt.step, m.term, m.life.waitsFor
	s.Exchange = m.exchange.Describe()
	s.Quarantined, s.Marks = slices.Clone(s.Quarantined), slices.Clone(s.Marks)
	s.Members = make([]MemberStats, 0, len(m.members.list))
	for _, w := range m.members.list {
		state := "preparing"
		switch {
		case w.ready && w.busy > 0:
			state = "computing"
		case w.ready:
			state = "idle"
		}
		rate, _ := w.Pace.Rate()
		s.Members = append(s.Members, MemberStats{
			ID: w.id, Mark: w.Mark, Slots: w.slots, Accepted: w.Accepted, Busy: w.busy,
			Speed: rate * float64(w.slots) * float64(m.run.opt.Stride()), State: state, Shares: w.shares,
			Cores: w.footprint.cores, Memory: w.footprint.memory,
		})
	}
	return &s
}
