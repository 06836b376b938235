package sweep

import (
	"math"
	"strconv"
)

// The coordinate in [0,1) of a value of a parameter, and back: with it a method searches every distribution alike.

// digits is the precision of drawn numbers. It makes values readable, and equal on machines whose logarithms differ in
// the last bit.
const digits = 6

// At returns the value at a coordinate in [0,1), as the text that a configuration gets; coordinates outside are
// moved to the nearest end. A greater coordinate has no smaller value, or none that stands before in a choice.
func (p *Parameter) At(u float64) string {
	u = min(max(u, 0), math.Nextafter(1, 0))
	switch p.Distribution {
	case Categorical:
		return p.Values[p.category(u)]
	case IntUniform:
		return formatInt(p.Min + math.Floor(u*(p.Max-p.Min+1)))
	case IntLog:
		// Half a unit beyond both ends, so that these get their share of the range, too.
		lo, hi := math.Log(p.Min-0.5), math.Log(p.Max+0.5)
		return formatInt(min(max(math.Round(math.Exp(lo+u*(hi-lo))), p.Min), p.Max))
	case QUniform:
		low, _ := p.multiples()
		return p.multiple(low + math.Floor(u*float64(p.Cells())))
	case Uniform:
		return p.round(p.Min + u*(p.Max-p.Min))
	case LogUniform, InvUniform:
		return p.round(p.logAt(u))
	case QLogUniform:
		low, high := p.multiples()
		return p.multiple(min(max(math.Round(p.logAt(u)/p.Q), low), high))
	}
	// A normal law has no ends: the coordinate is kept off 0 and 1, at six standard deviations.
	x := p.Mu + p.Sigma*quantile(min(max(u, 1e-9), 1-1e-9))
	if p.Distribution == LogNormal || p.Distribution == QLogNormal {
		x = math.Exp(x)
	}
	if p.stepped() {
		return p.multiple(math.Round(x/p.Q) + 0) // −0 would be another text, and so a configuration twice
	}
	return strconv.FormatFloat(x, 'g', digits, 64)
}

// logAt is min·(max/min)^u.
func (p *Parameter) logAt(u float64) float64 {
	return math.Exp(math.Log(p.Min) + u*(math.Log(p.Max)-math.Log(p.Min)))
}

// category is the index of the value at a coordinate.
func (p *Parameter) category(u float64) int {
	if p.Weights == nil {
		return min(int(u*float64(len(p.Values))), len(p.Values)-1)
	}
	for i, w := range p.Weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(p.Values) - 1
}

// round formats a number with few digits, within the range.
func (p *Parameter) round(x float64) string {
	text := strconv.FormatFloat(x, 'g', digits, 64)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < p.Min {
		v = p.Min
	}
	return strconv.FormatFloat(min(v, p.Max), 'g', -1, 64)
}

// multiple formats k·Q. Rounding to digits hides that 3·0.1 is not 0.3.
func (p *Parameter) multiple(k float64) string {
	v, err := strconv.ParseFloat(strconv.FormatFloat(k*p.Q, 'g', 12, 64), 64)
	if err != nil {
		return formatInt(k * p.Q)
	}
	if !p.normal() {
		v = min(max(v, p.Min), p.Max)
	}
	if v == math.Trunc(v) {
		return formatInt(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func formatInt(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

// Coordinate is a coordinate that has the value; the middle one if there are many. It is 0.5 for what is no value of
// the parameter.
func (p *Parameter) Coordinate(value string) float64 {
	if p.Distribution == Categorical {
		i := p.Index(value)
		if i < 0 {
			return 0.5
		}
		if p.Weights == nil {
			return (float64(i) + 0.5) / float64(len(p.Values))
		}
		u := 0.0
		for _, w := range p.Weights[:i] {
			u += w
		}
		return u + p.Weights[i]/2
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0.5
	}
	u := 0.5
	switch p.Distribution {
	case IntUniform:
		u = (x - p.Min + 0.5) / (p.Max - p.Min + 1)
	case IntLog:
		lo, hi := math.Log(p.Min-0.5), math.Log(p.Max+0.5)
		u = (math.Log(x) - lo) / (hi - lo)
	case QUniform:
		low, _ := p.multiples()
		u = (math.Round(x/p.Q) - low + 0.5) / float64(p.Cells())
	case Uniform:
		u = (x - p.Min) / (p.Max - p.Min)
	case LogUniform, InvUniform, QLogUniform:
		u = (math.Log(x) - math.Log(p.Min)) / (math.Log(p.Max) - math.Log(p.Min))
	case LogNormal, QLogNormal:
		u = cumulative((math.Log(x) - p.Mu) / p.Sigma)
	default:
		u = cumulative((x - p.Mu) / p.Sigma)
	}
	if math.IsNaN(u) {
		return 0.5
	}
	return min(max(u, 0), 1)
}

// cumulative is the distribution function of the standard normal law, and quantile its inverse.
func cumulative(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

func quantile(u float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*u) }
