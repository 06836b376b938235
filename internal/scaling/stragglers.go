package scaling

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Stragglers is the distribution of the factor X by which a lease takes longer. Its median is 1 for lognormal; a
// Pareto factor is at least 1.
type Stragglers struct {
	Kind  string  // "none": X = 1; "lognormal": ln X is normal; "pareto": P(X > x) = x^−α
	Param float64 // standard deviation of ln X, or α
}

// ParseStragglers reads "none", "lognormal:0.2" or "pareto:3". A Pareto α of at most 1 is refused, because X has
// no mean then.
func ParseStragglers(text string) (Stragglers, error) {
	kind, number, _ := strings.Cut(text, ":")
	if kind == "none" && number == "" {
		return Stragglers{Kind: kind}, nil
	}
	x, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil, kind != "lognormal" && kind != "pareto", math.IsInf(x, 0), !(x > 0), kind == "pareto" && x <= 1:
		return Stragglers{}, fmt.Errorf("scaling: stragglers %q: none, lognormal:SIGMA with SIGMA above 0, or "+
			"pareto:ALPHA with ALPHA above 1", text)
	}
	return Stragglers{kind, x}, nil
}

// quantile is the x with P(X ≤ x) = u, for u in [0, 1):
//
//	lognormal   exp(σ·√2·erf⁻¹(2u − 1))
//	pareto      (1 − u)^(−1/α)
func (s Stragglers) quantile(u float64) float64 {
	switch s.Kind {
	case "lognormal":
		return math.Exp(s.Param * math.Sqrt2 * math.Erfinv(2*u-1))
	case "pareto":
		return math.Pow(1-u, -1/s.Param)
	}
	return 1
}
