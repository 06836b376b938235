package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/trained"
)

// Regimes say whether a model that divides time finds the same division with other seeds.
type Regimes struct {
	Count  int       `json:"count"`        // that have at least a hundredth of the steps; those that predict alike are one
	Merged int       `json:"merged"`       // that were made one with others
	Tried  []int     `json:"tried"`        // numbers of regimes of the arhmm candidates that have a score
	Scores []float64 `json:"scores"`       // least error of each on the validation part
	ARI    float64   `json:"ari"`          // adjusted Rand index between two seeds, the mean over pairs
	Seeds  int       `json:"seeds"`        // that were compared
	Stable bool      `json:"stable"`       // they hold over seeds
	Text   string    `json:"text"`         // in words
	Share  float64   `json:"largest_part"` // of the steps that the largest regime has
}

// stable is the least ARI of regimes that hold over seeds.
const stable = 0.8

// regimes compares the regimes of the chosen candidate over the seeds that it was trained with: the run that was
// chosen, and its confirmations. It returns nil if the model does not divide time, or has one regime.
func (f *Fit) regimes(c *chosen, list []Tried, s *sweep.State, seed uint64) (*Regimes, error) {
	all, m, merged, err := divisions(c.run, seed)
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
			other, _, _, err := divisions(run, seed)
			if err != nil {
				return nil, err
			}
			found = append(found, other)
		}
	}
	r := &Regimes{Seeds: len(found)}
	r.evidence(list)
	// Numbers of regimes mean nothing across seeds: the adjusted Rand index compares divisions.
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
	r.Merged = merged
	r.Stable = pairs > 0 && r.ARI >= stable && r.Count > 1
	ari := eval.Ratio(eval.Estimate{Value: r.ARI, SE: math.NaN()})
	switch {
	case r.Count < 2:
		r.Text = "no regimes: one holds all of the time"
	case pairs == 0:
		r.Text = fmt.Sprintf("%d regimes, of one seed alone", r.Count)
	case r.Stable:
		r.Text = fmt.Sprintf("%d regimes, stable over %d seeds (ARI %s)", r.Count, r.Seeds, ari)
	default:
		r.Text = fmt.Sprintf("no regimes that hold over %d seeds (ARI %s)", r.Seeds, ari)
	}
	r.Text += r.reasons(m)
	return r, nil
}

// passedOver says how many regimes the training part has, for a choice without any that hold, and sets r.Dividing to
// the run of the arhmm with as many regimes and lags. It is empty if there are none, or if that is the choice.
func (f *Fit) passedOver(r *Result, c *chosen, list []Tried) string {
	e := f.Plan.evidence
	if !e.Settled() || e.Doubtful() {
		return ""
	}
	text := fmt.Sprintf("By likelihood the training part has %s, which the model does not have", e.Text())
	for _, evident := range f.Plan.evident() {
		has := func(c Candidate) bool { return c.Name() == evident.Name() }
		t, ok := best(list, func(t Tried) bool { return has(t.Candidate) })
		switch {
		case ok && t.trial == c.trial:
			return ""
		case ok:
			r.Dividing = f.runOf(t.trial, 1)
			text += "; " + t.Name() + " has as many"
		case slices.ContainsFunc(f.Plan.Left, has):
			text += "; a larger --budget tries an arhmm with them"
		}
	}
	return text + "."
}

// evidence takes over the least error on the validation part of each number of regimes. Numbers without a
// candidate that has a score are left out.
func (r *Regimes) evidence(list []Tried) {
	most := 1
	for _, t := range list {
		most = max(most, int(numberOf(t.Settings, "model.switches")))
	}
	for k := 1; k <= most; k++ {
		t, ok := best(list, func(t Tried) bool {
			return t.Family == "arhmm" && int(numberOf(t.Settings, "model.switches")) == k
		})
		if ok {
			r.Tried, r.Scores = append(r.Tried, k), append(r.Scores, t.Score)
		}
	}
}

// reasons say what speaks for the number of regimes: the errors of each number, and what was made one.
func (r *Regimes) reasons(m int) string {
	text := ""
	if len(r.Tried) > 1 {
		text = "; held-out error"
		for i, k := range r.Tried {
			text += fmt.Sprintf(", %s with %d", terminal.Number(r.Scores[i], 3), k)
		}
		text = strings.Replace(text, ",", "", 1)
	}
	if r.Merged > 0 {
		text += fmt.Sprintf("; of %d regimes, those that predict alike are one", m)
	}
	return text
}

// count counts the regimes in use over all recordings, and the share of the largest; see eval.Used.
func (r *Regimes) count(all [][]int, m int) {
	steps := make([]float64, m)
	for _, recording := range all {
		for _, k := range recording {
			steps[k]++
		}
	}
	r.Count, r.Share = eval.Used(steps)
}

// divisions are the regimes of all recordings of a run, where those that predict alike are one; m is 0 if its model
// does not divide them, and merged are the regimes that others stand for.
func divisions(run *trained.Run, seed uint64) (all [][]int, m, merged int, err error) {
	list, _, err := run.Recordings()
	if err != nil {
		return nil, 0, 0, err
	}
	// Parts of one recording are divided as one series.
	joined := trained.Join(list)
	for _, r := range joined {
		s, err := run.Segment(r.Series, seed)
		if errors.Is(err, trained.ErrUnable) {
			return nil, 0, 0, nil
		}
		if err != nil {
			return nil, 0, 0, fmt.Errorf("divide %s: %w", r.Name, err)
		}
		m = len(s.Probability[0])
		all = append(all, s.Regime)
	}
	group, err := run.Alike(joined, all, seed)
	if errors.Is(err, trained.ErrUnable) {
		return all, m, 0, nil
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("compare the regimes: %w", err)
	}
	// A regime is renamed to the first that predicts like it.
	for _, recording := range all {
		for t, k := range recording {
			recording[t] = group[k]
		}
	}
	for k, first := range group {
		if k != first {
			merged++
		}
	}
	return all, m, merged, nil
}
