package paper

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
)

// Results are the numbers of all runs of a plan that were measured. They are read once and not changed. A metric
// that is missing is NaN or left out.
type Results struct {
	Plan    *Plan
	runsDir string
	found   []map[string]Findings // [trial][protocol]
	kept    []*Kept               // [trial]; nil: the run is there, or there is nothing
	failed  map[int]bool          // trials whose training failed
}

// Read reads what a study of a plan measured: in the folder of each run, or where that is not finished, or not
// measured, what was kept. Runs that are not measured are no error: their numbers are missing.
func Read(p *Plan, s *Study) (*Results, error) {
	r := &Results{Plan: p, runsDir: s.RunsDir, failed: map[int]bool{}}
	for i, t := range p.Trials {
		found, kept, failed, err := r.read(s, t)
		if err != nil {
			return nil, err
		}
		if failed {
			r.failed[i] = true
		}
		r.found, r.kept = append(r.found, found), append(r.kept, kept)
	}
	return r, nil
}

// read returns what is known of a trial by protocol. A run that is finished goes before what was kept, which fills in
// the protocols by which the same parameters are not measured yet. kept is what counts in place of a run; nil if that
// is there, or nothing was kept. failed reports a run whose training failed, and that has nothing in its place.
func (r *Results) read(s *Study, t Trial) (found map[string]Findings, kept *Kept, failed bool, err error) {
	found = map[string]Findings{}
	info, err := store.Load(r.runsDir, t.Name)
	finished := err == nil && info.State == store.Finished
	failed = err == nil && info.State == store.Failed
	if finished {
		missing := 0
		for _, name := range t.Protocols {
			if found[name], err = readFindings(r.folder(t), name); err != nil {
				return nil, nil, false, err
			}
			if found[name].Numbers == nil {
				missing++
			}
		}
		if missing == 0 {
			return found, nil, false, nil
		}
	}
	if kept, err = s.ReadKept(t); err != nil || kept == nil || finished && kept.Parameters != info.ParametersSHA256 {
		return found, nil, failed, err
	}
	for _, name := range t.Protocols {
		if found[name].Numbers == nil {
			found[name] = kept.Protocols[name]
		}
	}
	if finished {
		kept = nil
	}
	return found, kept, false, nil
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
			whole = whole && r.found[i][name].Numbers != nil
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

// values are a metric of a group for each seed that was measured and has it, or that failed: NaN of a seed whose number
// is not finite, as of a model that diverges in rollouts, and +∞ of one whose training failed. The order is that of the
// seeds; a nil group has none.
func (r *Results) values(g *Group, protocol, metric string) []float64 {
	if g == nil {
		return nil
	}
	var list []float64
	for seed := range g.trials {
		if v, known := r.value(g, seed, protocol, metric); known {
			list = append(list, v)
		}
	}
	return list
}

// value is a metric of one seed of a group, as values has it. A failed seed has the metrics that no measured one lacks.
func (r *Results) value(g *Group, seed int, protocol, metric string) (v float64, known bool) {
	of := func(i int) eval.Numbers { return r.found[i][protocol].Numbers }
	if !r.failed[g.trials[seed]] {
		v, known = of(g.trials[seed])[metric]
		return v, known
	}
	for _, i := range g.trials {
		if _, has := of(i)[metric]; of(i) != nil && !has {
			return 0, false
		}
	}
	return math.Inf(1), slices.Contains(g.Protocols, protocol)
}

// pairs are the values of two groups for the seeds that both have: both NaN or +∞ if one is. Groups have the same seeds
// in the same order.
func (r *Results) pairs(a, b *Group, protocol, metric string) (x, y []float64) {
	if a == nil || b == nil {
		return nil, nil
	}
	for seed := range min(len(a.trials), len(b.trials)) {
		v, first := r.value(a, seed, protocol, metric)
		w, second := r.value(b, seed, protocol, metric)
		if !eval.Finite(v + w) {
			v, w = v+w, v+w
		}
		if first && second {
			x, y = append(x, v), append(y, w)
		}
	}
	return x, y
}

// column is a column of the curves of a group for each seed that was measured. It is [seed][row of the CSV file].
func (r *Results) column(g *Group, protocol, name string) [][]float64 {
	var list [][]float64
	for _, i := range g.trials {
		if c := r.found[i][protocol].Curves[name]; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// spread is the mean of the finite ones of values and their range: what a cell of a table and a claim look at.
type spread struct {
	mean, low, high  float64
	n, failed, seeds int // finite values, those of failed seeds, and all of them
}

// spreadOf is the spread of values. If none is finite the mean is NaN and the range empty, from +∞ to −∞.
func spreadOf(values []float64) spread {
	s := spread{mean: math.NaN(), low: math.Inf(1), high: math.Inf(-1), seeds: len(values)}
	sum := 0.0
	for _, v := range values {
		if eval.Finite(v) {
			s.n++
			sum += v
			s.low, s.high = min(s.low, v), max(s.high, v)
		} else if math.IsInf(v, 0) {
			s.failed++
		}
	}
	if s.n > 0 {
		s.mean = sum / float64(s.n)
	}
	return s
}

// String is the mean, with the range in brackets if there are several values, and how many seeds failed or are finite
// if not all are.
func (s spread) String() string {
	text := short(s.mean)
	if s.n > 1 {
		text = fmt.Sprintf("%s (%s to %s)", text, short(s.low), short(s.high))
	}
	return text + s.lost()
}

// lost says how many seeds failed, and how many are finite; empty if all are.
func (s spread) lost() string {
	text := ""
	if s.failed > 0 {
		text = fmt.Sprintf(", %d of %d seeds failed", s.failed, s.seeds)
	}
	if s.n+s.failed < s.seeds {
		text += fmt.Sprintf(", %d of %d seeds finite", s.n, s.seeds)
	}
	return text
}

// short writes a number with three significant digits, those next to 1 with three decimals.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 1e5:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	// Three significant digits, and never more than six decimals. Rounded, 0.9996 has another exponent than before.
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	e, _ := strconv.Atoi(exponent) // an integer
	return strconv.FormatFloat(v, 'f', min(max(2-e, 0), 6), 64)
}
