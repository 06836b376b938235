package pool

import (
	"errors"
	"slices"
	"time"
)

// What is wrong with a worker that seeks a run.
var (
	// ErrTaken is returned for a worker whose id belongs to another one that is alive.
	ErrTaken = errors.New("pool: another worker has this id")
	// ErrBanned is returned for a worker that a run has sent away for good.
	ErrBanned = errors.New("pool: the worker is banned")
	// ErrFull is returned when there is no room for one more worker.
	ErrFull = errors.New("pool: too many workers")
)

const (
	// silence is how long a worker may neither seek nor be seen in a run before it is forgotten; a worker that has no
	// run seeks once a second. After a third of it another one may take over the id.
	silence = 9 * time.Second
	// settling is how long nobody is sent away from a run after one was opened whose own workers may be about to come back.
	settling = 3 * time.Second
	// again is the time between two sendings of the same Assign to a worker that serves a run.
	again = time.Second
	// patience is how long a worker is asked to change runs before that is given up, and holdOff how long it then stays.
	patience = 10 * time.Second
	holdOff  = time.Minute
	// maxWorkers bounds what hostile workers can make a pool remember.
	maxWorkers = 1024
)

// Member is a worker that was seen in a run.
type Member struct {
	Run, ID string
	Slots   int
}

// Pool is what is known of runs and workers. Times are what has passed since some beginning. It is not safe for
// concurrent use.
type Pool struct {
	runs    []Run
	settled time.Duration // until then nobody is sent away
	workers []*worker     // in the order of their first appearance
	banned  map[uint64]bool
}

// place is where a worker is.
type place int

const (
	seeking place = iota // it has said so, and was not seen in a run since
	serving
	away // it has left its run, and may be about to seek or to join another
)

type worker struct {
	id    string
	token uint64 // 0: not known, it has not sought yet
	slots int
	place place
	run   string        // while it serves one
	to    string        // run that it was sent to and was not seen in yet; empty: none
	since time.Duration // when that was decided
	told  bool          // an Assign was sent since
	last  time.Duration // when
	heard time.Duration // last sign of life
	stays time.Duration // until then it is not sent away from its run
}

// New returns a pool without runs and workers.
func New() *Pool { return &Pool{banned: map[uint64]bool{}} }

// Open adds a run that has work. It may have had workers before, who will come back to it by themselves.
func (p *Pool) Open(now time.Duration, r Run, before bool) {
	p.Close(r.Name)
	p.runs = append(p.runs, r)
	if before {
		p.settled = now + settling
	}
}

// Close removes a run. Its workers seek another when they hear that it has ended.
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

// Seek notes that a worker serves no run, and returns the run that it is to serve, empty if there is none. A worker is
// known by its token: as long as it is heard of, another one cannot seek in its name.
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
	w.told, w.last = true, now
	return w.to, nil
}

// Observe takes the members of all runs as they are now, and forgets who was not heard of for too long. A worker that
// changes runs may be seen in both for a while.
func (p *Pool) Observe(now time.Duration, members []Member) {
	seen := map[*worker][]string{} // runs
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

// observe takes the runs that a worker was seen in.
func (w *worker) observe(now time.Duration, runs []string) {
	switch {
	case w.to != "" && slices.Contains(runs, w.to):
		w.to, w.place, w.run = "", serving, w.to
	case w.place == seeking: // a run may not know yet that it has left
		return
	case len(runs) == 0:
		w.place, w.run = away, ""
		return
	case w.place == away || !slices.Contains(runs, w.run):
		w.place, w.run = serving, runs[0]
	}
	w.heard = now
}

// Ban refuses from now on the process that seeks, or sought, under an id.
func (p *Pool) Ban(id string) {
	if w := p.worker(id); w != nil && w.token != 0 {
		p.banned[w.token] = true
		p.forget(w)
	}
}

// Assign decides who goes where, and returns what is to be sent now. A worker that seeks is told once, and again when it
// seeks again; one that serves another run until it is seen where it is to be.
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
		case w.told && (w.place != serving || now-w.last < again):
			continue
		}
		w.told, w.last = true, now
		moves = append(moves, Move{w.id, w.to})
	}
	return moves
}

// decide decides with what is known. It leaves out who is away: such a worker is gone, or will soon be heard of.
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
		w.to, w.since, w.told = m.Run, now, false
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
