package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Distribution says how the values of a parameter are distributed. The names are those of W&B.
type Distribution string

// The distributions. Each is a monotone map of a coordinate u in [0,1) to a value.
const (
	Categorical Distribution = "categorical"        // one of Values
	Uniform     Distribution = "uniform"            // min + u·(max − min)
	LogUniform  Distribution = "log_uniform_values" // exp(ln min + u·(ln max − ln min))
	// 1/x is log-uniform between 1/max and 1/min: the same law as LogUniform
	InvUniform  Distribution = "inv_log_uniform_values"
	IntUniform  Distribution = "int_uniform"            // every integer from min to max
	IntLog      Distribution = "int_log_uniform_values" // integers, log-uniform
	QUniform    Distribution = "q_uniform"              // multiples of Q from min to max
	QLogUniform Distribution = "q_log_uniform_values"   // a log-uniform number, rounded to such a multiple
	Normal      Distribution = "normal"                 // mean Mu, standard deviation Sigma
	LogNormal   Distribution = "log_normal"             // exp of a normal number
	QNormal     Distribution = "q_normal"               // a normal number, rounded to a multiple of Q
	QLogNormal  Distribution = "q_log_normal"           // exp of a normal number, rounded to a multiple of Q
)

// Distributions lists all distributions.
func Distributions() []Distribution {
	return []Distribution{
		Categorical, Uniform, LogUniform, InvUniform, IntUniform, IntLog, QUniform, QLogUniform, Normal, LogNormal, QNormal,
		QLogNormal,
	}
}

// Parameter is a key whose value is searched. Which fields it has depends on the distribution; the others are 0.
// The methods see a parameter as a coordinate in [0,1), uniform under its distribution: At and Coordinate
// translate.
type Parameter struct {
	Key          string       `json:"key"`
	Distribution Distribution `json:"distribution" yaml:"distribution" also:"dist type"`
	// Min and Max are the values themselves, never their logarithms.
	Min float64 `json:"min,omitempty" yaml:"min" also:"low lower"`
	Max float64 `json:"max,omitempty" yaml:"max" also:"high upper"`
	// Mu and Sigma of log-normal laws are those of the logarithm.
	Mu    float64 `json:"mu,omitempty" yaml:"mu" also:"mean"`
	Sigma float64 `json:"sigma,omitempty" yaml:"sigma" also:"std"`
	Q     float64 `json:"q,omitempty" yaml:"q" also:"step"` // distance between two values
	// Values are those of a choice, as they are written in a configuration. Weights are their probabilities; nil: equal.
	Values  []string  `json:"values,omitempty" yaml:"values" also:"choices options"`
	Weights []float64 `json:"weights,omitempty" yaml:"probabilities" also:"weights"`
	// When are the conditions under which the parameter exists; each names a parameter before this one, or a fixed key.
	When []Condition `json:"when,omitempty"`
}

// Condition holds if a key has one of the values.
type Condition struct {
	Key    string   `json:"key"`
	Values []string `json:"values" yaml:"values"`
	// Fixed is the value of a key that is not searched; empty: it is searched.
	Fixed string `json:"fixed,omitempty"`
}

// has reports whether a value is one of those of the condition, where a number may be written otherwise.
func (c *Condition) has(value string) bool {
	return slices.ContainsFunc(c.Values, func(v string) bool { return alike(v, value) })
}

// Setting is one key with the text of its value.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Settings are a configuration: the parameters that exist in it, in the order of the spec.
type Settings []Setting

// Get returns the value of a key, and whether there is one.
func (s Settings) Get(key string) (string, bool) {
	for _, o := range s {
		if o.Key == key {
			return o.Value, true
		}
	}
	return "", false
}

// Arguments are the settings in the form key=value.
func (s Settings) Arguments() []string {
	list := make([]string, len(s))
	for i, o := range s {
		list[i] = o.Key + "=" + o.Value
	}
	return list
}

