package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks marks multiples of 1, 2 or 5 times a power of ten, about as many as its value, and at least two.
type ticks int

var _ plot.Ticker = ticks(0)

// Ticks implements plot.Ticker.
func (n ticks) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return nil
	}
	var places []float64
	step := niceStep((hi - lo) / float64(max(n, 1)))
	for range 4 { // a single mark says nothing of the scale
		if places = multiples(step, lo, hi); len(places) > 1 {
			break
		}
		step = niceStep(step / 2.6)
	}
	label := labels(step, max(math.Abs(lo), math.Abs(hi)))
	marks := make([]plot.Tick, len(places))
	for i, v := range places {
		marks[i] = plot.Tick{Value: v, Label: label(v)}
	}
	return marks
}

// multiples are those of step from lo to hi, within rounding; none where float64 has no digits for them.
func multiples(step, lo, hi float64) []float64 {
	first, last := math.Ceil(lo/step-1e-9), math.Floor(hi/step+1e-9)
	// Beyond, adding one changes nothing; a step of zero gives no number.
	if !(math.Max(math.Abs(first), math.Abs(last)) < 1<<53) {
		return nil
	}
	var list []float64
	for i := int64(first); i <= int64(last); i++ {
		list = append(list, float64(i)*step)
	}
	return list
}

// labels writes numbers that are multiples of step and reach to largest: as they are, or, where that would be long, as
// multiples of one power of ten. An axis has labels of one kind.
func labels(step, largest float64) func(v float64) string {
	if largest < 1e5 && (step >= 1e-4 || largest >= 0.01) {
		return func(v float64) string { return tickLabel(v, step) }
	}
	exponent := int(math.Floor(math.Log10(largest) + 1e-9))
	unit := math.Pow(10, float64(exponent))
	return func(v float64) string {
		if math.Abs(v) < step/2 {
			return "0"
		}
		return tickLabel(v/unit, step/unit) + power(exponent)
	}
}

// niceStep returns the number of the form {1, 2, 5}·10^e that is nearest above raw, within rounding.
func niceStep(raw float64) float64 {
	magnitude := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*magnitude*(1+1e-9) {
			return m * magnitude
		}
	}
	return 10 * magnitude
}

// tickLabel prints v with as many decimals as step has, and with a true minus sign. Zero has no sign.
func tickLabel(v, step float64) string {
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if v < -step/2 {
		return "−" + strings.TrimSpace(s)
	}
	return s
}

// power writes what follows a number in multiples of a power of ten. The font lacks superscripts.
func power(exponent int) string { return "e" + strings.Replace(strconv.Itoa(exponent), "-", "−", 1) }
