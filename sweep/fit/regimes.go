package fit

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/trained"
)

// Regimes say whether a model that divides time finds the same division with other seeds.
type Regimes struct {
	Count  int     `json:"count"`        // that have at least a hundredth of the steps
	ARI    float64 `json:"ari"`          // adjusted Rand index between two seeds, the mean over pairs
	Seeds  int     `json:"seeds"`        // that were compared
	Stable bool    `json:"stable"`       // they hold over seeds
	Text   string  `json:"text"`         // in words
	Share  float64 `json:"largest_part"` // of the steps that the largest regime has
}

// stable is the least ARI of regimes that hold over seeds.
const stable = 0.8

// regimes compares the regimes of the chosen candidate over the seeds that it was trained with; nil if it has none.
func (f *Fit) regimes(c *chosen, s *sweep.State, seed uint64) (*Regimes, error) {
	all, m, err := divisions(c.run, seed)
	if err != nil || m < 2 {
		return nil, err
	}
	found := [][][]int{all}
	for _, t := range s.Trials {
		if t.Of != c.trial.ID || t.Status != sweep.StatusComplete {
			continue
		}
		for i := range t.Runs {
			run, err := f.openRun(f.runOf(t, i+1))
			if err != nil {
				return nil, err
			}
			other, _, err := divisions(run, seed)
			if err != nil {
				return nil, err
			}
			found = append(found, other)
		}
	}
	r := &Regimes{Seeds: len(found)}
	pairs := 0
	for i := range found {
		for j := range i {
			_, counts := eval.Contingency(found[i], found[j], m)
			r.ARI += eval.RandIndex(counts)
			pairs++
		}
	}
	r.ARI /= float64(max(pairs, 1))
	r.count(all, m)
	r.Stable = pairs > 0 && r.ARI >= stable && r.Count > 1
	ari := eval.Ratio(eval.Estimate{Value: r.ARI, SE: math.NaN()})
	switch {
	case r.Count < 2:
		r.Text = "no regimes: one holds all of the time"
	case r.Stable:
		r.Text = fmt.Sprintf("%d regimes, stable over %d seeds (ARI %s)", r.Count, r.Seeds, ari)
	default:
		r.Text = fmt.Sprintf("no regimes that hold over %d seeds (ARI %s)", r.Seeds, ari)
	}
	return r, nil
}

// count counts the regimes in use, and the share of the largest.
func (r *Regimes) count(all [][]int, m int) {
	steps, total := make([]int, m), 0
	for _, recording := range all {
		for _, k := range recording {
			steps[k]++
		}
		total += len(recording)
	}
	for _, n := range steps {
		if 100*n >= total {
			r.Count++
		}
		r.Share = max(r.Share, float64(n)/float64(max(total, 1)))
	}
}

// divisions are the regimes of all recordings of a run; m is 0 if its model does not divide them.
func divisions(run *trained.Run, seed uint64) (all [][]int, m int, err error) {
	list, _, err := run.Recordings()
	if err != nil {
		return nil, 0, err
	}
	for _, r := range trained.Join(list) {
		s, err := run.Segment(r.Series, seed)
		if errors.Is(err, trained.ErrUnable) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("divide %s: %w", r.Name, err)
		}
		m = len(s.Probability[0])
		all = append(all, s.Regime)
	}
	return all, m, nil
}
