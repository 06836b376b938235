package terminal

import (
	"math"
	"strconv"
	"strings"
)

// Digits is Number with three significant digits: 0.0123, 1.18, 1,180.
func Digits(v float64) string { return Number(v, 3) }

// Number writes a number with so many significant digits, or with all before the point if there are more, these in
// groups; without zeros behind the last digit, and without an exponent where it is between a millionth and a
// billion. NaN and infinities are NaN, +Inf and -Inf.
func Number(v float64, digits int) string {
	a := math.Abs(v)
	if a != 0 && (a < 1e-6 || a >= 1e9) || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	// The position of the first digit says how many decimals follow.
	decimals := 0
	if a > 0 {
		decimals = max(0, digits-1-int(math.Floor(math.Log10(a))))
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	whole, fraction, pointed := strings.Cut(text, ".")
	if pointed {
		fraction = strings.TrimRight(fraction, "0")
	}
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = Group(n)
	}
	if fraction == "" {
		return sign + whole
	}
	return sign + whole + "." + fraction
}
