package trained

import (
	"errors"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// seasonalGrowth is a run on logarithmic changes over two steps, scaled by 0.5 around 0.1, beside a channel as it is.
func seasonalGrowth() *Run {
	return &Run{scale: files.Normalisation{Observations: files.Scale{
		Mean: []float64{0.1, 5}, SD: []float64{0.5, 2}, Transforms: []files.Transform{{Log: true, Lag: 2}, {}},
	}}}
}

// A forecast of logarithmic changes over two steps, by hand: log x_t = log x_{t−2} + 0.1 + 0.5·m_t, with the model's values
// m = 1, −1, 0.2 after 10 and 20.
func TestForecast_UndoesTransforms(t *testing.T) {
	r := seasonalGrowth()
	path := r.scaled([]float32{1, 0, -1, 1, 0.2, -1}, 2)
	f := Forecast{Mean: path, Draw: path, Paths: [][][]float64{path}, SD: [][][]float64{{{0, 2}, {0, 2}, {0, 2}}}}
	f.undo(r, func(int) [][]float64 { return [][]float64{{10, 1}, {20, 2}} }, 1)
	for h, want := range [][]float64{{10 * math.Exp(0.6), 5}, {20 * math.Exp(-0.4), 7}, {10 * math.Exp(0.6) * math.Exp(0.2), 3}} {
		for c := range want {
			if got := f.Mean[h][c]; math.Abs(got-want[c]) > 1e-5 {
				t.Errorf("step %d, channel %d: %v, by hand %v", h+1, c, got, want[c])
			}
			if m := f.At(h, c); math.Abs(m.Means[0]-want[c]) > 1e-5 || m.Deviations[0] != 2*float64(c) || len(m.Means) != draws {
				t.Errorf("step %d, channel %d: paths %+v", h+1, c, m)
			}
		}
	}
}

// A single path without noise has no quantiles, transformed or not: its copies are all the same.
func TestForecast_OnePathIsNoDistribution(t *testing.T) {
	r := seasonalGrowth()
	path := r.scaled([]float32{1, 0, -1, 1, 0.2, -1}, 2)
	f := Forecast{Mean: path, Draw: path, Paths: [][][]float64{path}}
	f.undo(r, func(int) [][]float64 { return [][]float64{{10, 1}, {20, 2}} }, 1)
	for h, row := range f.Quantile(0.05) {
		for c, v := range row {
			if !math.IsNaN(v) || math.IsNaN(f.Mean[h][c]) {
				t.Errorf("step %d, channel %d: quantile %v beside the mean %v", h+1, c, v, f.Mean[h][c])
			}
		}
	}
}

// The noise of an observed change is in all levels after it: the variance of the logarithm after two changes of one
// channel is twice that of one.
func TestForecast_NoiseAddsUp(t *testing.T) {
	r := seasonalGrowth()
	r.scale.Observations.Transforms[0].Lag = 1
	var f Forecast
	for range 500 {
		f.Paths = append(f.Paths, [][]float64{{0, 5}, {0, 5}})
		f.SD = append(f.SD, [][]float64{{0.3, 1}, {0.3, 1}})
	}
	f.Mean, f.Draw = f.Paths[0], f.Paths[0]
	f.undo(r, func(int) [][]float64 { return [][]float64{{1, 1}} }, 7)
	for h, want := range []float64{0.09, 0.18} {
		sum := 0.0
		for _, p := range f.Paths {
			sum += math.Pow(math.Log(p[h][0]), 2) / float64(len(f.Paths))
		}
		if math.Abs(sum-want) > 0.1*want {
			t.Errorf("step %d: the variance of the logarithm is %v, want %v", h+1, sum, want)
		}
	}
}

// What the model is given is what training made of the data.
func TestSeries_Transformed(t *testing.T) {
	r := seasonalGrowth()
	rows, err := r.transformed([][]float64{{1, 4}, {2, 5}, {math.E, 6}, {2 * math.E, 7}})
	if err != nil || !math.IsNaN(rows[0][0]) || !math.IsNaN(rows[1][0]) || math.Abs(rows[2][0]-1) > 1e-12 || math.Abs(rows[3][0]-1) > 1e-12 || rows[3][1] != 7 {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := r.transformed([][]float64{{0, 4}}); err == nil {
		t.Error("the logarithm of 0 was taken")
	}
}

// Pieces of a recording that was divided by time are one again.
func TestJoin(t *testing.T) {
	piece := func(name string, continues bool, y ...float64) Recording {
		r := Recording{Name: name, continues: continues}
		for _, v := range y {
			r.Observations, r.Controls = append(r.Observations, []float64{v}), append(r.Controls, []float64{v})
		}
		return r
	}
	list := Join([]Recording{piece("a, steps 0 to 1", false, 1, 2), piece("a, steps 2 to 3", true, 3, 4), piece("b", false, 5)})
	led := piece("a, steps 2 to 3", true, 3, 4)
	led.before = []float64{9}
	if known := Join([]Recording{piece("a, steps 0 to 1", false, 1, 2), led}); known[0].Controls[2][0] != 9 || led.Controls[0][0] != 3 {
		t.Errorf("the control between two pieces is %v, want 9", known[0].Controls[2])
	}
	if len(list) != 2 || list[0].Name != "a" || len(list[0].Observations) != 4 || list[0].Controls[2][0] != 2 || list[1].Name != "b" {
		t.Errorf("%+v", list)
	}
}

// A series whose last values are missing goes on from what its differences add up to there, of each path its own.
func TestForecast_GoesOnAfterMissingValues(t *testing.T) {
	r := &Run{scale: files.Normalisation{Observations: files.Scale{
		Mean: []float64{10}, SD: []float64{2}, Transforms: []files.Transform{{Lag: 1}},
	}}}
	nan := math.NaN()
	filled := model.Batch{T: 5, B: 2, NX: 1, Observations: []float32{0, 0, 0, 0, 0, 1, 0, 1, 0, 1}}
	ends := r.ends([][]float64{{100}, {110}, {nan}, {nan}, {nan}}, filled)
	if got := ends(0)[4][0]; got != 140 {
		t.Errorf("path 0 follows %v, want 110 + 3·10", got)
	}
	if got := ends(1)[4][0]; got != 146 {
		t.Errorf("path 1 follows %v, want 110 + 3·12", got)
	}
}

// What is beyond all data is refused, given or forecast.
func TestForecast_AbsurdValues(t *testing.T) {
	r := seasonalGrowth()
	far := Forecast{Mean: [][]float64{{0.1, 5}, {0.1, 3.9e15}}}
	if err := far.check(r); !errors.Is(err, ErrDiverged) {
		t.Errorf("a forecast of 3.9e15: %v", err)
	}
	if err := (&Forecast{Mean: [][]float64{{math.NaN(), 5}}}).check(r); !errors.Is(err, ErrDiverged) {
		t.Errorf("a forecast of NaN: %v", err)
	}
	if err := (&Forecast{Mean: [][]float64{{0.3, 7}}}).check(r); err != nil {
		t.Error(err)
	}
	if err := flatten(make([]float32, 2), [][]float64{{0, 1e38}}, 2, r.scale.Observations, "observations"); !errors.Is(err, ErrSeries) {
		t.Errorf("an observation of 1e38: %v", err)
	}
	for value, refused := range map[float64]bool{1e3: false, 1e8: false, 1e12: true, 1e38: true, 1e300: true, 1e-8: false, 1e-12: true} {
		rows := [][]float64{{math.Log(value), 5}}
		if err := flatten(make([]float32, 2), rows, 2, r.scale.Observations, "observations"); errors.Is(err, ErrSeries) != refused {
			t.Errorf("the logarithm of an observation of %v: %v", value, err)
		}
	}
}

// TestStep_AnErrorChangesNoState: the state before one whose observation is wrong can be stepped again with the same one.
func TestStep_AnErrorChangesNoState(t *testing.T) {
	o := &Online{run: seasonalGrowth(), dims: model.Dims{NX: 2}}
	first, second := &State{}, &State{}
	next := []Observation{{Values: []float64{10, 1}}, {Values: []float64{10}}}
	if err := o.Step([]*State{first, second}, next); !errors.Is(err, ErrSeries) || first.past != nil {
		t.Errorf("error %v, the first state keeps %v", err, first.past)
	}
}
