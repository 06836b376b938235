package web

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/store"
)

// Series are the metrics of a run over a range of steps, From to To. If there are more records than points, each
// point stands for Width steps.
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

// The number of points of an answer: that of a request that names none, and the largest.
const (
	defaultPoints = 1000
	maxPoints     = 5000
)

// metrics answers with the metrics of a run: ?from=STEP&to=STEP&points=N.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	q, ok := readSpan(w, r)
	if !ok || !place(r, s.reads) {
		return
	}
	defer func() { <-s.reads }()
	series, err := s.series(r, run, q, s.whole)
	if err != nil {
		s.fail(w, "read the metrics", run.Name, err)
		return
	}
	writeJSON(w, r, series)
}

// span is the range of steps that is asked for, and the most points of it. Both ends belong to it.
type span struct{ from, to, points uint64 }

// readSpan reads the range of a request. If it is none, it sends the answer. More points than maxPoints are as many.
func readSpan(w http.ResponseWriter, r *http.Request) (span, bool) {
	from, err1 := queryNumber(r, "from", 0)
	to, err2 := queryNumber(r, "to", math.MaxUint64)
	points, err3 := queryNumber(r, "points", defaultPoints)
	if err1 != nil || err2 != nil || err3 != nil || from > to || points < 1 {
		writeError(w, http.StatusBadRequest, "from, to and points are whole numbers, from is not above to, and points is "+
			"at least 1")
		return span{}, false
	}
	return span{from, to, min(points, maxPoints)}, true
}

// place waits for one of a number of places, unless the client is gone. Whoever gets one gives it back by receiving.
func place(r *http.Request, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

// maxCurves is how many runs one request for curves may name.
const maxCurves = 50

// curves answers with some metrics of several runs: ?run=A&run=B&metric=SPLIT/NAME&points=N, and a range. Runs that are
// not there are left out. No curve has more than outlinePoints points.
func (s *Server) curves(w http.ResponseWriter, r *http.Request) {
	q, ok := readSpan(w, r)
	if !ok {
		return
	}
	names, metrics := r.URL.Query()["run"], r.URL.Query()["metric"]
	if len(names) > maxCurves || len(metrics) == 0 {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("name at most %d runs, and at least one metric", maxCurves))
		return
	}
	if !place(r, s.reads) {
		return
	}
	defer func() { <-s.reads }()
	q.points = min(q.points, outlinePoints)
	all := map[string]*Series{}
	for _, name := range names {
		run, err := s.config.Source.Run(name)
		if err == nil {
			all[name], err = s.series(r, run, q, s.outlines)
		}
		if err != nil {
			delete(all, name)
			s.log.Debug("the curves of a run cannot be shown", "run", name, "err", err)
			continue
		}
		all[name].only(metrics)
	}
	writeJSON(w, r, map[string]map[string]*Series{"runs": all})
}

// only leaves the metrics of a list, as SPLIT/NAME. A split that has none of them is left out.
func (s *Series) only(metrics []string) {
	for split, points := range s.Splits {
		maps.DeleteFunc(points.Values, func(name string, _ *Column) bool { return !slices.Contains(metrics, split+"/"+name) })
		if len(points.Values) == 0 {
			delete(s.Splits, split)
		}
	}
}

// queryNumber reads a number from the query of a request. missing is its value if it is not there.
func queryNumber(r *http.Request, name string, missing uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// series reads the metrics of a run from its digest, or from the file where that has too little detail: if a point
// of the digest stands for more steps than one of the answer. The digest is brought up to date first, and is locked
// meanwhile.
func (s *Server) series(r *http.Request, run Run, q span, from *shelf) (*Series, error) {
	d := from.digest(run)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.update(r.Context()); err != nil {
		return nil, err
	}
	first := max(q.from, 1)
	end := min(q.to, max(run.Step, d.last, first))
	width := (end - first + q.points) / q.points
	shown, at := newPoints(first, width), d.tail.Position()
	if d.points.width <= width {
		shown.fold(d.points, first, q.to)
	} else if err := s.readRange(r, run.Name, first, q.to, shown); err != nil {
		return nil, err
	}
	return &Series{From: first, To: end, Width: width, Position: at.String(), Splits: shown.encode()}, nil
}

// readRange reads a range of steps from the file, in all its detail. It ends early with the request.
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