// Exists reports whether the conditions of the parameter hold beside these settings. These have to hold the
// parameters before it already.
func (p *Parameter) Exists(s Settings) bool {
	for _, c := range p.When {
		value, ok := s.Get(c.Key)
		if c.Fixed != "" {
			value, ok = c.Fixed, true
		}
		if !ok || !c.has(value) {
			return false
		}
	}
	return true
}

// String describes the parameter in one line.
func (p *Parameter) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	var b strings.Builder
	switch {
	case p.Distribution == Categorical:
		b.WriteString(strings.Join(p.Values, ", "))
		if p.Weights != nil {
			fmt.Fprintf(&b, " with weights %v", p.Weights)
		}
	case p.normal():
		fmt.Fprintf(&b, "%s, mean %s, sd %s", p.Distribution, number(p.Mu), number(p.Sigma))
	default:
		fmt.Fprintf(&b, "%s to %s, %s", number(p.Min), number(p.Max), p.Distribution)
	}
	if p.Q != 0 {
		fmt.Fprintf(&b, ", multiples of %s", number(p.Q))
	}
	for _, c := range p.When {
		fmt.Fprintf(&b, ", if %s is %s", c.Key, strings.Join(c.Values, " or "))
	}
	return b.String()
}

// normal reports whether the law is a normal one or made of one: it has a mean and no ends.
func (p *Parameter) normal() bool {
	return slices.Contains([]Distribution{Normal, LogNormal, QNormal, QLogNormal}, p.Distribution)
}

// logarithmic reports whether the range is divided by ratios, so that it has to lie above 0.
func (p *Parameter) logarithmic() bool {
	return slices.Contains([]Distribution{LogUniform, InvUniform, IntLog, QLogUniform}, p.Distribution)
}

// Logarithmic reports whether equal ratios of values are equally likely, so that a chart has a logarithmic axis.
func (p *Parameter) Logarithmic() bool {
	return p.logarithmic() || p.Distribution == LogNormal || p.Distribution == QLogNormal
}

// stepped reports whether the values are multiples of Q.
func (p *Parameter) stepped() bool {
	return slices.Contains([]Distribution{QUniform, QLogUniform, QNormal, QLogNormal}, p.Distribution)
}

// Cells is the number of values of a parameter that has equally likely ones; 0 for the others.
func (p *Parameter) Cells() int {
	switch p.Distribution {
	case Categorical:
		return len(p.Values)
	case IntUniform:
		return int(p.Max-p.Min) + 1
	case QUniform:
		low, high := p.multiples()
		return int(high-low) + 1
	}
	return 0
}

// multiples are the smallest and the largest k with k·Q from Min to Max; without any, low is above high.
func (p *Parameter) multiples() (low, high float64) {
	// Rounding alone takes .3/.1 below 3.
	nearest := func(x float64, otherwise func(float64) float64) float64 {
		if n := math.Round(x); math.Abs(x-n) <= 1e-12*math.Abs(n) {
			return n
		}
		return otherwise(x)
	}
	return nearest(p.Min/p.Q, math.Ceil), nearest(p.Max/p.Q, math.Floor)
}

// maxCells is the largest number of values that a grid takes of one parameter.
const maxCells = 1000

