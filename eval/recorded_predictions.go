package eval

import (
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// prediction is what a predictor says of a step and channel: its mean, and the distribution around it. of makes
// the distribution when it is asked for, as that is not always the case.
type prediction struct {
	mean float64
	of   func() Mixture
}

// modelPredictions are those of sequence n of a forecast. They read the forecast, which must stay as it is as long
// as they are used. k counts from 0.
func modelPredictions(a *model.Forecast, n, nx int) func(k, c int) prediction {
	return func(k, c int) prediction {
		at := (k*a.B+n)*nx + c
		return prediction{float64(a.Mean[at]), func() Mixture {
			m := Mixture{make([]float64, a.Samples), make([]float64, a.Samples)}
			for s := range a.Samples {
				path := (s*a.Horizon*a.B+k*a.B+n)*nx + c
				m.Means[s], m.Deviations[s] = float64(a.Paths[path]), float64(a.SD[path])
			}
			return m
		}}
	}
}

// noiseDraws is how many times the noise of the observations is drawn for each path, where predictions are scored in
// other units than those of the model.
const noiseDraws = 8

// predictions are those of sequence n of a forecast, which begins at a start, in the units in which they are
// scored. Transforms are undone path by path: the mean is that of the undone paths, and the distribution is that
// of noiseDraws noisy ones for each path, as points. All of it is computed at once, Samples·(1 + noiseDraws) paths
// a channel.
func (o RecordedOptions) predictions(a *model.Forecast, n int, s recordedStart) func(k, c int) prediction {
	of := modelPredictions(a, n, a.NX)
	if o.Untransformed == nil {
		return of
	}
	noise := rng.New(o.Seed, rng.Evaluation).At(uint64(s.at), uint32(s.recording), noiseOfUndoing)
	means := make([]float64, a.Horizon*a.NX)
	values := make([][]float64, a.Horizon*a.NX) // of all draws
	for c := range a.NX {
		inner := make([]Mixture, a.Horizon)
		for k := range inner {
			inner[k] = of(k, c).of()
		}
		path := make([]float64, a.Horizon)
		for i := range a.Samples {
			for k := range path {
				path[k] = inner[k].Means[i]
			}
			for k, v := range o.Untransformed.Back(s.recording, s.at, c, path) {
				means[k*a.NX+c] += v / float64(a.Samples)
			}
			for range noiseDraws {
				for k := range path {
					path[k] = inner[k].Means[i] + float64(inner[k].Deviations[i]*noise.Normal())
				}
				for k, v := range o.Untransformed.Back(s.recording, s.at, c, path) {
					values[k*a.NX+c] = append(values[k*a.NX+c], v)
				}
			}
		}
	}
	return func(k, c int) prediction {
		at := k*a.NX + c
		return prediction{means[at], func() Mixture { return Mixture{values[at], make([]float64, len(values[at]))} }}
	}
}
