package eval

import (
	"errors"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// Recordings are the data of a run on recordings, in the units of its model, and what they were scaled by. They
// are read only and may be shared.
type Recordings struct {
	Set   *files.Dataset
	Split files.Split
	Scale files.Normalisation
}

// errNoRecordings is returned where the data of a run on recordings are not at hand.
var errNoRecordings = errors.New("the recordings are missing")

// recordingsProtocol is the usual one of recordings: it predicts the test part, or the part that is asked for.
func recordingsProtocol() Protocol {
	p := ofRecordings("")
	p.Name, p.Usual = "recordings", []string{"files"}
	p.Doc = "predictions of held-out recordings and their intervals, compared with persistence, the last season and " +
		"autoregressions"
	return p
}

// validationProtocol is the same of the part that training was validated on: models are chosen by it, so that the test
// part is a test of the choice.
func validationProtocol() Protocol {
	p := ofRecordings(PartValidation)
	p.Name, p.Doc = "validation", "the same of the part that training was validated on, to choose models by"
	return p
}

// ofRecordings is a protocol without a name. part says which part is predicted, empty: what the question asks for.
func ofRecordings(part string) Protocol {
	// A Subject is a value: setting its part leaves that of the caller alone.
	asked := func(s Subject) Subject {
		if part != "" {
			s.Part = part
		}
		return s
	}
	return Protocol{
		Prefixed: true, fits: func(_ string, env envs.Env) bool { return env == nil },
		metrics: func(s Subject) ([]Metric, error) {
			if s.Recordings == nil {
				return nil, errNoRecordings
			}
			return s.asked(func(f model.Forecaster) ([]Metric, error) { return asked(s).recorded().Metrics(f.Dims()) })
		},
		run: func(s Subject) (Findings, error) {
			r, err := asked(s).Backtest()
			if err != nil {
				return Findings{}, err
			}
			f := findings(r, nil)
			f.Scores, f.Each = r.ScoreTable(), r.EachTable(true)
			if part == "" {
				f.Picture = r
			} else {
				f.Report.Protocol = part
			}
			return f, nil
		},
	}
}

// Backtest predicts held-out recordings from starts all along them. Regimes of its fan are numbered as everywhere,
// see Numbering. It returns ErrOptions where the recordings are too short, or what Fits refuses.
func (s Subject) Backtest() (RecordedReport, error) {
	if s.Recordings == nil {
		return RecordedReport{}, errNoRecordings
	}
	r, err := Recorded(s.Forecaster, s.recorded())
	if err == nil && r.Fan != nil && r.Fan.Regimes != nil {
		bodies := Renumbered(append([][]int{r.Fan.Regimes}, r.Fan.Others...), s.Numbering())
		r.Fan.Regimes, r.Fan.Others = bodies[0], bodies[1:]
	}
	return r, err
}

// Seen is how many steps of recordings are seen before a prediction. It is the prefix that Backtest uses.
func (s Subject) Seen() (int, error) {
	if s.Recordings == nil {
		return 0, errNoRecordings
	}
	return s.recorded().Prefix, nil
}

// Starts are where Backtest begins to predict, without predicting: of each start the test recording, and how many steps
// there are from the first predicted one to its end. Starts of two models are the same if these are.
func (s Subject) Starts() ([][2]int, error) {
	if s.Recordings == nil {
		return nil, errNoRecordings
	}
	o := s.recorded()
	horizon, _ := o.horizon()
	var list [][2]int
	for _, at := range o.starts(horizon) {
		list = append(list, [2]int{at.recording, o.Test[at.recording].T - at.at})
	}
	return list, nil
}

// heldOut are the episodes of what was held out: the test part, or the validation part if there is none or it is asked
// for.
func (s Subject) heldOut() []int {
	split := s.Recordings.Split
	if len(split.Test) == 0 || s.Part == PartValidation {
		return split.Validation
	}
	return split.Test
}

// recorded asks for what was held out. Unless told, half a training window is seen before a prediction, or less where
// the recordings are short; a whole one, or a season if that is longer, where recordings were divided by time, so that
// it is at hand before the first held-out step (of short recordings, see within). A model that reads more gets more.
// The recordings share the memory of the set where they can.
func (s Subject) recorded() RecordedOptions {
	set, test := s.Recordings.Set, s.heldOut()
	o := RecordedOptions{
		Question: s.Question, Seed: s.Seed, Samples: s.Samples,
		Calendar: set.Season(), DT: set.Spec.DT, TimeUnit: set.TimeUnit,
		Each: s.Recordings.Scale.Recordings != nil, Fits: s.Fits,
	}
	if len(s.Recordings.Split.Test) == 0 {
		o.Part = PartValidation
	}
	if o.Prefix == 0 {
		o.Prefix = s.seen(test)
	}
	if f, ok := s.Forecaster.(model.Lagged); ok {
		o.Prefix = max(o.Prefix, f.Lags())
	}
	for _, t := range set.Transforms { // differences are added to what was seen
		o.Prefix = max(o.Prefix, t.Lag)
	}
	o.Training = s.Recordings.pieces(s.Recordings.Split.Training, 0)
	o.Test = s.Recordings.pieces(test, o.Prefix)
	if set.Transforms != nil {
		o.Untransformed = s.Recordings.levels(o.Training, o.Test)
	}
	o.Names = set.Channels()
	return o
}

// Season is that of the training part, before transforms: 0 if none was found. It is in steps.
func (r *Recordings) Season() int {
	return FindSeason(r.training(), r.Set.Spec.Observation, r.Set.Season())
}

// Order is that of the autoregression of least AIC for the training part, before transforms, where so many
// steps are seen before a prediction: 0 if none can be fitted.
func (r *Recordings) Order(prefix int) int {
	d := model.Dims{NX: r.Set.Spec.Observation, NU: r.Set.Spec.Control}
	linear, err := fitLagged(r.training(), 1, d)
	if err != nil {
		return 0
	}
	return fitAutoregression(r.training(), linear, prefix, d).lags
}

// Changes are the mean changes of each channel over so many steps of the training part, or over one, before transforms:
// the unit of MASE. A change is NaN where no two such values were measured.
func (r *Recordings) Changes(season int) []float64 {
	return naiveScale(r.training(), max(season, 1), r.Set.Spec.Observation)
}

// training are the recordings of the training part, before transforms. They are in the units in which predictions
// are scored.
func (r *Recordings) training() []Recording {
	training := r.pieces(r.Split.Training, 0)
	if r.Set.Transforms == nil {
		return training
	}
	return r.levels(training, nil).Training
}

// seen is how many steps are seen before a prediction unless it is said, as recorded says; one at least.
func (s Subject) seen(test []int) int {
	longest := 0
	for _, i := range test {
		e := &s.Recordings.Set.Episodes[i]
		longest = max(longest, e.T)
		if e.Continues {
			return s.Recordings.within(test, max(s.Length, s.Season, s.Recordings.Season()))
		}
	}
	return max(min(s.Length/2, longest/2), 1)
}

// within is how many of so many steps can be seen before a step of a part of recordings that were divided by time: all
// that come before the part, if no recording has more steps.
func (r *Recordings) within(part []int, steps int) int {
	most := 0
	for _, i := range part {
		before := 0
		for j := i; j > 0 && r.Set.Episodes[j].Continues; j-- {
			before += r.Set.Episodes[j-1].T
		}
		if before+r.Set.Episodes[i].T > steps {
			return steps
		}
		most = max(most, before)
	}
	return max(most, 1)
}
