package trained

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// TestForecast_SaysWhatItIsNot: one path without deviations has no quantiles, and a mean far off what was observed is
// said, with its channel and step; a trend that goes on is not.
func TestForecast_SaysWhatItIsNot(t *testing.T) {
	past := Recording{Name: "a", Series: Series{Observations: [][]float64{{1, 5}, {math.NaN(), 6}, {3, 7}}}}
	c := Columns{Observations: []string{"x", "y"}}
	for _, test := range []struct {
		mean [][]float64
		want string
	}{
		{[][]float64{{4, 8}, {9, 20}}, ""},
		{[][]float64{{4, 209}, {4, 8}}, "y after 1 step is off what was observed by 101 times"},
		{[][]float64{{4, 8}, {4, -195}}, "y after 2 steps is off what was observed by 100 times"},
	} {
		f := Forecast{Mean: test.mean, Paths: [][][]float64{test.mean}}
		a := Forecasts([]Recording{past}, []Forecast{f}, c, []float64{0.1, 0.9})
		if got := strings.Join(a.Warnings, ""); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v: %q, want %q", test.mean, got, test.want)
		}
		for _, v := range f.Quantile(0.9)[1] {
			if !math.IsNaN(v) {
				t.Errorf("a single path has the quantile %v", v)
			}
		}
		f.SD = [][][]float64{{{1, 1}, {1, 1}}}
		if v := f.Quantile(0.5)[0][0]; math.Abs(v-test.mean[0][0]) > 1e-6 {
			t.Errorf("the median of a Gaussian is %v, want %v", v, test.mean[0][0])
		}
	}
}

// varied is a model.Varied of one channel whose rollouts show their numbers, and of how many they are.
type varied struct{}

func (varied) Params() *autodiff.Params        { return autodiff.NewParams() }
func (varied) NewForecaster() model.Forecaster { return varied{} }
func (varied) Dims() model.Dims                { return model.Dims{NX: 1} }
func (varied) Clone() model.Forecaster         { return varied{} }
func (varied) Varies()                         {}
func (varied) Forecast(f *model.Forecast, q model.Query) {
	f.Resize(q.Horizon, q.Prefix.B, q.Samples, 1, 0)
	for i := range f.Paths {
		f.Paths[i] = float32(q.First+i/(q.Horizon*q.Prefix.B)) / float32(max(q.Of, q.Samples))
	}
	clear(f.Mean)
	clear(f.Draw)
}

// TestForecast_PortionsOfRollouts: rollouts that are computed in portions are those of one forecast: a sampler has
// other parameters in each portion, also where gaps are filled in.
func TestForecast_PortionsOfRollouts(t *testing.T) {
	const paths = 600
	r := &Run{model: varied{}}
	for _, rows := range [][][]float64{{{1}, {2}, {3}}, {{1}, {math.NaN()}, {3}}} {
		f, err := r.Forecast(Series{Observations: rows}, Query{Horizon: 1, Samples: paths})
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, path := range f.Paths {
			got = append(got, math.Round(path[0][0]*paths))
		}
		want := make([]float64, paths)
		for i := range want {
			want[i] = float64(i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: rollouts %v of %d", rows, slices.Compact(got), paths)
		}
	}
}
