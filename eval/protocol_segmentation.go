package eval

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// segmentationEpisodes is the number of test episodes of the protocol segmentation.
const segmentationEpisodes = 100

// segmentationProtocol needs true regimes: an environment that switches, or recordings with labels.
func segmentationProtocol() Protocol {
	return Protocol{
		Name: "segmentation", Usual: []string{"modes", "bounce", "sticky", "nascar", "lorenz"},
		Doc: "regimes of held-out recordings compared with their labels, an autoregressive HMM and the most frequent " +
			"label",
		Episodes: segmentationEpisodes, Labelled: true,
		fits: func(_ string, env envs.Env) bool {
			_, switching := env.(envs.Switching)
			return env == nil || switching
		},
		metrics: func(s Subject) ([]Metric, error) {
			return s.asked(func(f model.Forecaster) ([]Metric, error) {
				d, err := s.divided()
				if err != nil {
					return nil, err
				}
				return d.report(f).Report().Metrics, nil
			})
		},
		run: func(s Subject) (Findings, error) {
			d, err := s.divided()
			if err != nil {
				return Findings{}, err
			}
			// Regimes have the numbers and colours that they have everywhere.
			d.order = s.Numbering()
			r := d.Segmentation(s.Forecaster)
			found := findings(r, nil)
			found.Scores = r.ScoreTable()
			if len(r.Strips) > 0 {
				found.Picture = r
			}
			return found, nil
		},
	}
}
