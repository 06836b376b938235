package coordinator

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// startWorker is what helps a run that waits for workers.
const startWorker = "start one with: switchyard worker --nats URL"

// waiting says what holds the run up, if anything: which block, at which worker, for how long, and what helps. Empty:
// nothing does.
func (s *leasing) waiting(now time.Duration) string {
	if s.members.ready() == 0 {
		return s.members.waiting()
	}
	for _, l := range s.leases {
		if text := s.waitingFor(now, l); text != "" {
			return text
		}
	}
	return ""
}

// waiting says what a run waits for of which no worker is ready.
func (ms *members) waiting() string {
	switch n := len(ms.list); n {
	case 0:
		return "no worker has joined; " + startWorker
	case 1:
		return fmt.Sprintf("worker %s prepares: it fetches the data set and builds the model", ms.list[0].id)
	default:
		return fmt.Sprintf("%d workers prepare, %s first; they fetch the data set and build the model", n, ms.list[0].id)
	}
}

// waitingFor says why a lease holds the run up, if it does. now is compared with the failure detection: after half of
// it people may want to know.
func (s *leasing) waitingFor(now time.Duration, l *lease) string {
	if !l.out() || l.InTree() {
		return ""
	}
	detection := s.timing.detection
	who := fmt.Sprintf("%s %s of step %d at worker %s for %.1f s", l.what(), l.Block, s.opt.step, l.owner.id,
		(now - l.givenAt).Seconds())
	silent := now - l.owner.lastSeen
	switch {
	// The worst first: a worker that is silent explains all else.
	case silent > detection/2:
		return fmt.Sprintf("%s, silent for %.1f s; after %v others get them", who, silent.Seconds(), detection)
	case l.state == leased && now-l.grewAt > s.timing.stuck(l):
		return fmt.Sprintf("%s: %d of %d done, none for %.0f s; %s", who, l.done, s.timing.parts(l),
			(now - l.grewAt).Seconds(), s.helpFor(l))
	case l.state == pulling && now-l.movedAt > detection/2:
		return fmt.Sprintf("%s: done, but nothing arrived for %.1f s; check the network to it", who,
			(now - l.movedAt).Seconds())
	}
	return ""
}

// helpFor says what helps with a worker that gets nowhere.
func (s *leasing) helpFor(l *lease) string {
	if s.members.ready() == 1 {
		return "another worker would be given them, too; " + startWorker
	}
	if l.task.reissued > 0 {
		return "another worker has been given them, too"
	}
	return "an idle worker is given them, too; or end that worker"
}

// what names what a lease is of.
func (l *lease) what() string {
	if l.round.work == wire.Sum {
		return "the sum of sections"
	}
	return "shards"
}
