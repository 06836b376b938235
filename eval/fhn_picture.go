package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// FHNPicture is the data of the figure that goes with an FHNReport.
type FHNPicture struct {
	Fan      FHNFan
	Portrait FHNPortrait
}

// FHNFan is the predictive distribution of one trajectory against what happened. Values are in the units of the
// oscillator, times in those of DT.
type FHNFan struct {
	Episode int          // index of the trajectory
	Start   int          // last step that the model saw
	Levels  []float64    // of the quantiles, ascending
	First   int          // step of Truth[0]
	Truth   [][2]float64 // (v, w) at steps First, First+1, …
	// Quantiles[q][k] is (v, w) at step Start+1+k and level Levels[q].
	Quantiles [][][2]float64
	DT        float64 // time between two steps
}

// FHNPortrait is the state space as the model divides it. It has no points where the family of the model has no
// filter.
type FHNPortrait struct {
	Points  [][2]float64 // observed (v, w)
	Weights [][]float64  // mixing weights that the model infers on the step into each point
	System  *fhn.Env     // the true system
}

const (
	// The sizes of the picture, in rollouts, steps and trajectories.
	fanRollouts    = 200 // enough for 5 % quantiles to look smooth
	fanBefore      = 60  // steps shown before the start
	portraitTrials = 100
	portraitEvery  = 10 // steps between two points of a trajectory
)

// FHNFigure computes the data of the figure for the trajectories of the protocol FHN.
//
// The fan is drawn for the trajectory whose v travels farthest after the start, so that there is
// something to predict. Its rollouts differ in the stimulus too: u is hidden in the prefix and
// drawn from N(0, 1) after it, for the fan is to show all that is unknown. Errors are those of FHN. It computes
// forecasts of its own: the report of FHN holds no quantiles.
func FHNFigure(f model.Forecaster, o FHNOptions) (FHNPicture, error) {
	if err := o.validate(f.Dims()); err != nil {
		return FHNPicture{}, err
	}
	env, err := fhn.New(o.Constants)
	if err != nil {
		return FHNPicture{}, fmt.Errorf("build the oscillator: %w", err)
	}
	first := uint32(0)
	if o.Fresh {
		first = firstFresh
	}
	d := o.trajectories(env, first)
	fan := o.fan(f, d)
	fan.Episode += int(first)
	fan.DT = o.Constants.DT
	return FHNPicture{Fan: fan, Portrait: o.portrait(f, d, env)}, nil
}

// fan rolls out the trajectory that travels farthest from its last step that training saw, and sorts the rollouts
// at every step and in each dimension: the quantiles are marginal ones.
func (o FHNOptions) fan(f model.Forecaster, d trials) FHNFan {
	n, start := farthest(d, o.Length), o.Length-1
	fan := FHNFan{
		Episode: n, Start: start, Levels: []float64{.05, .25, .5, .75, .95},
		First: max(0, start-fanBefore),
	}
	for t := fan.First; t < d.T; t++ {
		x := d.at(n, t)
		fan.Truth = append(fan.Truth, [2]float64{float64(x[0]), float64(x[1])})
	}
	draws := o.fanForecast(f, d, n)
	fan.Quantiles = make([][][2]float64, len(fan.Levels))
	sorted := make([]float32, fanRollouts)
	for q := range fan.Quantiles {
		fan.Quantiles[q] = make([][2]float64, o.Horizon)
	}
	for k := range o.Horizon {
		for i := range 2 {
			for b := range sorted {
				sorted[b] = draws[(b*o.Horizon+k)*2+i]
			}
			slices.Sort(sorted)
			for q, level := range fan.Levels {
				// The nearest of the sorted rollouts: no interpolation between them.
				at := int(math.Round(level * (fanRollouts - 1)))
				fan.Quantiles[q][k][i] = float64(sorted[at])
			}
		}
	}
	return fan
}

