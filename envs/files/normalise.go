package files

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
)

// Scale maps the channels of a signal to zero mean and unit deviation: x' = (T(x) − Mean)/SD, in float64, rounded once.
// T are the transforms, which reading the files has done already. The zero Scale is the identity.
type Scale struct {
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
	// Names are the names of the user's columns, one for each channel; nil: not known. They change no value.
	Names []string `json:"names,omitempty"`
	// Transforms are those of the channels; nil: none.
	Transforms []Transform `json:"transforms,omitempty"`
}

// Normalisation has the scales of observations and controls. A run stores it as JSON. Copies share maps and slices.
type Normalisation struct {
	Observations Scale `json:"observations"`
	Controls     Scale `json:"controls"`
	// Recordings are the scales of observations where each recording has one of its own, by what Dataset.Recordings
	// calls it; nil: all have that of Observations. Otherwise that has names and transforms alone.
	Recordings map[string]Scale `json:"recordings,omitempty"`
	// RecordingControls are the scales of controls of these recordings; nil: all have that of Controls.
	RecordingControls map[string]Scale `json:"recording_controls,omitempty"`
	// DT is the time between two steps, 0 if it is not known, and TimeUnit the unit of it, if the files have dates.
	DT       float64 `json:"dt,omitempty"`
	TimeUnit string  `json:"time_unit,omitempty"`
}

// Describe fills in what the scale says beside numbers: names, transforms and the time between two steps. Means,
// deviations and recordings stay as they are.
func (n *Normalisation) Describe(d *Dataset) {
	n.Observations.Names, n.Observations.Transforms = d.Channels(), d.Transforms
	n.Controls.Names = d.Actions()
	n.DT, n.TimeUnit = d.Spec.DT, d.TimeUnit
}

// Name is the name of channel c; word and a number if the files gave none.
func (s Scale) Name(c int, word string) string {
	if c < len(s.Names) {
		return s.Names[c]
	}
	return word + itoa(c+1)
}

// Transform is the transform of channel c.
func (s Scale) Transform(c int) Transform {
	if c < len(s.Transforms) {
		return s.Transforms[c]
	}
	return Transform{}
}

// Scaled is a value of channel c, after its transform, in the units of the model: v' = (v − μ)/σ.
func (s Scale) Scaled(c int, v float64) float64 {
	if s.identity() {
		return v
	}
	return (v - s.Mean[c]) / s.SD[c]
}

// Unscaled undoes Scaled: v = σ·v' + μ. The product is rounded, so that no processor fuses it with the sum.
func (s Scale) Unscaled(c int, v float64) float64 {
	if s.identity() {
		return v
	}
	return float64(v*s.SD[c]) + s.Mean[c]
}

// Units returns a path of channel c, which is in the units of the model, in the units of the files: it undoes the
// scaling and then the transform. before are the values of the steps before the path in the units of the files, as
// Dataset.Values returns them; at least Transform(c).Lag of them. A quantile of a sum is not the sum of quantiles:
// where Lag is not zero, undo each sampled path, and take quantiles of the results.
func (s Scale) Units(c int, path, before []float64) []float64 {
	values := slices.Clone(path)
	for i, v := range values {
		values[i] = s.Unscaled(c, v)
	}
	return s.Transform(c).Undo(values, before)
}

// Measure returns means and standard deviations over the given episodes (the training part). Missing observations do
// not count, nor do the controls of first steps, which have no effect. A constant channel gets the deviation 1.
// Images are not scaled. Means are those of the transformed values, with the origin in them. A deviation divides by
// the number of values, not by one less.
func (d *Dataset) Measure(episodes []int) Normalisation {
	var n Normalisation
	if !d.Images() {
		n.Observations = measureScale(d.Spec.Observation, d.eachObservation(episodes))
		for c, origin := range d.Origins {
			n.Observations.Mean[c] += origin
		}
	}
	n.Controls = d.measureControls(episodes)
	return n
}

// measureControls is the scale of controls, which have all digits of float64 or those of float32.
func (d *Dataset) measureControls(episodes []int) Scale {
	exact := slices.ContainsFunc(episodes, func(i int) bool { return d.Episodes[i].acts != nil })
	switch {
	case d.Spec.Control == 0:
		return Scale{}
	case exact:
		return measureExact(d.Spec.Control, d.eachControl(episodes))
	}
	return measureScale(d.Spec.Control, d.eachControl(episodes))
}

// eachControl visits the controls of episodes, but for those of first steps.
func (d *Dataset) eachControl(episodes []int) func(visit func(channel int, v float64)) {
	nu := d.Spec.Control
	return func(visit func(channel int, v float64)) {
		for _, i := range episodes {
			e := &d.Episodes[i]
			for j := nu; j < len(e.Controls); j++ {
				visit(j%nu, e.Acted(j))
			}
		}
	}
}

