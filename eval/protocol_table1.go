package eval

// testEpisodes is how many fresh episodes a published number is compared on.
const testEpisodes = 1000

// table1Protocol is the usual one of the environments of the paper's table 1, and fits all whose observations are
// vectors.
func table1Protocol() Protocol {
	return Protocol{
		Name: "table1", Doc: "squared error 1, 5 and 10 steps ahead, divided by that of predicting no change, and table " +
			"1 of the paper",
		Usual: []string{"maze", "reacher"}, Prefixed: true, Episodes: testEpisodes, fits: vectors,
		metrics: func(s Subject) ([]Metric, error) { return Table1Metrics(s.Env, s.task(testEpisodes)), nil },
		run: func(s Subject) (Findings, error) {
			report, err := Table1(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			return findings(report, report), nil
		},
	}
}
