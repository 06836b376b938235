package eval

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
)

// fhnProtocol compares with the published R² of the oscillator; see FHN.
func fhnProtocol() Protocol {
	return Protocol{
		Name: "fhn", Doc: "R² of predictions beyond the training part of the oscillator's trajectories, with the paper's",
		Usual: []string{"fhn"}, AllStarts: true, Ends: true, run: measureFHN,
		fits:    func(kind string, _ envs.Env) bool { return kind == "fhn" },
		metrics: func(s Subject) ([]Metric, error) { return s.oscillator().Metrics(), nil },
	}
}

// measureFHN evaluates the oscillator. All starts in the held-out window cost thirty times as much as the one at its
// beginning.
func measureFHN(s Subject) (Findings, error) {
	o := s.oscillator()
	report, err := FHN(s.Forecaster, o)
	if err != nil {
		return Findings{}, err
	}
	picture, err := FHNFigure(s.Forecaster, o)
	if err != nil {
		return Findings{}, fmt.Errorf("compute the figure: %w", err)
	}
	return findings(report, FHNDrawing{report, picture}), nil
}

// oscillator is what the protocol is asked, with the constants of the paper.
func (s Subject) oscillator() FHNOptions {
	o := DefaultFHNOptions()
	o.Question, o.Seed, o.Training, o.Length = s.Question, s.Seed, s.Training, s.Length
	o.Samples, o.Window = s.Samples, s.Window
	return o
}
