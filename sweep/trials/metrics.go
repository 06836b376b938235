package trials

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/trained"
)

// The metrics that every run has at a rung.
const (
	ValidationELBO = "validation_elbo"           // of the parameters there
	BestELBO       = "best_validation_elbo"      // the best so far
	Objective      = "validation_objective"      // what training maximises, with the weights of the configuration
	BestObjective  = "best_validation_objective" // the best so far
	Updates        = "updates"
	GFLOP          = "gflop" // floating-point operations so far, in thousands of millions, validation left out
)

// The beginnings of the names of other metrics.
const (
	TermPrefix = "validation/" // a term of the loss at the last validation
	EvalPrefix = "eval/"       // eval/PROTOCOL/METRIC: what eval measures, with the best parameters so far
	CostPrefix = "gflop_to/"   // gflop_to/METRIC/LEVEL: the cost until a validation has reached a level
)

// Cost is the metric gflop_to/METRIC/LEVEL: what a training has computed, in GFLOP, until a validation was at
// least so good. It compares configurations whose updates cost different amounts.
type Cost struct {
	Metric string // "elbo" or "objective"; both are the better the larger
	Level  float64
}

// costHelp says how the metric is written.
const costHelp = "e.g. gflop_to/validation_elbo/3.5, with goal: minimize; or gflop_to/validation_objective/LEVEL"

// ParseCost reads the name of a metric. ok says whether it is a cost at all. An error is about a cost of a metric
// other than the two, or of a level that is no finite number.
func ParseCost(name string) (c Cost, ok bool, err error) {
	rest, ok := strings.CutPrefix(name, CostPrefix)
	if !ok {
		return c, false, nil
	}
	metric, level, _ := strings.Cut(rest, "/")
	c.Metric = strings.TrimPrefix(metric, "validation_")
	if metric != ValidationELBO && metric != Objective {
		return c, true, fmt.Errorf("a cost is until %s or %s has reached a level, not %q", ValidationELBO, Objective, metric)
	}
	if c.Level, err = strconv.ParseFloat(level, 64); err != nil || math.IsNaN(c.Level) || math.IsInf(c.Level, 0) {
		return c, true, fmt.Errorf("the level to reach is a number, not %q", level)
	}
	return c, true, nil
}

// Value is the metric of a training of so many updates, each of so many GFLOP, from the step of the first
// validation that was good enough and the best value so far:
//
//	gflop·step                            if it has reached the level
//	gflop·updates·(1 + Level − best)      otherwise
//
// A training that has not got there counts as all of its updates, and as many again for each unit that is
// missing: whoever is nearer is better, and nobody is as good as those that are there. Without a validation, best
// is −∞ and the value infinite.
func (c Cost) Value(reached bool, step uint64, best, gflop float64, updates uint64) float64 {
	if reached {
		return gflop * float64(step)
	}
	return gflop * float64(updates) * (1 + c.Level - best)
}

// checkMetrics reports metrics that no run has. Of a model that fits itself in sweeps, only the number of updates
// is known before.
func (f *File) checkMetrics(b *Base) {
	usual := []string{ValidationELBO, BestELBO, Objective, BestObjective, Updates, GFLOP}
	if job.Sweeping(b.Config) {
		usual = []string{Updates}
	}
	var protocols []string
	for _, p := range trained.Protocols(b.Config) {
		protocols = append(protocols, p.Name)
	}
	if f.unnamed && job.Sweeping(b.Config) {
		f.fault(f.origins["parameters"], "metric", fmt.Sprintf("none is named, and model.kind=%s has no %s, the default",
			b.Config.Model.Kind, ValidationELBO), "name one in a sweep file: metric: {name: eval/PROTOCOL/METRIC, goal: "+
			"minimize}; the protocols for env.kind="+b.Config.Env.Kind+" are "+cmp.Or(strings.Join(protocols, ", "), "none"))
		return
	}
	for i, m := range f.Spec.Metrics {
		// Where the metric stands in the file; the default stands nowhere.
		at, ok := f.origins["metric.name"]
		if o, several := f.origins[fmt.Sprintf("metrics[%d].name", i)]; several {
			at = o
		} else if !ok {
			at = f.origins["parameters"]
		}
		term, isTerm := strings.CutPrefix(m.Name, TermPrefix)
		measured, isEval := strings.CutPrefix(m.Name, EvalPrefix)
		_, isCost, costErr := ParseCost(m.Name)
		switch {
		case slices.Contains(usual, m.Name):
		case isCost && costErr != nil:
			f.fault(at, m.Name, costErr.Error(), costHelp)
		case isCost && !job.Sweeping(b.Config):
			if m.Goal != sweep.Minimize {
				f.fault(at, m.Name, "a cost is minimised", "write goal: minimize")
			}
		case isTerm && !job.Sweeping(b.Config):
			f.known(at, m.Name, term, f.terms(b), "the terms of the loss are ")
		case isEval:
			name, metric, _ := strings.Cut(measured, "/")
			f.known(at, m.Name, name, protocols, "the protocols for env.kind="+b.Config.Env.Kind+" are ")
			if slices.Contains(protocols, name) && len(f.problems) == 0 {
				f.measured(b, at, name, metric)
			}
		default:
			f.known(at, "metric", m.Name, usual, "there are validation/TERM, eval/PROTOCOL/METRIC, gflop_to/METRIC/LEVEL, ")
		}
	}
}

