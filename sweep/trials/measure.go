package trials

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/trained"
)

// measure reads the metrics of a run that has reached a rung, or ended before it: those of its validations up to
// there, the number of updates, and, if the sweep asks for them, costs in GFLOP and what protocols measure. Seconds
// are those of all cores together: the time of the busiest worker, times the workers, summed over the exchanges. The
// result is a function of the files of the run, so that a measurement that was cut short can be made again.
func (r *runner) measure(o lead.Order, info store.Info, step uint64) (sweep.Result, error) {
	step = min(step, info.Step) // train.patience may have ended it
	res := sweep.Result{Step: step, Hash: info.ParametersSHA256, Values: map[string]float64{Updates: float64(step)}}
	costs, err := r.costs()
	if err != nil {
		return res, err
	}
	err = store.ReadMetrics(r.runsDir, o.Name, func(m store.Record) error {
		switch {
		case m.Step > step:
		case m.Split == "train":
			res.Seconds += m.Values["compute_seconds"] * m.Values["workers"] * float64(job.Stride(o.Config))
		case m.Split == "validation":
			validated(res.Values, m.Values)
			for _, c := range costs {
				c.validated(m.Step, m.Values)
			}
		}
		return nil
	})
	if err != nil {
		return res, err
	}
	if err := r.count(o, res, costs); err != nil {
		return res, err
	}
	return res, r.evaluate(o, res.Values)
}

// reaching is a cost with what the validations of a run say of it: whether one was good enough, and the best
// value so far, −∞ before the first.
type reaching struct {
	Cost
	name    string
	reached bool
	step    uint64 // of the first validation that was good enough
	best    float64
}

// costs are the metrics of the sweep that say what it costs to get somewhere. A name that begins like one and is
// none is an error.
func (r *runner) costs() ([]*reaching, error) {
	var list []*reaching
	for _, m := range r.spec.Metrics {
		c, ok, err := ParseCost(m.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, &reaching{Cost: c, name: m.Name, best: math.Inf(-1)})
		}
	}
	return list, nil
}

// validated takes in the values that a validation after step updates has found. Validations come in the order of
// their steps. A model without a bound never reaches one.
func (c *reaching) validated(step uint64, found store.Values) {
	v, ok := found[c.Metric]
	if !ok {
		return
	}
	c.best = max(c.best, v)
	if !c.reached && v >= c.Level {
		c.reached, c.step = true, step
	}
}

// count adds the metrics that are counted in floating-point operations, which are the same on every machine. It
// does nothing if the sweep asks for none: to prepare a run costs time.
func (r *runner) count(o lead.Order, res sweep.Result, costs []*reaching) error {
	asked := slices.ContainsFunc(r.spec.Metrics, func(m sweep.Metric) bool { return m.Name == GFLOP })
	if !asked && len(costs) == 0 {
		return nil
	}
	p, err := job.Prepare(o.Config, nil, 1)
	if err != nil {
		return err
	}
	gflop := p.FLOPs / 1e9 // of an update
	res.Values[GFLOP] = gflop * float64(res.Step)
	for _, c := range costs {
		res.Values[c.name] = c.Value(c.reached, c.step, c.best, gflop, o.Config.Train.Steps)
	}
	return nil
}

// validated takes over the values of a validation: the last, and for bound and objective also the best. A value
// that is no number stays the best: a run does not recover from it unseen.
func validated(values map[string]float64, found store.Values) {
	for name, v := range found {
		switch name {
		case "elbo", "objective":
			best := "best_validation_" + name
			if old, ok := values[best]; !ok || v > old || math.IsNaN(v) {
				values[best] = v
			}
			values["validation_"+name] = v
		default:
			values[TermPrefix+name] = v
		}
	}
}

// evaluate runs the protocols that the metrics of the sweep name, each once, and adds all that they measure.
func (r *runner) evaluate(o lead.Order, values map[string]float64) error {
	done := map[string]bool{}
	for _, m := range r.spec.Metrics {
		rest, ok := strings.CutPrefix(m.Name, EvalPrefix)
		name, _, _ := strings.Cut(rest, "/")
		if !ok || done[name] {
			continue
		}
		done[name] = true
		found, err := r.protocol(o, name)
		if err != nil {
			return fmt.Errorf("evaluate run %s by %s: %w", o.Name, name, err)
		}
		for metric, v := range found {
			values[EvalPrefix+name+"/"+metric] = v
		}
	}
	return nil
}

// protocol measures a run with its best parameters so far.
func (r *runner) protocol(o lead.Order, name string) (eval.Numbers, error) {
	run, err := trained.Of(o.Config, filepath.Join(r.runsDir, o.Name), trained.Best)
	if err != nil {
		return nil, err
	}
	e, err := run.Evaluate(eval.Question{Protocol: name, Threads: r.threads})
	if err != nil {
		return nil, err
	}
	return e.Numbers, nil
}
