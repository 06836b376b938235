package fit

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/trained"
)

// margin is how far the choice may be behind a simple rule on the test part before the rule takes its place.
const margin = 1.05

// ErrNothing is returned when no candidate could be fitted.
var ErrNothing = errors.New("fit: no candidate could be fitted")

// Tried is a candidate with what the sweep found.
type Tried struct {
	Candidate
	Score float64 // mean absolute scaled error of the validation part; NaN: it could not be measured

	trial *sweep.Trial
}

// tried are the candidates in the order of the trials, confirmations left out.
func tried(s *sweep.State) []Tried {
	var list []Tried
	for _, t := range s.Trials {
		if t.Of > 0 {
			continue
		}
		c := Tried{Candidate: candidateOf(t.Settings.Arguments()), Score: math.NaN(), trial: t}
		if t.Status == sweep.StatusComplete {
			c.Score = sweep.NewEstimate(t.Values(metric, t.Reached())).Mean
		}
		list = append(list, c)
	}
	return list
}

// candidateOf is the candidate with such settings.
func candidateOf(settings []string) Candidate {
	family, _ := valueOf(settings, "model.kind")
	c := Candidate{Family: family, Settings: settings}
	switches, _ := valueOf(settings, "model.switches")
	c.Simple = c.Family == "naive" || c.Family == "arhmm" && switches == "1"
	return c
}

// choice is a candidate with its test.
type choice struct {
	Tried
	run    *trained.Run
	report eval.RecordedReport
	test   float64 // mean absolute scaled error of the test part
}

// open tests a candidate.
func (f *Fit) open(t Tried, threads int) (*choice, error) {
	run, err := f.openRun(f.runOf(t.trial, 1))
	if err != nil {
		return nil, err
	}
	report, err := run.Backtest(nil, eval.Question{Threads: threads})
	if err != nil {
		return nil, fmt.Errorf("test %s: %w", t.Name(), err)
	}
	return &choice{t, run, report, report.Report().Numbers().Get("mase_mean")}, nil
}

// runOf is the name of a run of a trial.
func (f *Fit) runOf(t *sweep.Trial, replicate int) string {
	return trials.RunName(f.Folder.Name, t.ID, replicate, len(t.Runs))
}

// openRun opens a run of the sweep.
func (f *Fit) openRun(name string) (*trained.Run, error) {
	c, err := job.ReadConfig(f.kinds, f.Folder.Runs(), name)
	if err != nil {
		return nil, err
	}
	return trained.Of(c, filepath.Join(f.Folder.Runs(), name), trained.Best)
}

// best is the candidate of the least score among those that keep; the first of equal ones.
func best(list []Tried, keep func(Tried) bool) (t Tried, ok bool) {
	for _, c := range list {
		if keep(c) && !math.IsNaN(c.Score) && (!ok || c.Score < t.Score) {
			t, ok = c, true
		}
	}
	return t, ok
}

// chosen is the outcome of a comparison.
type chosen struct {
	*choice
	first  *choice // the best on the validation part, if the test part has refuted it; nil: it was not
	simple *choice // the best rule or autoregression on the test part
}

// choose takes the candidate that predicts the validation part best. The test part refutes it if a simple rule, or the
// best autoregression, is better there by more than the margin: then this one is chosen.
func (f *Fit) choose(list []Tried, threads int) (*chosen, error) {
	top, ok := best(list, func(Tried) bool { return true })
	if !ok {
		return nil, fmt.Errorf("%w; see %s", ErrNothing, f.Folder.Path(trials.TableFile))
	}
	first, err := f.open(top, threads)
	if err != nil {
		return nil, err
	}
	out := &chosen{choice: first}
	rivals := make([]Tried, 0, 4)
	for _, t := range list {
		order, _ := valueOf(t.Settings, "model.order")
		transform, _ := valueOf(t.Settings, "env.transform")
		plain := t.Simple && transform == "" && (t.Family == "naive" || order == "1" ||
			order == fmt.Sprint(f.Plan.facts.order))
		if plain && !math.IsNaN(t.Score) {
			rivals = append(rivals, t)
		}
	}
	if regression, ok := best(list, func(t Tried) bool { return t.Simple && t.Family != "naive" }); ok {
		rivals = append(rivals, regression)
	}
	for _, t := range rivals {
		c := first
		if t.trial != top.trial {
			if c, err = f.open(t, threads); err != nil {
				return nil, err
			}
		}
		if out.simple == nil || c.test < out.simple.test {
			out.simple = c
		}
	}
	if out.simple != nil && !(first.test <= margin*out.simple.test) {
		out.choice, out.first = out.simple, first
	}
	return out, nil
}
