package readable

import (
	"math"
	"strconv"
)

// Digits writes a number with three significant digits, or with all before the point if there are more, and never with an
// exponent where it is between a millionth and a billion: 0.0123, 1.18, 1180.
func Digits(v float64) string {
	a := math.Abs(v)
	if a != 0 && (a < 1e-6 || a >= 1e9) || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	decimals := 0
	if a > 0 {
		decimals = max(0, 2-int(math.Floor(math.Log10(a))))
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	short := strconv.FormatFloat(v, 'g', 3, 64)
	if decimals > 0 && len(short) < len(text) && a >= 1e-4 { // no zeros behind the last digit
		return short
	}
	return text
}