// eachObservation visits the observations of episodes that were measured.
func (d *Dataset) eachObservation(episodes []int) func(visit func(channel int, v float64)) {
	nx := d.Spec.Observation
	return func(visit func(channel int, v float64)) {
		for _, i := range episodes {
			e := &d.Episodes[i]
			for j, v := range e.Observations {
				if e.Mask == nil || e.Mask[j] != 0 {
					visit(j%nx, float64(v))
				}
			}
		}
	}
}

// measureScale is the scale of values that each visits, channel by channel. Two passes, first for the means, keep
// the digits of values far from zero; so each is called twice. A channel that hardly varies has the deviation 1.
func measureScale(width int, each func(visit func(channel int, v float64))) Scale {
	s := Scale{Mean: make([]float64, width), SD: make([]float64, width)}
	count := make([]float64, width)
	each(func(c int, v float64) { s.Mean[c] += v; count[c]++ })
	for c := range width {
		s.Mean[c] /= max(count[c], 1)
	}
	each(func(c int, v float64) {
		deviation := v - s.Mean[c]
		s.SD[c] += float64(deviation * deviation)
	})
	for c := range width {
		s.SD[c] = math.Sqrt(s.SD[c] / max(count[c], 1))
		if s.SD[c] <= constantBelow*math.Abs(s.Mean[c]) {
			s.SD[c] = ConstantSD
		}
	}
	return s
}

// measureExact is measureScale for values with all digits of float64: where they are far from zero, they are measured
// from their smallest on, as those of files are. Else they would count as rounded to float32, and as constant.
func measureExact(width int, each func(visit func(channel int, v float64))) Scale {
	low, high := slices.Repeat([]float64{math.Inf(1)}, width), slices.Repeat([]float64{math.Inf(-1)}, width)
	each(func(c int, v float64) { low[c], high[c] = min(low[c], v), max(high[c], v) })
	origins := make([]float64, width)
	for c := range origins {
		if farFromZero(low[c], high[c], coarse) {
			origins[c] = low[c]
		}
	}
	s := measureScale(width, func(visit func(channel int, v float64)) {
		each(func(c int, v float64) { visit(c, v-origins[c]) })
	})
	for c, origin := range origins {
		s.Mean[c] += origin
	}
	return s
}

// ConstantSD is the deviation that a channel which hardly varies gets. Measured ones are hardly ever the same.
const ConstantSD = 1

// constantBelow is the deviation, relative to the mean, that can come from rounding to float32 alone.
const constantBelow = 1e-6

// ParseNormalisation reads a normalisation from JSON and checks that it fits the data set. name is that of the file,
// for messages; an error is an *Error. Means have to be finite, deviations positive and finite, and there is one of
// each for a channel; a scale without any is the identity.
func (d *Dataset) ParseNormalisation(name string, data []byte) (Normalisation, error) {
	var n Normalisation
	if err := json.Unmarshal(data, &n); err != nil {
		return n, &Error{File: name, Problem: "not a normalisation: " + err.Error(), Remedy: normalisationForm, cause: err}
	}
	if d.Images() && !n.Observations.identity() {
		return n, &Error{
			File: name, Place: "observations", Problem: "images keep their values in [0, 1]",
			Remedy: "leave observations out",
		}
	}
	for _, s := range []*Scale{&n.Observations, &n.Controls} {
		if s.identity() {
			s.Mean, s.SD = nil, nil // rather than empty lists
		}
	}
	check := func(place string, s Scale, width int) error {
		if err := s.check(width); err != nil {
			return &Error{File: name, Place: place, Problem: err.Error(), Remedy: normalisationForm}
		}
		return nil
	}
	for _, recording := range slices.Sorted(maps.Keys(n.Recordings)) {
		if err := check(recording, n.Recordings[recording], d.Spec.Observation); err != nil {
			return n, err
		}
	}
	for _, recording := range slices.Sorted(maps.Keys(n.RecordingControls)) {
		if err := check("controls of "+recording, n.RecordingControls[recording], d.Spec.Control); err != nil {
			return n, err
		}
	}
	return n, cmp.Or(check("observations", n.Observations, d.Spec.Observation),
		check("controls", n.Controls, d.Spec.Control))
}

const normalisationForm = `want {"observations": {"mean": [...], "sd": [...]}, "controls": {"mean": [...], "sd": [...]}} with one number per channel`

// check returns an error unless the scale is the identity or has a valid mean and deviation for each of width
// channels.
func (s Scale) check(width int) error {
	if s.identity() {
		return nil
	}
	if len(s.Mean) != width || len(s.SD) != width {
		return fmt.Errorf("%d means and %d deviations for %d channels", len(s.Mean), len(s.SD), width)
	}
	for c := range width {
		if m, sd := s.Mean[c], s.SD[c]; math.IsNaN(m) || math.IsInf(m, 0) || !(sd > 0) || math.IsInf(sd, 0) {
			return fmt.Errorf("channel %d: mean %v and deviation %v", c, m, sd)
		}
	}
	return nil
}

