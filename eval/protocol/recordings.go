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
		Name: "recordings", Doc: "squared error of predictions of recordings that training never saw, beside persistence and linear least squares",
		Prefixed: true, fits: func(_ string, env envs.Env) bool { return env == nil },
		run: func(s Subject) (Findings, error) {
			if s.Recordings == nil {
				return Findings{}, errNoRecordings
			}
			r, err := eval.Recorded(s.Forecaster, s.recorded())
			if err != nil {
				return Findings{}, err
			}
			return Findings{Table: r.Table(), Curves: r.CurveTable(), Report: r.Report(), Draw: figure.Recorded(r).Write}, nil
		},
	}
}

// recorded asks for what was held out. Unless told, half a training window is seen before a prediction.
func (s Subject) recorded() eval.RecordedOptions {
	set := s.Recordings.Set
	o := eval.RecordedOptions{
		Seed: s.Seed, Prefix: s.Prefix, Horizon: s.Horizon, Samples: s.Samples, Threads: s.Threads,
		Training: recordings(set, s.Recordings.Split.Training), Test: recordings(set, s.Recordings.Split.Test),
		Deviations: s.Recordings.Scale.Observations.SD,
	}
	if o.Prefix == 0 {
		o.Prefix = max(s.Length/2, 1)
	}
	if len(o.Deviations) == 0 { // they were not scaled
		o.Deviations = nil
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
		list = append(list, eval.Recording{T: e.T, Observations: e.Observations, Controls: e.Controls, Seen: e.Mask})
	}
	return list
}
