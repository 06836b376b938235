package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/trained"
)

// The choice among candidates that were tried. It goes in steps: level makes scores comparable, best takes the
// least error on the validation part, simplest prefers a candidate of fewer unknowns that is level with it, and
// the test part may refute the choice in favour of a simple rule. Only the last step looks at the test part.

// margin is how far the choice may be behind a simple rule on the test part before the rule takes its place, and how
// close two errors are that count as the same where there are too few starts for a standard error.
const margin = 1.05

// ErrNothing is returned when no candidate could be fitted.
var ErrNothing = errors.New("fit: no candidate could be fitted")

// Tried is a candidate with what the sweep found.
type Tried struct {
	Candidate
	Score float64 // mean absolute scaled error of the validation part; NaN: it could not be measured

	trial *sweep.Trial
}

// tried are the candidates in the order of the trials, confirmations by further seeds left out. Those of trials
// that did not complete have no score.
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

// choice is a candidate with its test: its run, opened, and the predictions of the test part by it.
type choice struct {
	Tried
	run    *trained.Run
	report eval.RecordedReport
	test   float64 // mean absolute scaled error of the test part
}

// open tests a candidate, by its run of the first seed.
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

// runOf is the name of a run of a trial; replicate counts from 1.
func (f *Fit) runOf(t *sweep.Trial, replicate int) string {
	return trials.RunName(f.Folder.Name, t.ID, replicate, len(t.Runs))
}

// openRun opens a run of the sweep with the parameters that were best in validation.
func (f *Fit) openRun(name string) (*trained.Run, error) {
	return trained.Open(filepath.Join(f.Folder.Runs(), name), config.Of(f.kinds))
}

// best is the candidate of the least score among those that keep, and that have one; the first of equal ones. ok
// is false if there is none.
func best(list []Tried, keep func(Tried) bool) (t Tried, ok bool) {
	for _, c := range list {
		if keep(c) && !math.IsNaN(c.Score) && (!ok || c.Score < t.Score) {
			t, ok = c, true
		}
	}
	return t, ok
}

// chosen is the outcome of a comparison: the choice, and why it is not another one.
type chosen struct {
	*choice
	tied   *tie    // the best on the validation part, if a simpler one is level with it; nil: it was taken
	first  *choice // the one that was taken on the validation part, if the test part has refuted it; nil: it was not
	simple *choice // the best rule or autoregression on the test part
	common bool    // scores were replaced by those from common starts
}

// tie is a candidate that a simpler one is level with.
type tie struct {
	Tried
	ratio eval.Estimate // its error over that of the simpler one
}

// choose takes the simplest candidate that predicts the validation part as well as the best one there. The test
// part refutes it if a simple rule, or the best autoregression, is better there by more than the margin: then this
// one is chosen. It returns ErrNothing if no candidate has a score.
func (f *Fit) choose(list []Tried, threads int) (*chosen, error) {
	v := newValidation(f, threads)
	if err := v.level(list); err != nil {
		return nil, err
	}
	top, ok := best(list, func(Tried) bool { return true })
	if !ok {
		return nil, fmt.Errorf("%w; see %s", ErrNothing, f.Folder.Path(trials.TableFile))
	}
	taken, tied, err := v.simplest(list, top)
	if err != nil {
		return nil, err
	}
	first, err := f.open(taken, threads)
	if err != nil {
		return nil, err
	}
	out := &chosen{choice: first, tied: tied, common: v.prefix > 0}
	var rivals []*choice
	for _, t := range f.rivals(list) {
		// A rival that was taken is not tested twice.
		c := first
		if t.trial != taken.trial {
			if c, err = f.open(t, threads); err != nil {
				return nil, err
			}
		}
		rivals = append(rivals, c)
	}
	if out.simple = hardest(rivals); out.simple != nil && first.refutedBy(out.simple) {
		out.choice, out.first = out.simple, first
	}
	return out, nil
}

// hardest is the rival of the least error on the test part, the first of equal ones; nil without rivals. An error
// that is not a number is the greatest.
func hardest(rivals []*choice) *choice {
	var least *choice
	for _, c := range rivals {
		if least == nil || c.test < least.test || math.IsNaN(least.test) && !math.IsNaN(c.test) {
			least = c
		}
	}
	return least
}

