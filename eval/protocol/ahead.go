package protocol

import (
	"github.com/switchyard-ml/switchyard/eval"
)

// aheadEpisodes is the number of trajectories of the protocol ahead.
const aheadEpisodes = 100

func aheadProtocol() Protocol {
	return Protocol{
		Name: "ahead", Doc: "R² of predictions several steps ahead on trajectories that training never saw",
		Episodes: aheadEpisodes,
		fits:     vectors,
		metrics:  func(s Subject) ([]eval.Metric, error) { return s.ahead().Metrics(), nil },
		run: func(s Subject) (Findings, error) {
			report, err := eval.Ahead(s.Forecaster, s.Env, s.ahead())
			if err != nil {
				return Findings{}, err
			}
			return Findings{Table: report.Table(), Curves: report.CurveTable(), Report: report.Report()}, nil
		},
	}
}

func (s Subject) ahead() eval.AheadOptions {
	return eval.AheadOptions{
		Question: s.task(aheadEpisodes).Question, Seed: s.Seed, Length: s.Length, Samples: s.Samples, Window: s.Window,
	}
}
