package web

import (
	"context"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// digest is all of the metrics of a run, thinned out to a few thousand points. It is kept, and reads only what is new:
// the charts of a long run are there at once.
type digest struct {
	dir, name string

	mu     sync.Mutex
	tail   *store.Tail
	points *points
	last   uint64 // step
	used   time.Time
}

const (
	digestPoints = 4096 // when there are twice as many, each two become one
	digestBatch  = 20000
	maxDigests   = 24 // each takes about 3 MB
	maxWarm      = 8  // runs that are read before anybody asks
)

// digest returns the digest of a run. Those that nobody asked for the longest time make room.
func (s *Server) digest(name string) *digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.digests[name]
	if d == nil {
		for len(s.digests) >= maxDigests {
			oldest := ""
			for n, o := range s.digests {
				if oldest == "" || o.used.Before(s.digests[oldest].used) {
					oldest = n
				}
			}
			delete(s.digests, oldest)
		}
		d = &digest{dir: s.config.Dir, name: name}
		s.digests[name] = d
	}
	d.used = time.Now()
	return d
}

// update reads what is new. The caller holds the lock. A run that went back, or was begun anew under its name, is read
// from its beginning.
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

func (d *digest) add(r *store.Row) {
	d.points.add(r)
	d.last = max(d.last, r.Step)
	if d.points.longest() > 2*digestPoints {
		wider := newPoints(d.points.origin, 2*d.points.width)
		wider.fold(d.points, 0, d.last)
		d.points = wider
	}
}

// warm reads the latest runs ahead of whoever looks at them first.
func (s *Server) warm(ctx context.Context) {
	list, err := s.config.Source.Runs()
	if err != nil {
		s.log.Debug("runs are not read ahead", "err", err)
	}
	for _, run := range list[:min(len(list), maxWarm)] {
		d := s.digest(run.Name)
		d.mu.Lock()
		err := d.update(ctx)
		d.mu.Unlock()
		if err != nil {
			s.log.Debug("a run is not read ahead", "run", run.Name, "err", err)
		}
	}
}
