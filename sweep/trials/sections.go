package trials

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep"
)

// method reads the method; bayes of W&B means tpe.
func (f *File) method(p config.Pair) {
	if p.Value.Text == "bayes" {
		f.note("method bayes of W&B is tpe here: tree-structured Parzen estimators, not a Gaussian process")
		f.Spec.Method = sweep.TPE
		return
	}
	f.Spec.Method = sweep.Method(f.oneOf(p, "", []string{"tpe", "random", "grid", "sobol", "list"}))
}

// metrics reads a list of metrics, whose order is that of the spec.
func (f *File) metrics(p config.Pair) {
	if p.Value.Kind != config.NodeList || len(p.Value.Items) == 0 {
		f.fault(p.At, "metrics", "expected a list of metrics, found "+describe(p.Value),
			"e.g. [{name: validation_elbo, goal: maximize}, {name: gflop, goal: minimize}]")
		return
	}
	for i, item := range p.Value.Items {
		f.metric(item, item.Origin, fmt.Sprintf("metrics[%d]", i))
	}
}

// metric reads one metric: a name, or keys. A goal that is left out is to maximise bounds and objectives, and to
// minimise everything else.
func (f *File) metric(n config.Node, at config.Origin, path string) {
	m := sweep.Metric{Goal: sweep.Minimize}
	switch n.Kind {
	case config.NodeValue:
		m.Name = n.Text
		f.origins[path+".name"] = n.Origin
	case config.NodeMapping:
	default:
		f.fault(at, path, "expected name and goal, found "+describe(n), "e.g. {name: validation_elbo, goal: maximize}")
		return
	}
	said := false
	for _, p := range n.Pairs {
		switch p.Key {
		case "name":
			m.Name = f.word(p, path)
			f.origins[path+".name"] = p.Value.Origin
		case "goal":
			m.Goal, said = sweep.Goal(f.oneOf(p, path, []string{"minimize", "maximize"})), true
		case "target":
			f.note("%s.target is not used: a sweep ends when its trials are done", path)
		default:
			f.unknown(p, path, []string{"name", "goal"})
		}
	}
	if m.Name == "" {
		f.fault(at, path+".name", "missing", "e.g. name: validation_elbo")
		return
	}
	if name, ok := metricSynonyms[m.Name]; ok {
		f.note("%s %s is called %s here", path, m.Name, name)
		m.Name = name
	}
	if !said && (strings.HasSuffix(m.Name, "elbo") || strings.HasSuffix(m.Name, "objective")) {
		m.Goal = sweep.Maximize
	}
	for _, o := range f.Spec.Metrics {
		if o.Name == m.Name {
			f.fault(at, path, m.Name+" is listed twice", "keep one")
			return
		}
	}
	f.Spec.Metrics = append(f.Spec.Metrics, m)
}

// metricSynonyms are names of other programs, which are understood with a note.
var metricSynonyms = map[string]string{
	"val/elbo": "validation_elbo", "val_elbo": "validation_elbo",
	"elbo": "validation_elbo", "validation/elbo": "validation_elbo",
}

// confirm reads how the best trials are confirmed. What is left out is 3 trials with 5 seeds each.
func (f *File) confirm(p config.Pair) {
	f.Spec.Confirm = sweep.Confirm{Top: 3, Seeds: 5}
	if p.Value.Kind != config.NodeMapping {
		f.fault(p.At, "confirm", "expected top and seeds, found "+describe(p.Value), "e.g. confirm: {top: 3, seeds: 5}")
		return
	}
	for _, q := range p.Value.Pairs {
		switch q.Key {
		case "top":
			f.Spec.Confirm.Top = int(f.count(q, "confirm", 1))
		case "seeds":
			f.Spec.Confirm.Seeds = int(f.count(q, "confirm", 1))
		default:
			f.unknown(q, "confirm", []string{"top", "seeds"})
		}
	}
}

// stopKeys are the keys of early_terminate. Names of Ray mean the same as those of W&B.
var stopKeys = []string{
	"type", "min_iter", "max_iter", "eta", "s", "cohort", "min_trials", "rungs", "strict",
	"grace_period", "reduction_factor", "max_t",
}

// stop reads how trials are stopped early: a type alone, or keys. Rungs are made of them when the base is known.
func (f *File) stop(p config.Pair) {
	f.hasStop = true
	if p.Value.Kind == config.NodeValue {
		f.stopType(config.Pair{Key: "early_terminate", At: p.At, Value: p.Value}, "")
		return
	}
	if p.Value.Kind != config.NodeMapping {
		f.fault(p.At, "early_terminate", "expected keys, found "+describe(p.Value),
			"e.g. early_terminate: {type: halving, min_iter: 100}")
		return
	}
	const path = "early_terminate"
	for _, q := range p.Value.Pairs {
		f.origins[path+"."+q.Key] = q.At
		switch q.Key {
		case "type":
			f.stopType(q, path)
		case "min_iter", "grace_period":
			f.halving.least = f.count(q, path, 1)
		case "max_iter", "max_t":
			f.halving.most = f.count(q, path, 1)
		case "eta", "reduction_factor":
			f.Spec.Stop.Eta = int(f.count(q, path, 2))
		case "s":
			f.halving.brackets = int(f.count(q, path, 1))
		case "cohort":
			f.Spec.Stop.Cohort = int(f.count(q, path, 1))
		case "min_trials":
			f.Spec.Stop.Grace = int(f.count(q, path, 1))
		case "rungs":
			f.rungs(q)
		case "strict":
			f.note("early_terminate.strict is not used: halving keeps exactly one of eta")
		default:
			f.unknown(q, path, stopKeys)
		}
	}
}

// stopType reads the type; path is that of the section it stands in, empty if it stands alone.
func (f *File) stopType(p config.Pair, path string) {
	f.Spec.Stop.Type = sweep.StopType(f.oneOf(p, path, []string{"halving", "none", "hyperband", "asha", "median"}))
}

// rungs reads the list of updates at which trials are judged.
func (f *File) rungs(p config.Pair) {
	if p.Value.Kind != config.NodeList || len(p.Value.Items) == 0 {
		f.fault(p.At, "early_terminate.rungs", "expected a list of updates, found "+describe(p.Value), "e.g. [100, 300]")
		return
	}
	for _, item := range p.Value.Items {
		f.Spec.Stop.Rungs = append(f.Spec.Stop.Rungs, f.count(config.Pair{Key: "rungs", At: p.At, Value: item},
			"early_terminate", 1))
	}
}
