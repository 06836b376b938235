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

// ofValidations are those of runs that are trained by updates, and validated.
var ofValidations = []string{ValidationELBO, BestELBO, Objective, BestObjective, Updates, GFLOP}

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

// checkMetrics reports metrics that no configuration of the sweep has, as far as these are looked at. Of a model that
// fits itself in sweeps, only the number of updates is known before.
func (f *File) checkMetrics(b *Base) {
	o := f.offered(b)
	if f.unnamed && !o.validated {
		c := o.tried[0]
		f.fault(f.origins["parameters"], "metric", fmt.Sprintf("none is named, and model.kind=%s has no %s, the default",
			c.Model.Kind, ValidationELBO), "name one in a sweep file: metric: {name: eval/PROTOCOL/METRIC, goal: "+
			"minimize}; the protocols for env.kind="+o.envs+" are "+cmp.Or(strings.Join(o.protocols, ", "), "none"))
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
		f.checkMetric(at, m, o)
	}
}

// checkMetric reports a metric that no configuration has.
func (f *File) checkMetric(at config.Origin, m sweep.Metric, o offer) {
	term, isTerm := strings.CutPrefix(m.Name, TermPrefix)
	measured, isEval := strings.CutPrefix(m.Name, EvalPrefix)
	_, isCost, costErr := ParseCost(m.Name)
	switch {
	case slices.Contains(o.usual, m.Name):
	case isCost && costErr != nil:
		f.fault(at, m.Name, costErr.Error(), costHelp)
	case isCost && o.validated:
		if m.Goal != sweep.Minimize {
			f.fault(at, m.Name, "a cost is minimised", "write goal: minimize")
		}
	case isTerm && o.validated:
		f.term(at, m.Name, term, o)
	case isEval:
		name, metric, _ := strings.Cut(measured, "/")
		f.known(at, m.Name, name, o.protocols, "the protocols for env.kind="+o.envs+" are ")
		if slices.Contains(o.protocols, name) && len(f.problems) == 0 {
			f.measured(at, name, metric, o)
		}
	case !o.validated && (isCost || isTerm || slices.Contains(ofValidations, m.Name)):
		f.fault(at, m.Name, "no configuration of the sweep has it: of models that fit themselves there are updates and "+
			"eval/PROTOCOL/METRIC", "the protocols for env.kind="+o.envs+" are "+strings.Join(o.protocols, ", "))
	default:
		f.known(at, "metric", m.Name, o.usual,
			"there are validation/TERM, eval/PROTOCOL/METRIC, gflop_to/METRIC/LEVEL, ")
	}
}

// offer is what the configurations of a sweep have, taken together.
type offer struct {
	tried     []config.Config // those that are looked at; of a sweep without a valid one, the base
	validated bool            // some is trained by updates, and validated
	usual     []string        // metrics that need no computation
	protocols []string        // where a metric is one of them, or nothing is validated
	envs      string          // kinds of environments
}

// offered looks at configurations of the sweep.
func (f *File) offered(b *Base) offer {
	most := metricSamples
	if f.Spec.Method == sweep.List {
		most = mostListed
	}
	o := offer{usual: []string{Updates}}
	var envs []string
	seen := map[string]bool{}
	for _, c := range slices.Concat(f.sampled(b, most), f.covering(b)) {
		// What there is depends neither on the optimiser nor on the seed.
		unlike := c.config.Clone()
		unlike.Seed, unlike.Optim = 0, config.Optim{}
		if text := string(unlike.YAML()); !seen[text] {
			seen[text] = true
			o.tried = append(o.tried, c.config)
		}
	}
	if o.tried == nil {
		o.tried = []config.Config{b.Config}
	}
	for _, c := range o.tried {
		o.validated = o.validated || !job.Sweeping(c)
		if !slices.Contains(envs, c.Env.Kind) {
			envs = append(envs, c.Env.Kind)
		}
	}
	if o.envs = strings.Join(envs, " or "); o.validated {
		o.usual = ofValidations
	}
	evaluated := func(m sweep.Metric) bool { return strings.HasPrefix(m.Name, EvalPrefix) }
	if slices.ContainsFunc(f.Spec.Metrics, evaluated) || !o.validated {
		o.protocols = protocols(o.tried)
	}
	return o
}

// protocols are the names of those that fit some of the configurations.
func protocols(list []config.Config) []string {
	var names []string
	for _, c := range list {
		for _, p := range trained.Protocols(c) {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
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

// term reports a term that the loss of no configuration has, details of terms left out. If none can be prepared, that
// is reported instead.
func (f *File) term(at config.Origin, key, term string, o offer) {
	var list []string // of all of them
	var failed error
	for _, c := range o.tried {
		if job.Sweeping(c) {
			continue
		}
		names, err := terms(c)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		for _, name := range names {
			if name == term {
				return
			}
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	if list == nil && failed != nil {
		f.fault(f.origins["preset"], "preset", failed.Error(), "")
		return
	}
	f.known(at, key, term, list, "the terms of the loss are ")
}

// terms are the names of the terms of the loss of a configuration, without details of terms.
func terms(c config.Config) ([]string, error) {
	data, err := job.LoadData(&c, nil)
	if err != nil {
		return nil, err
	}
	program, err := job.NewShards(c, data.Dataset(), 1)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, t := range program.Terms() {
		if !t.Detail {
			list = append(list, t.Name)
		}
	}
	return list, nil
}

// measured reports a metric that a protocol measures of no configuration.
func (f *File) measured(at config.Origin, name, metric string, o offer) {
	var list, names []string // of the first that has the protocol
	for _, c := range o.tried {
		reported, err := reports(c, name)
		if err != nil {
			return // a model or data that cannot be had stop the sweep anyway; what is fitted has its metrics later
		}
		first := names == nil
		for _, m := range reported {
			if slices.Contains(m.Names(), metric) {
				return
			}
			if first && !strings.HasSuffix(m.Name, "standard_error") {
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
