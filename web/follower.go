package web

import (
	"errors"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// follower reads the metrics of a run as they grow. It reads when it is called; it has no goroutine. It knows the
// latest records, and counts since it first saw the run: of a long run it reads the last updates only, so its
// histogram and its bytes begin there.
type follower struct {
	dir     string
	name    string
	began   time.Time  // the run; a later one of its name has a follower of its own
	mu      sync.Mutex // guards the fields below
	tail    *store.Tail
	train   store.Record // the latest
	check   store.Record // the latest validation
	recent  []instant    // of the latest train records
	seconds histogram    // of the steps that were read
	in, out float64      // bytes

	overrides []string  // settings on top of the preset
	disk      int64     // room that the folder takes
	measured  time.Time // when
}

// instant is the time at which a step was done, as its record says.
type instant struct {
	step uint64
	time time.Time
}

const (
	lookBack   = 200              // number of steps that are read from a run that is new to the follower
	batch      = 1000             // records read at a time
	rateWindow = 20 * time.Second // the step rate is measured over this time
	sizeEvery  = 15 * time.Second // between two measurements of a folder
)

// follow returns the follower of a run, after reading the newest metrics. The follower may be returned with an
// error: then it has what it had before.
func (s *Server) follow(run Run) (*follower, error) {
	s.mu.Lock()
	f := s.followers[run.Name]
	if f == nil || !f.began.Equal(run.Started) {
		from := store.Position{}
		if run.Step > lookBack {
			from.Step = run.Step - lookBack
		}
		tail, err := store.Follow(s.config.Dir, run.Name, from)
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
		f = &follower{
			dir: s.config.Dir, name: run.Name, began: run.Started, tail: tail, seconds: newHistogram(), overrides: []string{},
		}
		if list, err := store.Overrides(s.config.Dir, run.Name); err == nil { // it may be damaged
			f.overrides = list
		}
		s.followers[run.Name] = f
	}
	s.mu.Unlock()
	return f, f.update()
}

// forget removes the followers of runs that no longer exist.
func (s *Server) forget(list []Run) {
	known := make(map[string]bool, len(list))
	for _, r := range list {
		known[r.Name] = true
	}
	s.whole.keep(known)
	s.outlines.keep(known)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.followers, func(name string, _ *follower) bool { return !known[name] })
	maps.DeleteFunc(s.facts, func(name string, _ facts) bool { return !known[name] })
}

// update reads the records that are new.
func (f *follower) update() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		records, back, err := f.tail.Next(batch)
		if err != nil {
			return err
		}
		// The tail stands where the run went on, and reads the steps from there as new ones.
		if back {
			if err := f.recall(); err != nil {
				return err
			}
		}
		for _, r := range records {
			f.add(r)
		}
		if len(records) < batch && !back {
			return nil
		}
	}
}

// recall reads the latest records of a run that returned to an earlier step, without counting them a second time.
// Rates begin anew.
func (f *follower) recall() error {
	f.recent, f.train, f.check = nil, store.Record{}, store.Record{}
	tail, err := store.Follow(f.dir, f.name, store.Position{Step: f.tail.Position().Step})
	if err != nil {
		return err
	}
	records, _, err := tail.Next(batch)
	for _, r := range records {
		f.latest(r)
	}
	return err
}

// latest keeps the latest record of each kind.
func (f *follower) latest(r store.Record) {
	switch r.Split {
	case "train":
		f.train = r
	case "validation":
		f.check = r
	}
}

// add takes a new record in. The lock is held.
func (f *follower) add(r store.Record) {
	f.latest(r)
	if r.Split != "train" {
		return
	}
	if s, ok := r.Values["step_seconds"]; ok && !math.IsNaN(s) {
		f.seconds.observe(s, f.since(r.Step))
	}
	f.in += r.Values["bytes_in"]
	f.out += r.Values["bytes_out"]
	if n := len(f.recent); n > 0 && r.Step <= f.recent[n-1].step {
		f.recent = nil // the run returned to an earlier step
	}
	f.recent = append(f.recent, instant{r.Step, r.Time})
	// Two instants are always kept, however far apart they are.
	old := 0
	for old < len(f.recent)-2 && r.Time.Sub(f.recent[old+1].time) > rateWindow {
		old++
	}
	f.recent = f.recent[old:]
}

// since is the number of updates that a record stands for; with local steps it is the length of a round.
func (f *follower) since(step uint64) uint64 {
	if n := len(f.recent); n > 0 && step > f.recent[n-1].step {
		return step - f.recent[n-1].step
	}
	return 1
}

// rate is steps per second over the last rateWindow, until now; it falls while no step is done for a while. 0 if it
// is not known. The lock is held.
func (f *follower) rate(now time.Time) float64 {
	n := len(f.recent)
	if n < 2 {
		return 0
	}
	first, last := f.recent[0], f.recent[n-1]
	if now.Before(last.time) {
		now = last.time
	}
	elapsed := now.Sub(first.time).Seconds()
	if now.Sub(last.time) < rateWindow/4 {
		elapsed = last.time.Sub(first.time).Seconds()
	}
	if elapsed <= 0 {
		return 0
	}
	return float64(last.step-first.step) / elapsed
}

// Summary is a row of the table of runs: what is known of a run without reading all of its metrics.
type Summary struct {
	Run
	Objective *float64 `json:"objective,omitempty"` // of the latest step, if finite
	StepRate  float64  `json:"steps_per_second"`
	Members   int      `json:"members"`   // workers, the latest number known
	Overrides []string `json:"overrides"` // settings on top of the preset
	Disk      int64    `json:"disk"`      // bytes of the folder, as they were a moment ago

	Labels store.Labels `json:"labels,omitzero"`
}

// size measures the folder now and then; that of a run that has ended when it has changed. The lock is held, so a
// run is measured by one client at a time.
func (f *follower) size(run Run) int64 {
	if now := time.Now(); f.measured.IsZero() || now.Sub(f.measured) > sizeEvery &&
		(run.State == store.Running || run.Updated.After(f.measured)) {
		f.measured = now
		if size, err := store.Size(f.dir, f.name); err == nil { // otherwise the last one
			f.disk = size
		}
	}
	return f.disk
}

// summarize adds the latest metrics to a run. What cannot be read is left out.
func (s *Server) summarize(run Run) Summary {
	sum := Summary{Run: run, Overrides: []string{}}
	labels, err := store.ReadLabels(s.config.Dir, run.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.log.Debug("the labels of a run cannot be read", "run", run.Name, "err", err)
	}
	sum.Labels = labels
	f, err := s.follow(run)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.log.Warn("the metrics of a run cannot be read", "run", run.Name, "err", err)
	}
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if v, ok := f.train.Values["objective"]; ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum.Objective = &v
		}
		sum.Overrides, sum.Disk = f.overrides, f.size(run)
		sum.Step = max(sum.Step, f.train.Step)
		if run.State == store.Running {
			sum.StepRate, sum.Members = f.rate(time.Now()), int(f.train.Values["workers"])
		}
	}
	if run.Live != nil {
		sum.Members = len(run.Live.Workers)
		if run.Live.Workers == nil { // an empty JSON list, not null
			live := *run.Live
			live.Workers = []Worker{}
			sum.Live = &live
		}
	}
	return sum
}
