package trained

import (
	"math"
	"strings"
	"testing"
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
