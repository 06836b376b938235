package files

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Scale maps the channels of a signal to zero mean and unit deviation: x' = (x − Mean)/SD, in
// float64, rounded once. The zero Scale is the identity.
type Scale struct {
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
}

// Normalisation has the scales of observations and controls. A run stores it as JSON.
type Normalisation struct {
	Observations Scale `json:"observations"`
	Controls     Scale `json:"controls"`
}

// Measure returns means and standard deviations over the given episodes (the training part). Missing observations do
// not count, nor do the controls of first steps, which have no effect. A constant channel gets the deviation 1. Images
// are not scaled.
func (d *Dataset) Measure(episodes []int) Normalisation {
	var n Normalisation
	if !d.Images() {
		n.Observations = d.measure(d.Spec.Observation, episodes, func(e *Episode) ([]float32, []float32) { return e.Observations, e.Mask })
	}
	n.Controls = d.measure(d.Spec.Control, episodes, func(e *Episode) ([]float32, []float32) {
		return e.Controls[d.Spec.Control:], nil
	})
	return n
}

func (d *Dataset) measure(width int, episodes []int, signal func(*Episode) (data, mask []float32)) Scale {
	if width == 0 {
		return Scale{}
	}
	s := Scale{Mean: make([]float64, width), SD: make([]float64, width)}
	count := make([]float64, width)
	each := func(visit func(channel int, v float64)) {
		for _, i := range episodes {
			data, mask := signal(&d.Episodes[i])
			for j, v := range data {
				if mask == nil || mask[j] != 0 {
					visit(j%width, float64(v))
				}
			}
		}
	}
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
			s.SD[c] = 1
		}
	}
	return s
}

// constantBelow is the deviation, relative to the mean, that can come from rounding to float32 alone.
const constantBelow = 1e-6

// ParseNormalisation reads a normalisation from JSON and checks that it fits the data set.
func (d *Dataset) ParseNormalisation(name string, data []byte) (Normalisation, error) {
	var n Normalisation
	if err := json.Unmarshal(data, &n); err != nil {
		return n, &Error{File: name, Problem: "not a normalisation", Remedy: normalisationForm, cause: err}
	}
	if d.Images() && !n.Observations.identity() {
		return n, &Error{File: name, Place: "observations", Problem: "images keep their values in [0, 1]", Remedy: "leave observations out"}
	}
	for _, s := range []struct {
		name  string
		scale Scale
		width int
	}{{"observations", n.Observations, d.Spec.Observation}, {"controls", n.Controls, d.Spec.Control}} {
		if err := s.scale.check(s.width); err != nil {
			return n, &Error{File: name, Place: s.name, Problem: err.Error(), Remedy: normalisationForm}
		}
	}
	return n, nil
}

const normalisationForm = `want {"observations": {"mean": [...], "sd": [...]}, "controls": {"mean": [...], "sd": [...]}} with one number per channel`

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

func (s Scale) identity() bool { return len(s.Mean) == 0 && len(s.SD) == 0 }

// Apply scales rows of channels in place.
func (s Scale) Apply(data []float32) {
	if s.identity() {
		return
	}
	width := len(s.Mean)
	for i, v := range data {
		c := i % width
		data[i] = float32((float64(v) - s.Mean[c]) / s.SD[c])
	}
}

// Invert undoes Apply, up to rounding.
func (s Scale) Invert(data []float32) {
	if s.identity() {
		return
	}
	width := len(s.Mean)
	for i, v := range data {
		c := i % width
		data[i] = float32(float64(float64(v)*s.SD[c]) + s.Mean[c])
	}
}

// Apply returns the data set with scaled observations and controls. Missing values and the controls
// of first steps stay zero; what is not scaled is shared with d.
func (n Normalisation) Apply(d *Dataset) *Dataset { return n.transform(d, Scale.Apply) }

// Invert returns the data set in the units of the files, up to rounding.
func (n Normalisation) Invert(d *Dataset) *Dataset { return n.transform(d, Scale.Invert) }

func (n Normalisation) transform(d *Dataset, scale func(Scale, []float32)) *Dataset {
	scaled := *d
	scaled.Episodes = make([]Episode, len(d.Episodes))
	for i, e := range d.Episodes {
		if !n.Observations.identity() {
			e.Observations = slices.Clone(e.Observations)
			scale(n.Observations, e.Observations)
			for j := range e.Mask {
				if e.Mask[j] == 0 {
					e.Observations[j] = 0
				}
			}
		}
		if !n.Controls.identity() {
			e.Controls = slices.Clone(e.Controls)
			scale(n.Controls, e.Controls)
			clear(e.Controls[:d.Spec.Control])
		}
		scaled.Episodes[i] = e
	}
	return &scaled
}
