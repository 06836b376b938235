package lead

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// Reasons why a worker gets no run.
var (
	// ErrOld is returned for a Seek that is no newer than one before it: it was repeated, or is late.
	ErrOld = errors.New("pool: an older seek")
	// ErrBanned is returned for a worker that a run has expelled.
	ErrBanned = errors.New("pool: the worker is banned")
	// ErrFull is returned if the pool cannot remember one more worker with the same key.
	ErrFull = errors.New("pool: too many workers with this key")
)

const (
	// silence is the time after which a worker is forgotten if it neither seeks nor appears in a run. A worker without
	// a run seeks once a second.
	silence = 9 * time.Second
	// settling is a time after the opening of a run that had workers before. They may be about to come back, so no
	// pooled is sent away from its run during that time.
	settling = 3 * time.Second
	// again is the time after which the same Assign is sent again to a worker that serves another run.
	again = time.Second
	// patience is how long the pool waits for a worker to change runs before it gives up. holdOff is how long that
	// pooled then stays in its run.
	patience = 10 * time.Second
	holdOff  = time.Minute
	// maxWorkers is the largest number of workers with one key: what the holder of one key says never keeps out the
	// workers of others.
	maxWorkers = 1024
	// maxBanned is how many expelled workers are remembered. The oldest are forgotten: they could have come under new
	// tokens just as well, and are expelled again if they are as they were.
	maxBanned = 4096
)

// Member is a worker that is a member of a run. ID is its wire.Name and Mark that of its token. A Proven one has
// delivered what the run could use.
type Member struct {
	Run, ID string
	Mark    uint64
	Slots   int
	Proven  bool
}

// Call is what a worker says of itself. ID is its wire.Name and Mark that of its token. Number counts its calls.
// Serving is the run that it serves, empty if it seeks one.
type Call struct {
	ID      string
	Mark    uint64
	Number  uint64
	Slots   int
	Serving string
}

// Answer is the message to send to a worker: the run to go to, empty if there is none, and which of its calls that
// answers. Order counts the answers.
type Answer struct {
	Move
	Mark, Number, Order uint64
}

// Pool is what is known of runs and workers. Times are measured from a common beginning. It is not safe for
// concurrent use. The same calls give the same answers.
//
// A worker becomes known by a call or as a member of a run, and is forgotten after a silence, or when it is banned.
// Until then it is in one of three places:
//
//	seeking  since a call without a run, until it is a member of the run that it was sent to
//	serving  while some run has it as a member
//	away     at first, and when it has served and no run has it any more
//
// Invariants: workers and known hold the same workers; keys[k] is how many of them have the key k, and at most
// maxWorkers. A worker with to set is on its way there, and is not sent elsewhere until it is a member there or the
// run is closed; one that serves another run gives up after patience.
type Pool struct {
	runs    []Run
	settled time.Duration // until then no worker is sent away from its run
	workers []*pooled     // in the order in which they became known
	known   map[identity]*pooled
	keys    map[string]int // number of workers by key
	banned  []uint64       // marks, in the order in which they were banned; at most maxBanned
	orders  uint64         // answers so far
}

// identity is what tells workers apart. Two processes may claim the same id; nobody can speak with another's key, nor
// knows another's token.
type identity struct {
	name string
	mark uint64
}

// place is where a worker is. See Pool for how it changes.
type place int

const (
	seeking place = iota // it has sent a Seek, and was not a member of a run since
	serving
	away // it has left its run; it may soon seek or join another one
)

// pooled is what the pool knows of one worker. Its slots are those that it named last, in a call or as a member.
type pooled struct {
	identity
	number uint64 // of its newest call; 0: it has not called yet
	slots  int
	proven bool // it has delivered in a run: its slots count
	place  place
	run    string        // the run that it serves; empty: none
	to     string        // the run that it was sent to, until it is a member there; empty: none
	since  time.Duration // time of the decision to send it there
	sent   bool          // an Assign was sent since then
	last   time.Duration // time of the last Assign
	heard  time.Duration // time of the last sign of life
	stays  time.Duration // until then it is not sent away from its run
}

// NewPool returns a pool without runs and workers.
func NewPool() *Pool {
	return &Pool{known: map[identity]*pooled{}, keys: map[string]int{}}
}

// Open adds a run that has work. before says that the run may have workers from an earlier time, which will come back
// by themselves. A run that is open already begins anew: workers on their way to it are free for another decision.
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

// Knows reports whether a worker is remembered.
func (p *Pool) Knows(id string, mark uint64) bool { return p.known[identity{id, mark}] != nil }

// add remembers a worker; it returns nil if there are too many with its key. Its place is away until it calls or is
// observed.
func (p *Pool) add(who identity) *pooled {
	_, key := wire.SplitName(who.name)
	if p.keys[key] == maxWorkers {
		return nil
	}
	w := &pooled{identity: who, place: away}
	p.workers = append(p.workers, w)
	p.known[who] = w
	p.keys[key]++
	return w
}

// forget forgets the workers for which gone returns true. gone is called once for each worker, and may change it.
func (p *Pool) forget(gone func(*pooled) bool) {
	p.workers = slices.DeleteFunc(p.workers, func(w *pooled) bool {
		if !gone(w) {
			return false
		}
		delete(p.known, w.identity)
		_, key := wire.SplitName(w.name)
		if p.keys[key]--; p.keys[key] == 0 {
			delete(p.keys, key)
		}
		return true
	})
}