// known reports a word that is not one of a list, with the nearest one, or with the list after text.
func (f *File) known(at config.Origin, key, word string, list []string, text string) {
	if slices.Contains(list, word) {
		return
	}
	hint := text + strings.Join(list, ", ")
	if near := setting.Nearest(word, list); near != "" {
		hint = "did you mean " + near + "? (" + hint + ")"
	}
	f.fault(at, key, fmt.Sprintf("%q is not known", word), hint)
}

// terms are the names of the terms of the loss of the base, without details of terms. A base that cannot be
// prepared is reported, and has none.
func (f *File) terms(b *Base) []string {
	p, err := job.Prepare(b.Config, nil, 1)
	if err != nil {
		f.fault(f.origins["preset"], "preset", err.Error(), "")
		return nil
	}
	var list []string
	for _, t := range p.Terms {
		if !t.Detail {
			list = append(list, t.Name)
		}
	}
	return list
}

// measured reports a metric that a protocol measures neither of the base nor of other configurations that the sweep
// may try.
func (f *File) measured(b *Base, at config.Origin, name, metric string) {
	var list, names []string // of the base
	valid := func(s sweep.Settings) error { _, err := b.Of(s); return err }
	for i, s := range append([]sweep.Settings{nil}, f.Spec.Sample(min(planListed, f.Spec.Trials), valid)...) {
		c, err := b.Of(s)
		if err != nil {
			continue
		}
		reported, err := reports(c, name)
		if err != nil {
			return // a model or data that cannot be had stop the sweep anyway; what is fitted has its metrics later
		}
		for _, m := range reported {
			if slices.Contains(m.Names(), metric) {
				return
			}
			if i == 0 && !strings.HasSuffix(m.Name, "standard_error") {
				list, names = append(list, form(m)), append(names, m.Names()...)
			}
		}
	}
	hint := "protocol " + name + " measures " + strings.Join(list, ", ")
	if near := nearest(metric, names, 3); len(near) > 0 {
		prefix := EvalPrefix + name + "/"
		hint = "did you mean " + prefix + strings.Join(near, " or "+prefix) + "? (" + hint + ")"
	}
	f.fault(at, EvalPrefix+name, fmt.Sprintf("%q is not known", metric), hint)
}

// reports are what a protocol will report of runs of a configuration; none if the configuration has no such
// protocol.
func reports(c config.Config, name string) ([]eval.Metric, error) {
	recordings, err := job.Unbegun(&c)
	if err != nil {
		return nil, err
	}
	for _, p := range trained.Protocols(c) {
		if p.Name == name {
			return trained.Metrics(c, p, recordings)
		}
	}
	return nil, nil
}

// form is a metric in a word: NAME, or NAME/FIRST…LAST by its axis.
func form(m eval.Metric) string {
	names := m.Names()
	if m.Axis == "" || len(names) == 0 {
		return m.Name
	}
	last := strings.TrimPrefix(names[len(names)-1], m.Name+"/")
	return fmt.Sprintf("%s…%s by %s", names[0], last, m.Axis)
}

// nearest are the words of a list that are most like one, the best first, and at most so many.
func nearest(word string, list []string, most int) []string {
	var near []string
	list = slices.Clone(list)
	for len(near) < most {
		best := setting.Nearest(word, list)
		if best == "" {
			break
		}
		near = append(near, best)
		list = slices.DeleteFunc(list, func(s string) bool { return s == best })
	}
	return near
}
