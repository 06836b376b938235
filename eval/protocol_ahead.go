package eval

// aheadEpisodes is the number of trajectories of the protocol ahead.
const aheadEpisodes = 100

// aheadProtocol measures R² over the horizon with Ahead, and draws no figure.
func aheadProtocol() Protocol {
	return Protocol{
		Name: "ahead", Doc: "R² of predictions several steps ahead on held-out trajectories",
		Episodes: aheadEpisodes,
		fits:     vectors,
		metrics:  func(s Subject) ([]Metric, error) { return s.ahead().Metrics(), nil },
		run: func(s Subject) (Findings, error) {
			report, err := Ahead(s.Forecaster, s.Env, s.ahead())
			if err != nil {
				return Findings{}, err
			}
			return findings(report, nil), nil
		},
	}
}

// ahead is what the protocol is asked: the length of a training episode is filtered.
func (s Subject) ahead() AheadOptions {
	return AheadOptions{
		Question: s.task(aheadEpisodes).Question, Seed: s.Seed, Length: s.Length, Samples: s.Samples, Window: s.Window,
	}
}
