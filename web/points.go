package web

import (
	"math"

	"github.com/switchyard-ml/switchyard/store"
)

// points are metrics thinned out: each point stands for the steps of one bucket, width of them from origin on, and
// keeps mean, minimum and maximum of their records. Points can be folded into those of a larger width: for that,
// sums and numbers are kept, and no means.
type points struct {
	origin, width uint64
	splits        map[string]*splitPoints
}

// splitPoints are the points of one split. The lists of its columns may be shorter than step: what follows has no
// value. Points are in the order of their steps; buckets without records have none.
type splitPoints struct {
	bucket  []uint64
	step    []uint64  // the last of each point
	time    []float64 // its time, in seconds since 1970
	columns map[string]*columnPoints

	names []string // of the latest row, with its columns
	row   []*columnPoints
}

// columnPoints has sum, least, greatest and number of the finite values of each point.
type columnPoints struct {
	sum, low, high []float64
	count          []uint32
}

// newPoints returns points without records. width is at least 1.
func newPoints(origin, width uint64) *points {
	return &points{origin: origin, width: width, splits: map[string]*splitPoints{}}
}

// split returns the points of a split, which it makes if there are none.
func (p *points) split(name string) *splitPoints {
	s := p.splits[name]
	if s == nil {
		s = &splitPoints{columns: map[string]*columnPoints{}}
		p.splits[name] = s
	}
	return s
}

// open returns the index of the point for a step. Steps do not decrease. It begins a new point if the step is in
// another bucket than the last one.
func (p *points) open(s *splitPoints, step uint64, time float64) int {
	bucket := (step - min(step, p.origin)) / p.width
	if n := len(s.bucket); n == 0 || s.bucket[n-1] != bucket {
		s.bucket, s.step, s.time = append(s.bucket, bucket), append(s.step, step), append(s.time, time)
	}
	last := len(s.bucket) - 1
	s.step[last], s.time[last] = step, time
	return last
}

// add takes a row in. Rows must come in the order of their steps. Values that are not finite do not count.
func (p *points) add(r *store.Row) {
	s := p.split(r.Split)
	at := p.open(s, r.Step, float64(r.Time.UnixMilli())/1000)
	// Rows of one kind share the list of their names, so columns are looked up when it changes only.
	if len(s.names) != len(r.Names) || len(r.Names) > 0 && &s.names[0] != &r.Names[0] {
		s.names, s.row = r.Names, s.row[:0]
		for _, name := range r.Names {
			s.row = append(s.row, s.column(name))
		}
	}
	for i, c := range s.row {
		c.reach(at)
		if v := r.Values[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			c.merge(at, v, v, v, 1)
		}
	}
}

// column returns the points of a metric, which it makes if there are none.
func (s *splitPoints) column(name string) *columnPoints {
	c := s.columns[name]
	if c == nil {
		c = &columnPoints{}
		s.columns[name] = c
	}
	return c
}

// reach lengthens the lists to point i.
func (c *columnPoints) reach(i int) {
	for len(c.sum) <= i {
		c.sum, c.low, c.high = append(c.sum, 0), append(c.low, math.Inf(1)), append(c.high, math.Inf(-1))
		c.count = append(c.count, 0)
	}
}

// merge adds values to point i.
func (c *columnPoints) merge(i int, sum, low, high float64, count uint32) {
	c.reach(i)
	c.sum[i], c.count[i] = c.sum[i]+sum, c.count[i]+count
	c.low[i], c.high[i] = min(c.low[i], low), max(c.high[i], high)
}

// longest is the number of points of the split that has most.
func (p *points) longest() int {
	n := 0
	for _, s := range p.splits {
		n = max(n, len(s.step))
	}
	return n
}

// fold takes the points of another one in whose steps are between from and to. A point counts whole, by the last of
// its steps.
func (p *points) fold(o *points, from, to uint64) {
	for name, other := range o.splits {
		for i, step := range other.step {
			if step < from || step > to {
				continue
			}
			s := p.split(name)
			at := p.open(s, step, other.time[i])
			for metric, c := range other.columns {
				if i < len(c.sum) {
					s.column(metric).merge(at, c.sum[i], c.low[i], c.high[i], c.count[i])
				}
			}
		}
	}
}

// encode returns the points as the answer has them. A metric without a value in a point is null there. Minimum and
// maximum are left out if a point is one update. The result shares memory with p.
func (p *points) encode() map[string]*Split {
	all := map[string]*Split{}
	for name, s := range p.splits {
		split := &Split{Step: s.step, Time: s.time, Values: map[string]*Column{}}
		for metric, c := range s.columns {
			n := len(s.step)
			column := &Column{Mean: make([]*float64, n)}
			if p.width > 1 {
				column.Low, column.High = make([]*float64, n), make([]*float64, n)
			}
			for i := range c.sum {
				if c.count[i] == 0 {
					continue
				}
				mean := c.sum[i] / float64(c.count[i])
				column.Mean[i] = &mean
				if p.width > 1 {
					column.Low[i], column.High[i] = &c.low[i], &c.high[i]
				}
			}
			split.Values[metric] = column
		}
		all[name] = split
	}
	return all
}