// identity reports whether the scale changes nothing. Names and transforms do not count.
func (s Scale) identity() bool { return len(s.Mean) == 0 && len(s.SD) == 0 }

// Apply scales rows of channels in place. data is row-major, with a column for each channel.
func (s Scale) Apply(data []float32) { s.apply(data, nil) }

// apply is Apply for data that are relative to origins; nil: to zero.
func (s Scale) apply(data []float32, origins []float64) {
	if s.identity() {
		return
	}
	mean := s.relative(origins)
	width := len(s.Mean)
	for i, v := range data {
		c := i % width
		data[i] = float32((float64(v) - mean[c]) / s.SD[c])
	}
}

// round sets rows of channels to values in float64, scaled; NaN gives 0.
func (s Scale) round(data []float32, values []float64) {
	width := len(s.Mean)
	for i, v := range values {
		if data[i] = 0; !math.IsNaN(v) {
			data[i] = float32((v - s.Mean[i%width]) / s.SD[i%width])
		}
	}
}

// relative are the means relative to origins.
func (s Scale) relative(origins []float64) []float64 {
	if origins == nil {
		return s.Mean
	}
	mean := slices.Clone(s.Mean)
	for c := range mean {
		mean[c] -= origins[c]
	}
	return mean
}

// Invert undoes Apply, up to rounding.
func (s Scale) Invert(data []float32) {
	if s.identity() {
		return
	}
	width := len(s.Mean)
	for i, v := range data {
		c := i % width
		data[i] = float32(s.Unscaled(c, float64(v)))
	}
}

// Apply returns the data set with scaled observations and controls. Missing values and the controls of first steps stay
// zero; what is not scaled is shared with d. The result has no origins: it is scaled data, or the data rounded to
// float32. A recording without a scale of its own, where each has one, is scaled by all of it (see For).
func (n Normalisation) Apply(d *Dataset) *Dataset {
	each := n.Recordings != nil
	scaled := n.For(d, 0).mapped(d, func(observations Scale, e *Episode) {
		data := e.Observations
		if each && e.exact != nil && !observations.identity() {
			observations.round(data, e.exact)
			return
		}
		if d.Origins != nil && observations.identity() {
			nx := d.Spec.Observation
			observations = Scale{Mean: make([]float64, nx), SD: slices.Repeat([]float64{1}, nx)}
		}
		observations.apply(data, d.Origins)
	}, func(controls Scale, e *Episode) {
		if e.acts != nil {
			controls.round(e.Controls, e.acts)
			return
		}
		controls.Apply(e.Controls)
	})
	scaled.Origins = nil
	for i := range scaled.Episodes {
		scaled.Episodes[i].exact = nil
	}
	return scaled
}

// Invert returns the data set in the units of the files, up to rounding: Value, Acted and Led have the digits that
// the files have. Transforms stay done.
func (n Normalisation) Invert(d *Dataset) *Dataset {
	return n.mapped(d, func(s Scale, e *Episode) { s.Invert(e.Observations) },
		func(s Scale, e *Episode) { s.Invert(e.Controls) })
}

// before are the controls that lead to the first step of an episode that continues another one, changed by a scale; nil
// stays nil.
func (e *Episode) before(s Scale, width int, controls func(s Scale, e *Episode)) []float32 {
	if e.Before == nil {
		return nil
	}
	led := Episode{Episode: envs.Episode{T: 1, Controls: slices.Clone(e.Before)}}
	if e.acts != nil {
		led.acts = e.acts[:width]
	}
	controls(s, &led)
	return led.Controls
}

// mapped returns the data set with observations and controls changed by their scales. Whatever changes is copied
// first. Missing values and first controls are zero again afterwards, as a scale would shift them.
func (n Normalisation) mapped(d *Dataset, observations, controls func(s Scale, e *Episode)) *Dataset {
	scaled := *d
	scaled.Episodes = make([]Episode, len(d.Episodes))
	names := d.Recordings()
	for i, e := range d.Episodes {
		own, _ := n.Of(names[i])
		if !own.Observations.identity() || d.Origins != nil {
			e.Observations = slices.Clone(e.Observations)
			observations(own.Observations, &e)
			for j := range e.Mask {
				if e.Mask[j] == 0 {
					e.Observations[j] = 0
				}
			}
		}
		if !own.Controls.identity() {
			e.Before = e.before(own.Controls, d.Spec.Control, controls)
			e.Controls = slices.Clone(e.Controls)
			controls(own.Controls, &e)
			clear(e.Controls[:d.Spec.Control])
		}
		scaled.Episodes[i] = e
	}
	return &scaled
}
