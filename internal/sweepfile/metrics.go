package sweepfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/names"
	"github.com/switchyard-ml/switchyard/internal/registry"
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
)

// Protocols lists the evaluations for a configuration.
func Protocols(c config.Config) []protocol.Protocol {
	if c.Recorded() {
		return protocol.For(c.Env.Kind, nil)
	}
	env, err := registry.Environment(c)
	if err != nil {
		return nil
	}
	return protocol.For(c.Env.Kind, env)
}

// checkMetrics reports metrics that no run has. The names of the metrics of a protocol are known when it was run.
func (f *File) checkMetrics(b *Base) {
	usual := []string{ValidationELBO, BestELBO, Objective, BestObjective, Updates, GFLOP}
	if job.Sweeping(b.Config) {
		usual = []string{Updates}
	}
	for i, m := range f.Spec.Metrics {
		at, ok := f.origins["metric.name"]
		if o, several := f.origins[fmt.Sprintf("metrics[%d].name", i)]; several {
			at = o
		} else if !ok {
			at = f.origins["parameters"]
		}
		term, isTerm := strings.CutPrefix(m.Name, TermPrefix)
		measured, isEval := strings.CutPrefix(m.Name, EvalPrefix)
		switch {
		case slices.Contains(usual, m.Name):
		case isTerm && !job.Sweeping(b.Config):
			f.known(at, m.Name, term, f.terms(b), "the terms of the loss are ")
		case isEval:
			name, metric, _ := strings.Cut(measured, "/")
			var list []string
			for _, p := range Protocols(b.Config) {
				list = append(list, p.Name)
			}
			f.known(at, m.Name, name, list, "the protocols for env.kind="+b.Config.Env.Kind+" are ")
			if metric == "" {
				f.fault(at, m.Name, "a metric of the protocol is missing", "e.g. eval/ahead/mse; eval NAME --json shows which there are")
			}
		default:
			f.known(at, "metric", m.Name, usual, "there are validation/TERM, eval/PROTOCOL/METRIC, ")
		}
	}
}

// known reports a word that is not one of a list.
func (f *File) known(at config.Origin, key, word string, list []string, text string) {
	if slices.Contains(list, word) {
		return
	}
	hint := text + strings.Join(list, ", ")
	if near := names.Nearest(word, list); near != "" {
		hint = "did you mean " + near + "? (" + hint + ")"
	}
	f.fault(at, key, fmt.Sprintf("%q is not known", word), hint)
}

// terms are the names of the terms of the loss of the base.
func (f *File) terms(b *Base) []string {
	p, err := job.Prepare(b.Config, nil, 1)
	if err != nil {
		f.fault(f.origins["preset"], "preset", err.Error(), "")
		return nil
	}
	var list []string
	for _, t := range p.Terms {
		list = append(list, t.Name)
	}
	return list
}
