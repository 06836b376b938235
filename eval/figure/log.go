package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// decades marks an axis of decimal logarithms with 1, 2 and 5 times the powers of ten; where these are many, with
// powers alone, and where they are fewer than two, with round numbers. The axis runs over log₁₀ of the values;
// labels are the values.
type decades struct{}

var _ plot.Ticker = decades{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	steps := []float64{1, 2, 5}
	if hi-lo > 3 {
		steps = steps[:1]
	}
	long := lo < -5-1e-9 || hi > 5+1e-9 // all labels of an axis are of one kind
	var marks []plot.Tick
	for e := math.Floor(lo); e <= hi; e++ {
		for _, m := range steps {
			v := e + math.Log10(m)
			if v >= lo-1e-9 && v <= hi+1e-9 {
				marks = append(marks, plot.Tick{Value: v, Label: decade(m, int(e), long)})
			}
		}
	}
	if len(marks) > 1 {
		return marks
	}
	// Fewer than two marks fit: round numbers, placed by their logarithms.
	marks = ticks(5).Ticks(math.Pow(10, lo), math.Pow(10, hi))
	for i := range marks {
		marks[i].Value = math.Log10(marks[i].Value)
	}
	return marks
}

// decade writes m times a power of ten, in full or not. It is 0.002, or 2e−3 where the axis leaves 10⁻⁵ to 10⁵.
func decade(m float64, exponent int, long bool) string {
	if long {
		return strconv.FormatFloat(m, 'f', 0, 64) + power(exponent)
	}
	return strconv.FormatFloat(m*math.Pow(10, float64(exponent)), 'f', max(0, -exponent), 64)
}

// logarithms maps y to its decimal logarithm; what has none is left out of a curve.
func logarithms(data []point) []point {
	mapped := make([]point, len(data))
	for i, p := range data {
		mapped[i] = point{p.x, math.Log10(p.y)}
	}
	return mapped
}

// logRange is the range of an axis of logarithms that holds all values, no lower than floor. The result is in
// logarithms, with a margin; −1 to 1 if no value has a logarithm.
func logRange(floor float64, curves ...[]point) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		for _, p := range c {
			if v := math.Log10(max(p.y, floor)); p.y > 0 && !math.IsInf(p.y, 0) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo > hi {
		return -1, 1
	}
	margin := 0.05*(hi-lo) + 0.02
	return lo - margin, hi + margin
}
