package chaos

import (
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/lab/fault"
	"github.com/switchyard-ml/switchyard/rng"
)

// act is something done to a process.
type act int

const (
	killWorker act = iota
	killCoordinator
	restartBroker
	pauseWorker
	acts
)

// String is the name of the act on the command line and in reports.
func (a act) String() string {
	return [...]string{"kill", "coordinator-kill", "nats-restart", "pause"}[a]
}

// event is an act with its time since the beginning. pick chooses among the possible processes. down is how long the
// process stays killed or paused.
type event struct {
	at   time.Duration
	act  act
	pick float64
	down time.Duration
}

// early limits the time of the first event of each kind, so that a short run has some of each: it comes after half of
// that on average, those of the next kind after twice as long, and so on.
const early = 3 * time.Second

// schedule yields the events of a seed, independent of everything else: each kind draws from a stream of its own.
// The time between two events of one kind is half to one and a half intervals, so that their number is
// predictable and their times are not.
type schedule struct {
	kinds []series
}

// series is the endless sequence of the events of one kind.
type series struct {
	act    act
	every  time.Duration
	length time.Duration // of a pause; 0: drawn at random
	draws  rng.Stream
	next   event
}

// maxDown is the longest time until a killed process is started again.
const maxDown = time.Second

// newSchedule makes the schedule of a plan. The first event of a kind comes early, by the share of its interval
// that was drawn.
func newSchedule(seed uint64, p Plan) *schedule {
	s := new(schedule)
	for _, x := range []series{
		{act: killWorker, every: p.Kill},
		{act: killCoordinator, every: p.CoordinatorKill},
		{act: restartBroker, every: p.BrokerRestart},
		{act: pauseWorker, every: p.Pause.Every, length: p.Pause.Length},
	} {
		if x.every <= 0 || x.act == pauseWorker && x.length <= 0 {
			continue
		}
		x.draws = fault.Schedule(seed, int(x.act))
		x.advance()
		// The interval that was drawn, 0.5 to 1.5, counts in units of (1+act)·early/2, unless the event comes
		// sooner by itself.
		intervals := float64(x.next.at) / float64(x.every)
		x.next.at = min(x.next.at, time.Duration(intervals*float64(early)*float64(1+x.act)/2))
		s.kinds = append(s.kinds, x)
	}
	return s
}

// advance draws the next event of a kind: its time, who it hits, and how long it lasts, always in this order.
func (x *series) advance() {
	gap := time.Duration(x.draws.Uniform(0.5, 1.5) * float64(x.every))
	e := event{
		at: x.next.at + gap, act: x.act, pick: x.draws.Float64(),
		down: time.Duration(x.draws.Float64() * float64(maxDown)),
	}
	if x.length > 0 {
		e.down = x.length
	}
	x.next = e
}

// due removes the events up to a time and returns them in order.
func (s *schedule) due(now time.Duration) []event {
	var list []event
	for i := range s.kinds {
		x := &s.kinds[i]
		for x.next.at <= now {
			list = append(list, x.next)
			x.advance()
		}
	}
	slices.SortStableFunc(list, func(a, b event) int { return int(a.at - b.at) })
	return list
}