// Seek records a call of a worker, and returns the answer. A call that is not newer than all before changes nothing.
// Whoever does not know a worker's key and token calls as another worker, whatever id it claims. Seek returns ErrOld
// for a call that is not newer, ErrBanned for a worker that a run has expelled, and ErrFull if the pool has no room.
func (p *Pool) Seek(now time.Duration, c Call) (Answer, error) {
	who := identity{c.ID, c.Mark}
	if slices.Contains(p.banned, c.Mark) {
		return Answer{}, ErrBanned
	}
	w := p.known[who]
	switch {
	case w == nil:
		if w = p.add(who); w == nil {
			return Answer{}, ErrFull
		}
	case c.Number <= w.number:
		return Answer{}, ErrOld
	}
	w.number, w.slots, w.heard = c.Number, c.Slots, now
	if c.Serving != "" { // the run says whether that is so
		return p.answer(w, now), nil
	}
	w.place, w.run = seeking, ""
	if w.to == "" {
		p.decide(now)
	}
	return p.answer(w, now), nil
}

// answer is the message that sends a worker where it is to go.
func (p *Pool) answer(w *pooled, now time.Duration) Answer {
	p.orders++
	w.sent, w.last = true, now
	return Answer{Move: Move{w.name, w.to}, Mark: w.mark, Number: w.number, Order: p.orders}
}

// Observe records the current members of all runs, and forgets workers after a long silence. A worker that changes runs
// may be a member of both for a while. A member that has never called becomes known by it: after a restart of the
// host, before its workers call again.
func (p *Pool) Observe(now time.Duration, members []Member) {
	seen := map[*pooled][]string{} // the runs of which each worker is a member
	for _, m := range members {
		who := identity{m.ID, m.Mark}
		w := p.known[who]
		if w == nil {
			if w = p.add(who); w == nil {
				continue
			}
		}
		w.slots, w.proven = m.Slots, w.proven || m.Proven
		seen[w] = append(seen[w], m.Run)
	}
	p.forget(func(w *pooled) bool {
		w.observe(now, seen[w])
		return now-w.heard >= silence
	})
}

// observe records the runs of which a worker is a member. A membership is a sign of life; a worker that seeks gives
// one by its calls.
func (w *pooled) observe(now time.Duration, runs []string) {
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

// Ban refuses the process with a mark until maxBanned others were banned. It is forgotten at once. The mark is that of
// its token, so that nobody else is refused with it.
func (p *Pool) Ban(mark uint64) {
	p.banned = append(p.banned, mark)
	p.banned = p.banned[max(0, len(p.banned)-maxBanned):]
	p.forget(func(w *pooled) bool { return w.mark == mark })
}

// Assign decides which workers go where, and returns the messages to send. A worker that seeks gets one message, and
// another one each time it seeks again. A worker that serves another run gets messages until it is a member of its new
// run. One that has not called yet, to this pool, would believe no message.
func (p *Pool) Assign(now time.Duration) []Answer {
	p.decide(now)
	var answers []Answer
	for _, w := range p.workers {
		switch {
		case w.to == "":
			continue
		// The worker does not change runs; it stays where it is for a while.
		case w.place == serving && now-w.since >= patience:
			w.to, w.stays = "", now+holdOff
			continue
		// A worker that seeks is sent nothing new until it calls again; one that serves is told again from time to
		// time.
		case w.number == 0, w.sent && (w.place != serving || now-w.last < again):
			continue
		}
		answers = append(answers, p.answer(w, now))
	}
	return answers
}

// decide makes the decision from what is known. It leaves out workers that are away: such a worker is gone, or will
// soon send a message. Proven workers are shared out as if they were alone, and the others after them: who only says
// that it has slots moves nobody who works. It also leaves out who was sent to a run and did not appear there in time.
func (p *Pool) decide(now time.Duration) {
	// Workers are named by their place in the list while the decision is made.
	var proven, all []Worker
	for i, w := range p.workers {
		run := w.to
		if run == "" {
			run = w.run
		}
		open := slices.ContainsFunc(p.runs, func(r Run) bool { return r.Name == run })
		idler := !w.proven && w.place == seeking && w.to != "" && now-w.since >= patience
		if !open && w.place != seeking || idler {
			continue
		}
		one := Worker{ID: strconv.Itoa(i), Slots: w.slots, Run: run, Fixed: w.to != "" || now < w.stays || now < p.settled}
		if w.proven {
			proven = append(proven, one)
		}
		all = append(all, one)
	}
	p.move(now, Decide(p.runs, proven))
	// What was decided for proven workers stands when the others are shared out.
	for i := range all {
		if w := p.workers[index(all[i].ID)]; w.proven {
			all[i].Fixed = true
			if w.to != "" {
				all[i].Run = w.to
			}
		}
	}
	p.move(now, Decide(p.runs, all))
}

// move carries a decision out. The workers are told by Assign, or when they call.
func (p *Pool) move(now time.Duration, moves []Move) {
	for _, m := range moves {
		w := p.workers[index(m.Worker)]
		w.to, w.since, w.sent = m.Run, now, false
	}
}

// index is the place of a worker in the list that a decision was made from.
func index(id string) int {
	i, err := strconv.Atoi(id)
	if err != nil {
		panic(err) // decide wrote it
	}
	return i
}

// Workers is the number of workers that were heard of lately.
func (p *Pool) Workers() int { return len(p.workers) }
