package pool

import (
	"errors"
	"slices"
	"time"
)

// Reasons why a worker gets no run.
var (
	// ErrTaken is returned if another worker with the same id is alive.
	ErrTaken = errors.New("pool: another worker has this id")
	// ErrBanned is returned for a worker that a run has expelled.
	ErrBanned = errors.New("pool: the worker is banned")
	// ErrFull is returned if the pool cannot remember one more worker.
	ErrFull = errors.New("pool: too many workers")
)

const (
	// silence is the time after which a worker is forgotten if it neither seeks nor appears in a run. A worker without
	// a run seeks once a second. After a third of that time another worker may take the id.
	silence = 9 * time.Second
	// settling is a time after the opening of a run that had workers before. They may be about to come back, so no
	// worker is sent away from its run during that time.
	settling = 3 * time.Second
	// again is the time after which the same Assign is sent again to a worker that serves another run.
	again = time.Second
	// patience is how long the pool waits for a worker to change runs before it gives up. holdOff is how long that
	// worker then stays in its run.
	patience = 10 * time.Second
	holdOff  = time.Minute
	// maxWorkers limits the memory that hostile workers can use.
	maxWorkers = 1024
)

// Member is a worker that is a member of a run.
type Member struct {
	Run, ID string
	Slots   int
}

// Pool is what is known of runs and workers. Times are measured from a common beginning. It is not safe for concurrent
// use.
type Pool struct {
	runs    []Run
	settled time.Duration // until then no worker is sent away from its run
	workers []*worker     // in the order in which they became known
	banned  map[uint64]bool
}

// place is where a worker is.
type place int

const (
	seeking place = iota // it has sent a Seek, and was not a member of a run since
	serving
	away // it has left its run; it may soon seek or join another one
)

type worker struct {
	id    string
	token uint64 // 0: unknown, because it has not sent a Seek yet
	slots int
	place place
	run   string        // the run that it serves; empty: none
	to    string        // the run that it was sent to, until it is a member there; empty: none
	since time.Duration // time of the decision to send it there
	sent  bool          // an Assign was sent since then
	last  time.Duration // time of the last Assign
	heard time.Duration // time of the last sign of life
	stays time.Duration // until then it is not sent away from its run
}

// New returns a pool without runs and workers.
func New() *Pool { return &Pool{banned: map[uint64]bool{}} }

// Open adds a run that has work. before says that the run may have workers from an earlier time, which will come back
// by themselves.
func (p *Pool) Open(now time.Duration, r Run, before bool) {
	p.Close(r.Name)
	p.runs = append(p.runs, r)
	if before {
		p.settled = now + settling
	}
}

// Close removes a run. Its workers seek another one when the coordinator tells them that it has ended.
func (p *Pool) Close(run string) {
	p.runs = slices.DeleteFunc(p.runs, func(r Run) bool { return r.Name == run })
	for _, w := range p.workers {
		if w.to == run {
			w.to = ""
		}
	}
}

func (p *Pool) worker(id string) *worker {
	for _, w := range p.workers {
		if w.id == id {
			return w
		}
	}
	return nil
}

func (p *Pool) forget(w *worker) {
	p.workers = slices.DeleteFunc(p.workers, func(o *worker) bool { return o == w })
}

// Seek records that a worker serves no run, and returns the run that it should serve; empty if there is none. The token
// identifies the worker: while it is alive, no other worker can seek under its id.
func (p *Pool) Seek(now time.Duration, id string, token uint64, slots int) (run string, err error) {
	if p.banned[token] {
		return "", ErrBanned
	}
	w := p.worker(id)
	if w != nil && w.token != 0 && w.token != token {
		if now-w.heard < silence/3 {
			return "", ErrTaken
		}
		p.forget(w)
		w = nil
	}
	if w == nil {
		if len(p.workers) == maxWorkers {
			return "", ErrFull
		}
		w = &worker{id: id}
		p.workers = append(p.workers, w)
	}
	w.token, w.slots, w.heard, w.place, w.run = token, slots, now, seeking, ""
	p.decide(now)
	w.sent, w.last = true, now
	return w.to, nil
}

// Observe records the current members of all runs, and forgets workers after a long silence. A worker that changes runs
// may be a member of both for a while.
func (p *Pool) Observe(now time.Duration, members []Member) {
	seen := map[*worker][]string{} // the runs of which each worker is a member
	for _, m := range members {
		w := p.worker(m.ID)
		if w == nil {
			if len(p.workers) == maxWorkers {
				continue
			}
			w = &worker{id: m.ID, place: away}
			p.workers = append(p.workers, w)
		}
		w.slots = m.Slots
		seen[w] = append(seen[w], m.Run)
	}
	p.workers = slices.DeleteFunc(p.workers, func(w *worker) bool {
		w.observe(now, seen[w])
		return now-w.heard >= silence
	})
}

// observe records the runs of which a worker is a member.
func (w *worker) observe(now time.Duration, runs []string) {
	switch {
	case w.to != "" && slices.Contains(runs, w.to):
		w.to, w.place, w.run = "", serving, w.to
	case w.place == seeking: // its old run may not know yet that it has left
		return
	case len(runs) == 0:
		w.place, w.run = away, ""
		return
	case w.place == away || !slices.Contains(runs, w.run):
		w.place, w.run = serving, runs[0]
	}
	w.heard = now
}

// Ban refuses the process that seeks, or sought, under an id, for as long as the pool exists.
func (p *Pool) Ban(id string) {
	if w := p.worker(id); w != nil && w.token != 0 {
		p.banned[w.token] = true
		p.forget(w)
	}
}

// Assign decides which workers go where, and returns the messages to send. A worker that seeks gets one message, and
// another one each time it seeks again. A worker that serves another run gets messages until it is a member of its new
// run.
func (p *Pool) Assign(now time.Duration) []Move {
	p.decide(now)
	var moves []Move
	for _, w := range p.workers {
		switch {
		case w.to == "":
			continue
		case w.place == serving && now-w.since >= patience:
			w.to, w.stays = "", now+holdOff
			continue
		case w.sent && (w.place != serving || now-w.last < again):
			continue
		}
		w.sent, w.last = true, now
		moves = append(moves, Move{w.id, w.to})
	}
	return moves
}

// decide makes the decision from what is known. It leaves out workers that are away: such a worker is gone, or will
// soon send a message.
func (p *Pool) decide(now time.Duration) {
	var list []Worker
	for _, w := range p.workers {
		run := w.to
		if run == "" {
			run = w.run
		}
		open := slices.ContainsFunc(p.runs, func(r Run) bool { return r.Name == run })
		if !open && w.place != seeking {
			continue
		}
		list = append(list, Worker{ID: w.id, Slots: w.slots, Run: run, Fixed: w.to != "" || now < w.stays || now < p.settled})
	}
	for _, m := range Decide(p.runs, list) {
		w := p.worker(m.Worker)
		w.to, w.since, w.sent = m.Run, now, false
	}
}

// Idle is the number of workers that seek a run.
func (p *Pool) Idle() int {
	n := 0
	for _, w := range p.workers {
		if w.place == seeking {
			n++
		}
	}
	return n
}
