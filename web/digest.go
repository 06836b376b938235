package web

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// digest is all of the metrics of a run, thinned out to a number of points. It is kept, and reads only what is new:
// the charts of a long run are there at once.
//
// Each point stands for points.width updates. When there are more than twice as many points as wanted, the width
// doubles and neighbours are merged, so a digest has between most and twice as many points however long the run is.
type digest struct {
	dir, name string
	began     time.Time // the run; a later one of its name has a digest of its own
	most      int       // points; when there are twice as many, each two become one

	mu     sync.Mutex
	tail   *store.Tail
	points *points
	last   uint64 // step
	used   time.Time
}

// Limits of digests. An outline is a digest with few points, for the curves of many runs in one picture.
const (
	digestBatch   = 20000 // rows that are read before the context is looked at
	maxWarm       = 8     // runs that are read before anybody asks
	digestPoints  = 4096  // of a whole run
	maxDigests    = 24    // each takes about 3 MB
	outlinePoints = 150   // of an outline, and of each curve among others
	maxOutlines   = 500   // each takes about 100 KB
)

// shelf holds digests of the same detail, at most max. Those that nobody asked for the longest time make room. Its
// lock is held for moments only; a digest that is being read has a lock of its own.
type shelf struct {
	dir         string
	points, max int

	mu      sync.Mutex
	digests map[string]*digest
}

// newShelf returns an empty shelf for the runs in a folder.
func newShelf(dir string, points, limit int) *shelf {
	return &shelf{dir: dir, points: points, max: limit, digests: map[string]*digest{}}
}

// digest returns the digest of a run. It may not have been read yet: see update. One that has made room is still
// good for those who have it.
func (s *shelf) digest(run Run) *digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.digests[run.Name]
	if d != nil && !d.began.Equal(run.Started) {
		delete(s.digests, run.Name)
		d = nil
	}
	if d == nil {
		for len(s.digests) >= s.max {
			oldest := ""
			for n, o := range s.digests {
				if oldest == "" || o.used.Before(s.digests[oldest].used) {
					oldest = n
				}
			}
			delete(s.digests, oldest)
		}
		d = &digest{dir: s.dir, name: run.Name, began: run.Started, most: s.points}
		s.digests[run.Name] = d
	}
	d.used = time.Now()
	return d
}

// keep drops the digests of runs that are not known.
func (s *shelf) keep(known map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.digests, func(name string, _ *digest) bool { return !known[name] })
}

// update reads what is new. The caller holds the lock. A run that went back is read from its beginning. If ctx ends,
// what was read stays, and the next call goes on there.
func (d *digest) update(ctx context.Context) error {
	for ctx.Err() == nil {
		if d.tail == nil {
			tail, err := store.Follow(d.dir, d.name, store.Position{})
			if err != nil {
				return err
			}
			d.tail, d.points, d.last = tail, newPoints(1, 1), 0
		}
		n, back, err := d.tail.Rows(digestBatch, d.add)
		if err != nil || back {
			d.tail = nil
		}
		if err != nil {
			return err
		}
		if n < digestBatch && !back {
			return nil
		}
	}
	return ctx.Err()
}

// add takes a row in, and doubles the width of the points if there are too many.
func (d *digest) add(r *store.Row) {
	d.points.add(r)
	d.last = max(d.last, r.Step)
	if d.points.longest() > 2*d.most {
		wider := newPoints(d.points.origin, 2*d.points.width)
		wider.fold(d.points, 0, d.last)
		d.points = wider
	}
}

// warm reads the latest runs ahead of whoever looks at them first. It is called once, in the background, and ends
// with ctx.
func (s *Server) warm(ctx context.Context) {
	list, err := s.config.Source.Runs()
	if err != nil {
		s.log.Debug("runs are not read ahead", "err", err)
	}
	for _, run := range list[:min(len(list), maxWarm)] {
		d := s.whole.digest(run)
		d.mu.Lock()
		err := d.update(ctx)
		d.mu.Unlock()
		if err != nil {
			s.log.Debug("a run is not read ahead", "run", run.Name, "err", err)
		}
	}
}
