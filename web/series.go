package web

import (
	"math"
	"net/http"
	"strconv"

	"github.com/switchyard-ml/switchyard/store"
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
		writeError(w, http.StatusBadRequest, "from, to and points are whole numbers, from is not above to, and points is "+
			"at least 1")
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
	writeJSON(w, r, series)
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
	d := s.digest(run.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.update(r.Context()); err != nil {
		return nil, err
	}
	from = max(from, 1)
	end := min(to, max(run.Step, d.last, from))
	width := (end - from + points) / points
	shown, at := newPoints(from, width), d.tail.Position()
	if d.points.width <= width {
		shown.fold(d.points, from, to)
	} else if err := s.readRange(r, run.Name, from, to, shown); err != nil {
		return nil, err
	}
	return &Series{From: from, To: end, Width: width, Position: at.String(), Splits: shown.encode()}, nil
}

// readRange reads a range of steps from the file, in all its detail.
func (s *Server) readRange(r *http.Request, name string, from, to uint64, into *points) error {
	tail, err := store.Follow(s.config.Dir, name, store.Position{Step: from})
	if err != nil {
		return err
	}
	for over := false; !over && r.Context().Err() == nil; {
		n, _, err := tail.Rows(batch, func(row *store.Row) {
			if over = over || row.Step > to; !over && row.Step >= from {
				into.add(row)
			}
		})
		if err != nil {
			return err
		}
		over = over || n < batch
	}
	return r.Context().Err()
}
