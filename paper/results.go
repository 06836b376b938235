package paper

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
)

// Results are the numbers of all runs of a plan that were measured. They are read once and not changed. A metric
// that is missing is NaN or left out.
type Results struct {
	Plan    *Plan
	runsDir string
	numbers []map[string]eval.Numbers // [trial][protocol]
	curves  []map[string]Curves
	kept    []*Kept // [trial]; nil: the run is there, or there is nothing
}

// Read reads what a study of a plan measured: in the folder of each run, or where that is not finished what was
// kept. Runs that are not measured are no error: their numbers are missing.
func Read(p *Plan, s *Study) (*Results, error) {
	r := &Results{Plan: p, runsDir: s.RunsDir}
	for _, t := range p.Trials {
		var kept *Kept
		// A run that is finished goes before what was kept of it.
		if info, err := store.Load(r.runsDir, t.Name); err != nil || info.State != store.Finished {
			var err error
			if kept, err = s.ReadKept(t); err != nil {
				return nil, err
			}
		}
		numbers, curves, err := r.found(t, kept)
		if err != nil {
			return nil, err
		}
		r.numbers, r.curves, r.kept = append(r.numbers, numbers), append(r.curves, curves), append(r.kept, kept)
	}
	return r, nil
}

// found are the numbers and curves of a trial by protocol: those that were kept, if they are given, else those in
// the folder of the run. A protocol that did not measure it has nil.
func (r *Results) found(t Trial, kept *Kept) (map[string]eval.Numbers, map[string]Curves, error) {
	numbers, curves := map[string]eval.Numbers{}, map[string]Curves{}
	for _, name := range t.Protocols {
		if kept != nil {
			numbers[name], curves[name] = kept.Protocols[name].Numbers, kept.Protocols[name].Curves
			continue
		}
		var err error
		if numbers[name], err = ReadNumbers(r.folder(t), name); err != nil {
			return nil, nil, err
		}
		if curves[name], err = ReadCurves(r.folder(t), name); err != nil {
			return nil, nil, err
		}
	}
	return numbers, curves, nil
}

// countKept is the number of runs whose numbers were kept.
func (r *Results) countKept() int {
	n := 0
	for _, k := range r.kept {
		if k != nil {
			n++
		}
	}
	return n
}

// folder is that of the run of a trial.
func (r *Results) folder(t Trial) string { return filepath.Join(r.runsDir, t.Name) }

// measured counts the runs of which every protocol has results.
func (r *Results) measured() int {
	n := 0
	for i, t := range r.Plan.Trials {
		whole := true
		for _, name := range t.Protocols {
			whole = whole && r.numbers[i][name] != nil
		}
		if whole {
			n++
		}
	}
	return n
}

// group finds a group; nil if the plan has none.
func (r *Results) group(part Part, env, key string) *Group {
	for _, g := range r.Plan.Groups {
		if g.Part == part && g.Environment == env && g.Key == key {
			return g
		}
	}
	return nil
}

// of lists the groups of a part and an environment. The order is that of the plan.
func (r *Results) of(part Part, env string) []*Group {
	var list []*Group
	for _, g := range r.Plan.Groups {
		if g.Part == part && g.Environment == env {
			list = append(list, g)
		}
	}
	return list
}

// values are a metric of a group for each seed that was measured and has it. The order is that of the seeds; a nil
// group has none.
func (r *Results) values(g *Group, protocol, metric string) []float64 {
	if g == nil {
		return nil
	}
	var list []float64
	for _, i := range g.trials {
		if v := r.numbers[i][protocol].Get(metric); !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	return list
}

// pairs are the values of two groups for the seeds for which both were measured. Groups have the same seeds in the same
// order.
func (r *Results) pairs(a, b *Group, protocol, metric string) (x, y []float64) {
	if a == nil || b == nil {
		return nil, nil
	}
	for i := range min(len(a.trials), len(b.trials)) {
		v, w := r.numbers[a.trials[i]][protocol].Get(metric), r.numbers[b.trials[i]][protocol].Get(metric)
		if !math.IsNaN(v) && !math.IsNaN(w) {
			x, y = append(x, v), append(y, w)
		}
	}
	return x, y
}

// column is a column of the curves of a group for each seed that was measured. It is [seed][row of the CSV file].
func (r *Results) column(g *Group, protocol, name string) [][]float64 {
	var list [][]float64
	for _, i := range g.trials {
		if c := r.curves[i][protocol][name]; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// spread is the mean of values and their range: what a cell of a table and a claim look at.
type spread struct {
	mean, low, high float64
	n               int
}

// spreadOf is the spread of finite values. Of none the mean is NaN and the range empty, from +∞ to −∞.
func spreadOf(values []float64) spread {
	s := spread{mean: math.NaN(), low: math.Inf(1), high: math.Inf(-1), n: len(values)}
	if s.n == 0 {
		return s
	}
	s.mean = 0
	for _, v := range values {
		s.mean += v / float64(s.n)
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
	return s
}

// String is the mean, with the range in brackets if there are several values.
func (s spread) String() string {
	switch s.n {
	case 0:
		return "–"
	case 1:
		return short(s.mean)
	}
	return fmt.Sprintf("%s (%s to %s)", short(s.mean), short(s.low), short(s.high))
}

// short writes a number with three significant digits, those next to 1 with three decimals.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 1e5:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	// Three significant digits, and never more than six decimals.
	digits := 2
	if v != 0 {
		digits = 2 - int(math.Floor(math.Log10(math.Abs(v))))
	}
	return strconv.FormatFloat(v, 'f', min(max(digits, 0), 6), 64)
}
