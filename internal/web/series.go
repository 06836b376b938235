package web

import (
	"math"
	"net/http"
	"strconv"

	"github.com/switchyard-ml/switchyard/internal/runs"
)

// Series are the metrics of a run over a range of steps. If there are more records than points, each point stands for
// Width steps.
type Series struct {
	From     uint64            `json:"from"`
	To       uint64            `json:"to"`
	Width    uint64            `json:"width"`
	Position string            `json:"position"` // after the last record that was read; events continue there with Last-Event-ID
	Splits   map[string]*Split `json:"splits"`   // by train, validation, …
}

// Split has the points of one kind of record. All its lists have the same length.
type Split struct {
	Step   []uint64           `json:"step"` // the last of each point
	Time   []float64          `json:"time"` // its time, in seconds since 1970
	Values map[string]*Column `json:"values"`
}

// Column is one metric: the mean of each point and, if several records share a point, their minimum and maximum. Values
// that are not finite are left out; a point without any other value is null.
type Column struct {
	Mean []*float64 `json:"mean"`
	Low  []*float64 `json:"low,omitempty"`
	High []*float64 `json:"high,omitempty"`
}

const (
	defaultPoints = 1000
	maxPoints     = 5000
)

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	from, err1 := number(r, "from", 0)
	to, err2 := number(r, "to", math.MaxUint64)
	points, err3 := number(r, "points", defaultPoints)
	if err1 != nil || err2 != nil || err3 != nil || from > to || points < 1 {
		writeError(w, http.StatusBadRequest, "from, to and points are whole numbers, from is not above to, and points is at least 1")
		return
	}
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	case <-r.Context().Done():
		return
	}
	series, err := s.series(r, run, from, to, min(points, maxPoints))
	if err != nil {
		s.fail(w, "read the metrics", run.Name, err)
		return
	}
	writeJSON(w, series)
}

// number reads a number from the query of a request.
func number(r *http.Request, name string, missing uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

func (s *Server) series(r *http.Request, run Run, from, to, points uint64) (*Series, error) {
	last := run.Step
	if f, err := s.follow(run); err == nil {
		f.mu.Lock()
		last = max(last, f.train.Step)
		f.mu.Unlock()
	}
	from = max(from, 1)
	tail, err := runs.Follow(s.config.Dir, run.Name, runs.Position{Step: from})
	if err != nil {
		return nil, err
	}
	end := min(to, max(last, from))
	t := thinner{series: &Series{From: from, To: end, Width: (end - from + points) / points, Splits: map[string]*Split{}}, open: map[string]*point{}}
	for r.Context().Err() == nil {
		records, back, err := tail.Next(batch)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			if record.Step > to {
				records = nil
				break
			}
			t.add(record)
		}
		if len(records) < batch && !back {
			break
		}
	}
	t.flush()
	t.series.Position = tail.Position().String()
	return t.series, nil
}

// thinner combines records into points.
type thinner struct {
	series *Series
	open   map[string]*point // by split
}

// point collects the records of one point.
type point struct {
	bucket uint64
	step   uint64
	time   float64
	values map[string]*spread
}

type spread struct {
	sum, low, high float64
	count          int
}

func (t *thinner) add(r runs.Record) {
	bucket := (r.Step - min(r.Step, t.series.From)) / t.series.Width
	p := t.open[r.Split]
	if p != nil && p.bucket != bucket {
		t.close(r.Split, p)
		p = nil
	}
	if p == nil {
		p = &point{bucket: bucket, values: map[string]*spread{}}
		t.open[r.Split] = p
	}
	p.step, p.time = r.Step, float64(r.Time.UnixMilli())/1000
	for name, v := range r.Values {
		s := p.values[name]
		if s == nil {
			s = &spread{low: math.Inf(1), high: math.Inf(-1)}
			p.values[name] = s
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.sum, s.low, s.high = s.sum+v, min(s.low, v), max(s.high, v)
			s.count++
		}
	}
}

func (t *thinner) flush() {
	for split, p := range t.open {
		t.close(split, p)
	}
}

// close appends a point to its split. A metric without a value in the point is null there.
func (t *thinner) close(split string, p *point) {
	s := t.series.Splits[split]
	if s == nil {
		s = &Split{Values: map[string]*Column{}}
		t.series.Splits[split] = s
	}
	n := len(s.Step)
	s.Step, s.Time = append(s.Step, p.step), append(s.Time, p.time)
	for name := range p.values {
		if s.Values[name] == nil {
			s.Values[name] = &Column{Mean: make([]*float64, n)}
			if t.series.Width > 1 {
				s.Values[name].Low, s.Values[name].High = make([]*float64, n), make([]*float64, n)
			}
		}
	}
	for name, c := range s.Values {
		var mean, low, high *float64
		if v := p.values[name]; v != nil && v.count > 0 {
			m := v.sum / float64(v.count)
			mean, low, high = &m, &v.low, &v.high
		}
		c.Mean = append(c.Mean, mean)
		if t.series.Width > 1 {
			c.Low, c.High = append(c.Low, low), append(c.High, high)
		}
	}
}
