package protocol

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

func fhnProtocol() Protocol {
	return Protocol{
		Name: "fhn", Doc: "R² of predictions beyond the training part of the oscillator's trajectories, beside the paper's",
		Usual: []string{"fhn"}, AllStarts: true, Ends: true, run: fhn,
		fits:    func(kind string, _ envs.Env) bool { return kind == "fhn" },
		metrics: func(s Subject) ([]eval.Metric, error) { return s.oscillator().Metrics(), nil },
	}
}

// fhn evaluates the oscillator. All starts in the held-out window cost thirty times as much as the one at its
// beginning.
func fhn(s Subject) (Findings, error) {
	o := s.oscillator()
	report, err := eval.FHN(s.Forecaster, o)
	if err != nil {
		return Findings{}, err
	}
	picture, err := eval.FHNFigure(s.Forecaster, o)
	if err != nil {
		return Findings{}, fmt.Errorf("compute the figure: %w", err)
	}
	return Findings{
		Table: report.Table(), Curves: report.CurveTable(), Report: report.Report(),
		Draw: figure.FHN(report, picture).Write,
	}, nil
}

func (s Subject) oscillator() eval.FHNOptions {
	o := eval.DefaultFHNOptions()
	o.Question, o.Seed, o.Training, o.Length = s.Question, s.Seed, s.Training, s.Length
	o.Samples, o.Window = s.Samples, s.Window
	return o
}
