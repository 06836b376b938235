package eval

import (
	"errors"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// Recordings are the data of a run on recordings, in the units of its model, and what they were scaled by.
type Recordings struct {
	Set   *files.Dataset
	Split files.Split
	Scale files.Normalisation
}

// errNoRecordings is returned where the data of a run on recordings are not at hand.
var errNoRecordings = errors.New("the recordings are missing")

func recordingsProtocol() Protocol {
	return Protocol{
		Name: "recordings", Doc: "predictions of recordings that training never saw, with their intervals, beside " +
			"persistence, the last season and autoregressions",
		Usual: []string{"files"}, Prefixed: true, fits: func(_ string, env envs.Env) bool { return env == nil },
		metrics: func(s Subject) ([]Metric, error) {
			if s.Recordings == nil {
				return nil, errNoRecordings
			}
			return s.asked(func(f model.Forecaster) ([]Metric, error) { return s.recorded().Metrics(f.Dims()) })
		},
		run: func(s Subject) (Findings, error) {
			r, err := s.Backtest()
			if err != nil {
				return Findings{}, err
			}
			return Findings{
				Scores: r.ScoreTable(), Table: r.Table(), Curves: r.CurveTable(), Report: r.Report(),
				Picture: r,
			}, nil
		},
	}
}

// Backtest predicts held-out recordings from starts all along them.
func (s Subject) Backtest() (RecordedReport, error) {
	if s.Recordings == nil {
		return RecordedReport{}, errNoRecordings
	}
	return Recorded(s.Forecaster, s.recorded())
}

// recorded asks for what was held out: the test part, or the validation part if there is none. Unless told, half a
// training window is seen before a prediction, or less where the recordings are short; a whole one where recordings
// were divided by time, so that it is at hand before the first held-out step.
func (s Subject) recorded() RecordedOptions {
	set, split := s.Recordings.Set, s.Recordings.Split
	test := split.Test
	if len(test) == 0 {
		test = split.Validation
	}
	o := RecordedOptions{
		Question: s.Question, Seed: s.Seed, Samples: s.Samples,
		Calendar: set.Season(), DT: set.Spec.DT, TimeUnit: set.TimeUnit, Means: s.Recordings.Scale.Observations.Mean,
		Deviations: s.Recordings.Scale.Observations.SD,
	}
	if o.Prefix == 0 {
		o.Prefix = s.seen(test)
	}
	for _, t := range set.Transforms { // differences are added to what was seen
		o.Prefix = max(o.Prefix, t.Lag)
	}
	training, held := s.Recordings.pieces(split.Training, 0), s.Recordings.pieces(test, o.Prefix)
	o.Training, o.Test = observed(training), observed(held)
	if len(o.Deviations) == 0 { // they were not scaled
		o.Means, o.Deviations = nil, nil
	}
	if set.Transforms != nil {
		o.Untransformed, o.Means, o.Deviations = s.Recordings.levels(training, held)
	}
	if !set.Images() {
		for c := range set.Spec.Observation {
			o.Names = append(o.Names, set.ChannelName(c))
		}
	}
	return o
}

// seen is how many steps are seen before a prediction unless it is said.
func (s Subject) seen(test []int) int {
	longest := 0
	for _, i := range test {
		e := &s.Recordings.Set.Episodes[i]
		longest = max(longest, e.T)
		if e.Continues {
			return s.Length
		}
	}
	return max(min(s.Length/2, longest/2), 1)
}
