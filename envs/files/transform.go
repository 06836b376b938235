package files

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Transform is what is done to the values of a channel before they are scaled: the logarithm, if Log is set, and
// then the difference to the value Lag steps before, if Lag is not zero. The first Lag values of a recording, and
// those beside missing ones, are missing. The zero Transform changes nothing.
//
//	z_t = f(x_t) − f(x_{t−Lag}),  or f(x_t) if Lag is 0,  f = ln or the identity
type Transform struct {
	Log bool
	Lag int
}

// String is the name of the transform: none, log, diff, diff12 or log-diff.
func (t Transform) String() string {
	var parts []string
	if t.Log {
		parts = append(parts, "log")
	}
	switch {
	case t.Lag == 1:
		parts = append(parts, "diff")
	case t.Lag > 1:
		parts = append(parts, "diff"+itoa(t.Lag))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, "-")
}

// MarshalText returns the name of the transform.
func (t Transform) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the name of a transform. It sets t to the zero Transform if there is none of that name.
func (t *Transform) UnmarshalText(text []byte) (err error) {
	*t, err = parseTransform(string(text))
	return err
}

// maxLag is the largest lag of a difference.
const maxLag = 1 << 20

// parseTransform reads none, log, diff, log-diff, or either difference with a lag from 1 to 2²⁰ behind it, as
// diff12.
func parseTransform(name string) (Transform, error) {
	t := Transform{}
	rest, ok := strings.CutPrefix(name, "log")
	if ok {
		t.Log = true
		rest = strings.TrimPrefix(rest, "-")
	}
	if lag, ok := strings.CutPrefix(rest, "diff"); ok {
		t.Lag = 1
		if lag != "" {
			n, err := strconv.Atoi(lag)
			if err != nil || n < 1 || n > maxLag {
				return Transform{}, fmt.Errorf("%q: the lag of a difference is a whole number", name)
			}
			t.Lag = n
		}
		rest = ""
	}
	if rest == "none" && !t.Log {
		rest = ""
	}
	if rest != "" || name == "" || strings.HasSuffix(name, "-") {
		return Transform{}, fmt.Errorf("%q is no transform: there are none, log, diff, log-diff, and differences over "+
			"several steps, e.g. diff12", name)
	}
	return t, nil
}

// Transforms are the transforms of channels: one for all, or those of channels by name.
type Transforms struct {
	All   Transform
	Named map[string]Transform
}

// ParseTransforms reads one transform for all channels, or a list NAME=TRANSFORM,…; a transform without a name is
// that of the channels that are not named. An empty text is no transform. An error is an *Error. Whether the names
// are those of channels shows once the data are read.
func ParseTransforms(text string) (Transforms, error) {
	t := Transforms{Named: map[string]Transform{}}
	if strings.TrimSpace(text) == "" {
		return t, nil
	}
	for _, part := range strings.Split(text, ",") {
		name, what, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, what = "", name
		}
		parsed, err := parseTransform(what)
		if err != nil {
			return t, faultf("--transform "+text, "", "%v", err)
		}
		if named {
			t.Named[name] = parsed
		} else {
			t.All = parsed
		}
	}
	return t, nil
}

// of returns the transforms of the channels of a data set; nil if none has one. A channel is known by its heading
// and by its name. It is an *Error if a name is that of no channel, or if observations are images.
func (t Transforms) of(d *Dataset) ([]Transform, error) {
	if t.All == (Transform{}) && len(t.Named) == 0 {
		return nil, nil
	}
	if d.Images() {
		return nil, faultf("--transform", "leave it out", "images are not transformed")
	}
	list := slices.Repeat([]Transform{t.All}, d.Spec.Observation)
	var known []string
	for c := range list {
		name := d.ObservationName(c)
		plain := name
		if c < len(d.ObservationNames) {
			plain = d.ObservationNames[c]
		}
		for _, n := range []string{name, plain} {
			if own, ok := t.Named[n]; ok {
				list[c] = own
			}
		}
		known = append(known, name, plain)
	}
	for name := range t.Named {
		if !slices.Contains(known, name) {
			return nil, faultf("--transform "+name, "", "there is no such observation; there are %s",
				strings.Join(slices.Compact(known), ", "))
		}
	}
	if !slices.ContainsFunc(list, func(t Transform) bool { return t != Transform{} }) {
		return nil, nil
	}
	return list, nil
}

// Undo returns the values in the units of the files for a path of transformed values. before are the values, in the
// units of the files, of at least Lag steps before the path, the last of them directly before it. A value that
// depends on one that is missing is NaN. Neither argument is changed.
func (t Transform) Undo(path, before []float64) []float64 {
	values := slices.Clone(path)
	// level is the value after the logarithm at step i of the path, before it for i < 0.
	level := func(i int) float64 {
		if i >= 0 {
			return values[i]
		}
		if len(before)+i < 0 {
			return math.NaN()
		}
		if t.Log {
			return math.Log(before[len(before)+i])
		}
		return before[len(before)+i]
	}
	if t.Lag > 0 {
		for i := range values {
			values[i] += level(i - t.Lag)
		}
	}
	if t.Log {
		for i, v := range values {
			values[i] = math.Exp(v)
		}
	}
	return values
}

// Apply returns the transformed values of a series. bad is the first step whose value has no logarithm, or −1. NaN
// is a missing value. It returns new values of the same length, or nil with bad. The series is one recording.
func (t Transform) Apply(series []float64) (values []float64, bad int) {
	values = slices.Clone(series)
	if t.Log {
		for i, v := range values {
			if v <= 0 {
				return nil, i
			}
			values[i] = math.Log(v)
		}
	}
	if t.Lag > 0 {
		// From the end, so that values[i−Lag] is no difference yet.
		for i := len(values) - 1; i >= 0; i-- {
			before := math.NaN()
			if i >= t.Lag {
				before = values[i-t.Lag]
			}
			values[i] -= before
		}
	}
	return values, -1
}

// Before are the last Lag values of a series in the units of the files, which Undo asks for. One that is missing is
// that of Lag steps before, or else the last one before it.
func (t Transform) Before(series []float64) []float64 {
	series = slices.Clone(series)
	for i, v := range series {
		switch {
		case !math.IsNaN(v) || i == 0:
		case i >= t.Lag && !math.IsNaN(series[i-t.Lag]):
			series[i] = series[i-t.Lag]
		default:
			series[i] = series[i-1]
		}
	}
	return series[max(0, len(series)-t.Lag):]
}

// Restore returns the values in the units of the files for what is expected at the steps of a series, step by step:
// differences are added to what was observed Lag steps before, or where that is missing, to what was expected there.
// The first Lag steps are what was observed. Where Lag is 0, each value is undone by itself. expected is in the
// units after the transform, observed in those of the files; both have the same length.
func (t Transform) Restore(expected, observed []float64) []float64 {
	values := slices.Clone(expected)
	for i := range values {
		base := math.NaN()
		if i >= t.Lag && t.Lag > 0 {
			if base = observed[i-t.Lag]; math.IsNaN(base) {
				base = values[i-t.Lag]
			}
		}
		if t.Lag == 0 {
			values[i] = t.Undo(values[i:i+1], nil)[0]
		} else if i < t.Lag {
			values[i] = observed[i]
		} else {
			values[i] = Transform{Log: t.Log, Lag: 1}.Undo(values[i:i+1], []float64{base})[0]
		}
	}
	return values
}