// faults is what is wrong with the parameter, whose key is at path in the sweep file. before are the parameters
// that stand above it, which alone it may have conditions on.
func (p *Parameter) faults(path string, method Method, before map[string]*Parameter) []Fault {
	var list []Fault
	check := func(ok bool, at, hint, format string, args ...any) {
		if !ok {
			list = append(list, Fault{path + at, fmt.Sprintf(format, args...), hint})
		}
	}
	switch {
	case !slices.Contains(Distributions(), p.Distribution):
		check(false, ".distribution", "", "%q is no distribution", p.Distribution)
	case p.Distribution == Categorical:
		p.categoricalFaults(check)
	case p.normal():
		check(finite(p.Mu) && finite(p.Sigma) && p.Sigma > 0, ".sigma", "",
			"mean %g and standard deviation %g: want a positive one", p.Mu, p.Sigma)
	default:
		check(finite(p.Min) && finite(p.Max) && p.Min < p.Max, ".min", "min is below max", "%g to %g is no range", p.Min,
			p.Max)
		check(!p.logarithmic() || p.Min > 0, ".min", "use uniform, or a min above 0", "a logarithm of %g does not exist",
			p.Min)
		if p.Distribution == IntUniform || p.Distribution == IntLog {
			whole := p.Min == math.Trunc(p.Min) && p.Max == math.Trunc(p.Max) && math.Abs(p.Min) < 1<<53 &&
				math.Abs(p.Max) < 1<<53
			check(whole, ".min", "use uniform for numbers with a fraction", "%g to %g: both ends of integers are integers",
				p.Min, p.Max)
		}
	}
	check(!p.stepped() || finite(p.Q) && p.Q > 0, ".q", "e.g. q: 0.5", "multiples of %g", p.Q)
	if p.stepped() && !p.normal() && len(list) == 0 {
		low, high := p.multiples()
		check(low <= high, ".q", "a smaller q, or a wider range", "no multiple of %g lies from %g to %g", p.Q, p.Min, p.Max)
		check(high-low < 1<<53, ".q", "a greater q, or a smaller range", "from %g to %g are too many multiples of %g", p.Min,
			p.Max, p.Q)
	}
	// Only a parameter without other faults has cells to count.
	if method == Grid && len(list) == 0 {
		n := p.Cells()
		check(n > 0, "", "list its values, or use random, sobol or tpe", "a grid needs a list of values, and %s has "+
			"infinitely many", p.Distribution)
		check(n <= maxCells, "", "list the values that matter", "%d values are too many for a grid", n)
	}
	for _, c := range p.When {
		check(len(c.Values) > 0, ".when", "name values, or leave the condition out",
			"%s has no value at which the parameter exists", c.Key)
		if c.Fixed != "" {
			check(c.has(c.Fixed) || len(c.Values) == 0, ".when", "remove the parameter, or the condition",
				"%s is %s: the parameter never exists", c.Key, c.Fixed)
			continue
		}
		// A condition on a choice has to name values that it has; of numbers any value may be named.
		o := before[c.Key]
		if o == nil {
			check(false, ".when", "a condition names a parameter above this one, or a key that is fixed", "%s is not known here",
				c.Key)
			continue
		}
		for _, v := range c.Values {
			check(o.Distribution != Categorical || o.Index(v) >= 0, ".when",
				"its values are "+strings.Join(o.Values, ", "), "%s is never %s", c.Key, v)
		}
	}
	return list
}

// categoricalFaults reports values that are missing or written twice, and probabilities that are not those of the
// values.
func (p *Parameter) categoricalFaults(check func(ok bool, at, hint, format string, args ...any)) {
	check(len(p.Values) > 0, ".values", "", "the list of values is empty")
	for i, v := range p.Values {
		at := slices.IndexFunc(p.Values[:i], func(other string) bool { return alike(other, v) })
		if at >= 0 && p.Values[at] != v {
			check(false, ".values", "keep one", "%s and %s are one number", p.Values[at], v)
		}
		check(at < 0 || p.Values[at] != v, ".values", "keep one", "%s is listed twice", v)
	}
	if p.Weights == nil {
		return
	}
	check(len(p.Weights) == len(p.Values), ".probabilities", "", "%d probabilities for %d values", len(p.Weights),
		len(p.Values))
	sum := 0.0
	for _, w := range p.Weights {
		check(w > 0, ".probabilities", "leave the value out", "%g is no probability of a value", w)
		sum += w
	}
	check(math.Abs(sum-1) < 1e-6, ".probabilities", "", "the probabilities add up to %g, not 1", sum)
}

// alike reports whether two values are the same text or the same number, as 1e-3 and 0.001.
func alike(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, failed := strconv.ParseFloat(b, 64)
	return a == b || err == nil && failed == nil && x == y
}

// Index is the place of a value among those of a choice, where a number may be written otherwise; below 0: it is none
// of them.
func (p *Parameter) Index(value string) int {
	if i := slices.Index(p.Values, value); i >= 0 {
		return i
	}
	return slices.IndexFunc(p.Values, func(v string) bool { return alike(v, value) })
}