// refutedBy reports whether another candidate takes the place of the choice: the test part says that it or a baseline
// is better by more than the margin. One whose error is not a number takes no place.
func (c *choice) refutedBy(rival *choice) bool {
	return c != rival && !math.IsNaN(rival.test) && (!(c.test <= margin*rival.test) || c.behind())
}

// behind reports whether a baseline of the test, which the report computes by itself, is better by more than the
// margin.
func (c *choice) behind() bool {
	hardest, ok := c.report.Hardest(false)
	return ok && hardest.Ratio.Value > margin
}

// rivals are what may refute the choice: the simple rules as the test measures them, and the autoregression that
// predicts the validation part best. One may be in the list twice.
func (f *Fit) rivals(list []Tried) []Tried {
	var rivals []Tried
	for _, t := range list {
		transform, _ := valueOf(t.Settings, "env.transform")
		order := int(numberOf(t.Settings, "model.order"))
		tested := t.Family == "naive" || f.Plan.facts.tests(order)
		if t.Simple && (transform == "" && tested || t.drift()) && !math.IsNaN(t.Score) {
			rivals = append(rivals, t)
		}
	}
	if t, ok := best(list, func(t Tried) bool { return t.Simple && t.Family != "naive" }); ok {
		rivals = append(rivals, t)
	}
	return rivals
}

// simplest is the simplest candidate whose error on the validation part is within one standard error of that of
// the best one: the rule of one standard error (Breiman, Friedman, Olshen and Stone 1984), with errors paired by
// start. The tie is nil where none is level, so that top itself is taken.
func (v *validation) simplest(list []Tried, top Tried) (Tried, *tie, error) {
	f := v.f
	simpler := slices.DeleteFunc(slices.Clone(list), func(t Tried) bool {
		return math.IsNaN(t.Score) || f.unknowns(t.Candidate) >= f.unknowns(top.Candidate)
	})
	slices.SortStableFunc(simpler, func(a, b Tried) int {
		return cmp.Compare(f.unknowns(a.Candidate), f.unknowns(b.Candidate))
	})
	for _, t := range simpler {
		// Level: within one standard error of 1, or within the margin where there is none.
		ratio, err := v.compare(top, t)
		if err != nil {
			return top, nil, err
		}
		if ratio.Value+ratio.SE >= 1 || math.IsNaN(ratio.SE) && ratio.Value*margin >= 1 {
			return t, &tie{top, ratio}, nil
		}
	}
	return top, nil, nil
}

// unknowns are those that a candidate learns, as the measure of how simple it is: of an arhmm K (D·P + D(D+1)/2) +
// K², P the columns of W; of the last value 0 and of the last season 1, which learn nothing. Networks come behind
// all others.
func (f *Fit) unknowns(c Candidate) float64 {
	switch c.Family {
	case "naive":
		season := numberOf(c.Settings, "model.season")
		return min(season-1, 1) // the last value comes first
	case "arhmm":
		switches := numberOf(c.Settings, "model.switches")
		order := numberOf(c.Settings, "model.order")
		past := numberOf(c.Settings, "model.past_controls")
		d := float64(f.Plan.facts.d)
		row := order*d + (past+1)*float64(f.Plan.facts.du) + 1
		return switches*(d*row+d*(d+1)/2) + switches*switches
	}
	return math.Inf(1)
}

// validation compares candidates by predictions of the validation part, and keeps what it has measured. A run is
// tested at most once for a number of steps seen.
type validation struct {
	f       *Fit
	threads int
	prefix  int          // steps that all candidates see before a prediction; 0: each pair of them as many as both need
	views   map[int]view // by trial
	reports map[reportOf]eval.RecordedReport
}

// view is how many steps a candidate sees before a prediction unless told otherwise, and where it begins to predict.
type view struct {
	seen   int
	starts [][2]int
}

// newValidation has measured nothing yet.
func newValidation(f *Fit, threads int) *validation {
	return &validation{f: f, threads: threads, views: map[int]view{}, reports: map[reportOf]eval.RecordedReport{}}
}

// reportOf names a report: of which trial, with how many steps seen before a prediction.
type reportOf struct{ trial, prefix int }