// fanForecast rolls trial n out as often as the fan has rollouts, each with a stimulus of its own, and returns the
// observations, with their noise, [fanRollouts,Horizon,2]. They are rollouts of one sequence: a family that samples its
// parameters has others in each.
func (o FHNOptions) fanForecast(f model.Forecaster, d trials, n int) []float32 {
	nu, start := f.Dims().NU, o.Length-1
	begin := 0
	if o.Window > 0 {
		begin = max(0, start+1-o.Window)
	}
	q := model.Query{
		Prefix: d.batch(n, 1, begin, start+1, nu, false), Controls: make([]float32, fanRollouts*o.Horizon*nu),
		Horizon: o.Horizon, Samples: fanRollouts, Noise: rng.New(o.Seed, rng.Evaluation).At(uint64(start), 0, 1),
	}
	stimulus := rng.New(o.Seed, rng.Evaluation).At(uint64(start), 0, 2)
	stimulus.Normals(q.Controls)
	var answer model.Forecast
	f.Clone().Forecast(&answer, q)
	draws := make([]float32, len(answer.Paths))
	stimulus.Normals(draws)
	for i, sd := range answer.SD {
		draws[i] = answer.Paths[i] + float32(draws[i]*sd)
	}
	return draws
}

// farthest returns the trial whose first observed dimension has the widest range from step on. Range is the
// largest less the smallest value over steps [from, T). Of equal ones it is the first.
func farthest(d trials, from int) int {
	best, width := 0, float32(-1)
	for n := range d.N {
		lo, hi := d.at(n, from)[0], d.at(n, from)[0]
		for t := from; t < d.T; t++ {
			lo, hi = min(lo, d.at(n, t)[0]), max(hi, d.at(n, t)[0])
		}
		if hi-lo > width {
			best, width = n, hi-lo
		}
	}
	return best
}

// portrait filters the training part of up to portraitTrials trajectories, with the stimulus hidden, and keeps
// every portraitEvery-th step of each, beginning at another step in each. Weights are those of one path of draws.
func (o FHNOptions) portrait(f model.Forecaster, d trials, env *fhn.Env) FHNPortrait {
	p := FHNPortrait{System: env}
	if _, ok := f.(model.Filterer); !ok {
		return p
	}
	work := chunks(min(d.N, portraitTrials), o.Length-1, o.Length-1)
	filtered := make([]model.Filtering, len(work))
	forEach(f, o.Threads, len(work), func(f model.Forecaster, i int) {
		c := work[i]
		prefix := d.batch(c.first, c.n, 0, o.Length, f.Dims().NU, false)
		f.(model.Filterer).Filter(&filtered[i], prefix, rng.New(o.Seed, rng.Evaluation).At(uint64(c.start), uint32(c.index),
			3))
	})
	m := f.Dims().M
	for i, c := range work {
		for n := range c.n {
			for t := 1 + (c.first+n)%portraitEvery; t < o.Length; t += portraitEvery {
				x, row := d.at(c.first+n, t), (t*c.n+n)*m
				p.Points = append(p.Points, [2]float64{float64(x[0]), float64(x[1])})
				p.Weights = append(p.Weights, widen(filtered[i].Switches[row:row+m]))
			}
		}
	}
	return p
}

// Table returns every number of the fan: one row per step, truth and, after the start, quantiles. Times are steps
// times DT.
func (f FHNFan) Table() Table {
	t := Table{Corner: "step", Columns: []string{"time", "v", "w"}, Decimals: 4}
	for _, level := range f.Levels {
		percent := fmt.Sprintf("q%02.0f", 100*level)
		t.Columns = append(t.Columns, "v_"+percent, "w_"+percent)
	}
	for i, x := range f.Truth {
		s := f.First + i
		row := Row{Name: strconv.Itoa(s), Values: []float64{float64(s) * f.DT, x[0], x[1]}}
		for q := range f.Levels {
			v := [2]float64{math.NaN(), math.NaN()}
			if s > f.Start {
				v = f.Quantiles[q][s-f.Start-1]
			}
			row.Values = append(row.Values, v[0], v[1])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Table returns every number of the portrait: one row per point, its state and mixing weights.
func (p FHNPortrait) Table() Table {
	t := Table{Corner: "point", Columns: []string{"v", "w"}, Decimals: 4}
	for i, x := range p.Points {
		if i == 0 {
			for m := range p.Weights[0] {
				t.Columns = append(t.Columns, "weight_"+strconv.Itoa(m+1))
			}
		}
		t.Rows = append(t.Rows, Row{Name: strconv.Itoa(i + 1), Values: append([]float64{x[0], x[1]}, p.Weights[i]...)})
	}
	return t
}

// FHNDrawing is what the figure of the oscillator shows: the R² curves beside the fan and the portrait.
type FHNDrawing struct {
	Report  FHNReport
	Picture FHNPicture
}
