package trials

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep"
)

// bayes makes tpe of the method bayes of W&B.
func (f *File) bayes(method *config.Pair) {
	if method != nil && method.Value.Text == "bayes" {
		f.note("method bayes of W&B is tpe here: tree-structured Parzen estimators, not a Gaussian process")
		method.Value.Text = string(sweep.TPE)
	}
}

// metrics reads a list of metrics, whose order is that of the spec.
func (f *File) metrics(p config.Pair) {
	if p.Value.Kind != config.NodeList || len(p.Value.Items) == 0 {
		f.fault(p.At, "metrics", "expected a list of metrics, found "+p.Value.Describe(),
			"e.g. [{name: validation_elbo, goal: maximize}, {name: gflop, goal: minimize}]")
		return
	}
	for i, item := range p.Value.Items {
		f.metric(config.Pair{At: item.Origin, Value: item}, fmt.Sprintf("metrics[%d]", i))
	}
}

// metric reads one metric: a name, or keys. A goal that is left out is to maximise bounds and objectives, and to
// minimise everything else.
func (f *File) metric(p config.Pair, path string) {
	if p.Value.Kind == config.NodeValue {
		p = alone("name", p)
	}
	m := sweep.Metric{}
	f.section(p, path, "e.g. {name: validation_elbo, goal: maximize}", &m, &struct {
		Target *config.Pair `yaml:"target" unused:"a sweep ends when its trials are done"`
	}{})
	if name := p.Value.Pair("name"); name != nil {
		f.origins[path+".name"] = name.Value.Origin
	}
	if m.Name == "" {
		if p.Value.Kind == config.NodeMapping {
			f.fault(p.At, path+".name", "missing", "e.g. name: validation_elbo")
		}
		return
	}
	if name, ok := metricSynonyms[m.Name]; ok {
		f.note("%s %s is called %s here", path, m.Name, name)
		m.Name = name
	}
	if m.Goal == "" {
		m.Goal = sweep.Minimize
		if strings.HasSuffix(m.Name, "elbo") || strings.HasSuffix(m.Name, "objective") {
			m.Goal = sweep.Maximize
		}
	}
	for _, o := range f.Spec.Metrics {
		if o.Name == m.Name {
			f.fault(p.At, path, m.Name+" is listed twice", "keep one")
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
	f.section(p, "confirm", "e.g. confirm: {top: 3, seeds: 5}", &f.Spec.Confirm)
}

// stop reads how trials are stopped early: a type alone, or keys. Rungs are made of them when the base is known.
func (f *File) stop(p config.Pair) {
	if p.Value.Kind == config.NodeValue {
		p = alone("type", p)
	}
	f.section(p, "early_terminate", "e.g. early_terminate: {type: halving, min_iter: 100}", &f.Spec.Stop, &f.halving)
	for _, q := range p.Value.Pairs {
		if why := f.idle(q.Key, p.Value); why != "" {
			f.note("early_terminate.%s is not used: %s", q.Key, why)
		}
	}
	if q := p.Value.Pair("rungs"); q != nil && q.Value.Kind == config.NodeList && len(q.Value.Items) == 0 {
		f.fault(q.At, "early_terminate.rungs", "the list of updates is empty", "e.g. [100, 300]")
	}
}

// idle says why a key of early stopping has no effect beside the others of n; empty: it has one.
func (f *File) idle(key string, n config.Node) string {
	t := f.Spec.Stop.Type
	said := func(key string) bool { return n.Pair(key) != nil }
	switch key {
	case "cohort":
		if t == sweep.Hyperband || t.Timed() {
			return string(t) + " has no cohorts of a given size"
		}
	case "min_trials":
		if t != sweep.MedianStop {
			return "it is one of median"
		}
	case "min_iter", "grace_period", "s", "rungs", "eta", "reduction_factor":
		least := key == "min_iter" || key == "grace_period"
		switch {
		case t == sweep.NoStop:
			return "none stops no trial"
		case said("rungs") && (least || key == "s" || key != "rungs" && t == sweep.MedianStop):
			return "rungs says where trials are judged"
		case said("s") && least:
			return "s says how many rungs there are"
		}
	}
	return ""
}