// level scores all candidates from the same starts, where some saw more steps before their first prediction than others
// and so left the hardest ones out. Where recordings are too short for that the scores stay as they are.
func (v *validation) level(list []Tried) error {
	scored := slices.DeleteFunc(slices.Clone(list), func(t Tried) bool { return math.IsNaN(t.Score) })
	// Candidates that saw as much were scored from the same starts.
	prefixes := map[float64]bool{}
	for _, t := range scored {
		prefixes[sweep.NewEstimate(t.trial.Values(metricPrefix, t.trial.Reached())).Mean] = true
	}
	if len(prefixes) < 2 {
		return nil
	}
	// Others may have been, too, where the steps before the part are seen. Equal numbers of starts do not say so: where
	// there are fewer places for them, starts lie closer.
	prefix, same, first := 0, true, [][2]int(nil)
	for i, t := range scored {
		own, err := v.view(t)
		if err != nil {
			return err
		}
		if i == 0 {
			first = own.starts
		}
		prefix, same = max(prefix, own.seen), same && slices.Equal(own.starts, first)
	}
	if same {
		return nil
	}
	// All are scored before one is replaced: scores of two kinds would not compare.
	scores := make([]float64, len(list))
	for i, t := range list {
		if scores[i] = t.Score; math.IsNaN(t.Score) {
			continue
		}
		r, err := v.report(t, prefix)
		if errors.Is(err, eval.ErrOptions) {
			return nil
		}
		if err != nil {
			return err
		}
		scores[i] = r.Report().Numbers().Get("mase_mean")
	}
	for i := range list {
		list[i].Score = scores[i]
	}
	v.prefix = prefix
	return nil
}

// question is about the validation part, with so many steps seen before a prediction; 0: as many as the run sees.
func (v *validation) question(prefix int) eval.Question {
	return eval.Question{
		Part: eval.PartValidation, Threads: v.threads, Season: max(v.f.Plan.facts.season, 1), Prefix: prefix,
	}
}

// view is that of a candidate. It opens the run once.
func (v *validation) view(t Tried) (view, error) {
	if known, ok := v.views[t.trial.ID]; ok {
		return known, nil
	}
	run, err := v.f.openRun(v.f.runOf(t.trial, 1))
	if err != nil {
		return view{}, err
	}
	var own view
	if own.seen, err = run.Seen(v.question(0)); err != nil {
		return view{}, err
	}
	if own.starts, err = run.Starts(v.question(0)); err != nil {
		return view{}, err
	}
	v.views[t.trial.ID] = own
	return own, nil
}

// report tests a candidate on the validation part, if that was not done before. It returns eval.ErrOptions where the
// recordings are too short.
func (v *validation) report(t Tried, prefix int) (eval.RecordedReport, error) {
	key := reportOf{t.trial.ID, prefix}
	if r, ok := v.reports[key]; ok {
		return r, nil
	}
	run, err := v.f.openRun(v.f.runOf(t.trial, 1))
	if err != nil {
		return eval.RecordedReport{}, err
	}
	r, err := run.Backtest(nil, v.question(prefix))
	if err != nil {
		return r, fmt.Errorf("compare %s: %w", t.Name(), err)
	}
	v.reports[key] = r
	return r, nil
}

// compare is the error of one candidate over that of another, where both see as many steps before a prediction.
// Where recordings are too short for that it is the ratio of their scores. Then there is no standard error: it is
// NaN.
func (v *validation) compare(a, b Tried) (eval.Estimate, error) {
	scores := eval.Estimate{Value: a.Score / b.Score, SE: math.NaN()}
	prefix := v.prefix
	for _, t := range []Tried{a, b} {
		own, err := v.view(t)
		if err != nil {
			return scores, err
		}
		prefix = max(prefix, own.seen)
	}
	var reports [2]eval.RecordedReport
	for i, t := range []Tried{a, b} {
		var err error
		if reports[i], err = v.report(t, prefix); errors.Is(err, eval.ErrOptions) {
			return scores, nil
		} else if err != nil {
			return scores, err
		}
	}
	if ratio := eval.Paired(reports[0], reports[1]); !math.IsNaN(ratio.Value) {
		return ratio, nil
	}
	return scores, nil
}
