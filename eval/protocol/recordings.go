package protocol

import (
	"errors"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
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
		Name: "recordings", Doc: "predictions of recordings that training never saw, with their intervals, beside persistence, the last season and autoregressions",
		Usual: []string{"files"}, Prefixed: true, fits: func(_ string, env envs.Env) bool { return env == nil },
		run: func(s Subject) (Findings, error) {
			r, err := s.Backtest()
			if err != nil {
				return Findings{}, err
			}
			return Findings{Scores: r.ScoreTable(), Table: r.Table(), Curves: r.CurveTable(), Report: r.Report(), Draw: figure.Recorded(r).Write}, nil
		},
	}
}

// Backtest predicts held-out recordings from starts all along them.
func (s Subject) Backtest() (eval.RecordedReport, error) {
	if s.Recordings == nil {
		return eval.RecordedReport{}, errNoRecordings
	}
	return eval.Recorded(s.Forecaster, s.recorded())
}

// recorded asks for what was held out: the test part, or the validation part if there is none. Unless told, half a training
// window is seen before a prediction, or less where the recordings are short.
func (s Subject) recorded() eval.RecordedOptions {
	set, split := s.Recordings.Set, s.Recordings.Split
	test := split.Test
	if len(test) == 0 {
		test = split.Validation
	}
	o := eval.RecordedOptions{
		Seed: s.Seed, Prefix: s.Prefix, Horizon: s.Horizon, Samples: s.Samples, Threads: s.Threads, Stride: s.Stride, Season: s.Season,
		Training: recordings(set, split.Training), Test: recordings(set, test), DT: set.Spec.DT,
		Means: s.Recordings.Scale.Observations.Mean, Deviations: s.Recordings.Scale.Observations.SD,
	}
	if o.Prefix == 0 {
		longest := 0
		for _, e := range o.Test {
			longest = max(longest, e.T)
		}
		o.Prefix = max(min(s.Length/2, longest/2), 1)
	}
	if len(o.Deviations) == 0 { // they were not scaled
		o.Means, o.Deviations = nil, nil
	}
	if !set.Images() {
		for c := range set.Spec.Observation {
			o.Names = append(o.Names, set.ObservationName(c))
		}
	}
	return o
}

func recordings(set *files.Dataset, episodes []int) []eval.Recording {
	var list []eval.Recording
	for _, i := range episodes {
		e := &set.Episodes[i]
		list = append(list, eval.Recording{Name: e.Source, T: e.T, Observations: e.Observations, Controls: e.Controls, Seen: e.Mask})
	}
	return list
}
