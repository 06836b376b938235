// Package protocol lists the evaluations that a run may be measured by: what data, what questions, which baselines, which table
// and figure. A protocol asks what answers questions, a model.Forecaster; it does not know which family of models that is, nor
// where parameters and results are kept.
package protocol

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/model"
)

// Protocol is one way to measure a trained model.
type Protocol struct {
	Name         string
	Doc          string   // what is measured, in one line
	Environments []string // kinds that it is made for; none: every environment that is simulated
	AllStarts    bool     // it can predict from every start in the held-out window, too
	Ends         bool     // it uses the ends of training trajectories, unless fresh ones are asked for
	run          func(s Subject) (Findings, error)
}

// Subject is what is measured, and how.
type Subject struct {
	Forecaster model.Forecaster
	Env        envs.Env

	Seed             uint64 // of the run
	Episodes, Length int    // of training
	Horizon, Samples int
	Window           int  // steps filtered before a prediction; 0: all
	AllStarts, Fresh bool // see eval.FHNOptions
	Threads          int  // never changes a result
}

// Findings are what a protocol found.
type Findings struct {
	Table  eval.Table
	Curves eval.Table // every number, for CSV
	Report eval.Report
	Draw   func(dir string) (paths []string, err error) // the figure; nil: there is none
}

// All lists the protocols, those for single environments first.
func All() []Protocol {
	return []Protocol{
		{
			Name: "fhn", Doc: "R² of predictions beyond the training part of the oscillator's trajectories, beside the paper's",
			Environments: []string{"fhn"}, AllStarts: true, Ends: true, run: fhn,
		},
		{Name: "ahead", Doc: "R² of predictions several steps ahead on trajectories that training never saw", run: ahead},
	}
}

// For lists the protocols of a kind of environment, those made for it first.
func For(kind string) []Protocol {
	return slices.DeleteFunc(All(), func(p Protocol) bool { return len(p.Environments) > 0 && !p.MadeFor(kind) })
}

// MadeFor reports whether the protocol names this kind of environment.
func (p Protocol) MadeFor(kind string) bool { return slices.Contains(p.Environments, kind) }

// Run measures a model.
func (p Protocol) Run(s Subject) (Findings, error) {
	f, err := p.run(s)
	if err != nil {
		return Findings{}, fmt.Errorf("protocol %s: %w", p.Name, err)
	}
	return f, nil
}

// fhn evaluates the oscillator. All starts in the held-out window cost thirty times as much as the one at its beginning.
func fhn(s Subject) (Findings, error) {
	o := eval.DefaultFHNOptions()
	o.Seed, o.Episodes, o.Length = s.Seed, s.Episodes, s.Length
	o.Horizon, o.Samples, o.Window, o.Threads = s.Horizon, s.Samples, s.Window, s.Threads
	o.AllStarts, o.Fresh = s.AllStarts, s.Fresh
	report, err := eval.FHN(s.Forecaster, o)
	if err != nil {
		return Findings{}, err
	}
	picture, err := eval.FHNFigure(s.Forecaster, o)
	if err != nil {
		return Findings{}, fmt.Errorf("compute the figure: %w", err)
	}
	return Findings{Table: report.Table(), Curves: report.CurveTable(), Report: report.Report(), Draw: figure.FHN(report, picture).Write}, nil
}

// aheadEpisodes is the number of trajectories of the protocol ahead.
const aheadEpisodes = 100

func ahead(s Subject) (Findings, error) {
	report, err := eval.Ahead(s.Forecaster, s.Env, eval.AheadOptions{
		Seed: s.Seed, Episodes: aheadEpisodes, Length: s.Length, Horizon: s.Horizon, Samples: s.Samples, Window: s.Window, Threads: s.Threads,
	})
	if err != nil {
		return Findings{}, err
	}
	return Findings{Table: report.Table(), Curves: report.CurveTable(), Report: report.Report()}, nil
}
