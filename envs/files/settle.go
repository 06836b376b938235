package files

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Values of a channel that are large beside their range are stored as differences to an origin: float32 has 24 bits,
// and at least 14 of them are to be left for the range. Below the second limit, float64 has no digits left either.
const (
	coarse   = 1 << 10 // magnitude over range from where on a channel has an origin
	coarser  = 1 << 14 // the same of controls, and of a recording beside others, from where on they keep float64
	constant = 1e-13   // range over magnitude up to which a channel is constant
)

// settle transforms the observations, finds the origins, and rounds to float32. The steps are those of all files
// together. Afterwards Levels are kept only where Observations do not say the same: beside origins or transforms, and
// of recordings that are far from zero and from others. It is an error if a transform leaves no value.
func (d *Dataset) settle(t Transforms) error {
	transforms, err := t.of(d)
	if err != nil {
		return err
	}
	d.Transforms = transforms
	if d.Images() {
		return nil
	}
	values := make([][]float64, len(d.Episodes)) // nil: those of the episode are right
	// It stays unset where no file has more digits than float32: then there is nothing to do.
	exact := false
	for i := range d.Episodes {
		e := &d.Episodes[i]
		if e.Levels == nil && transforms == nil {
			continue
		}
		exact = true
		e.level()
		values[i] = e.Levels
		if transforms != nil {
			if values[i], err = d.transformed(e); err != nil {
				return err
			}
		}
	}
	if !exact {
		return nil
	}
	d.Origins = d.origins(values)
	for i := range d.Episodes {
		if d.Origins != nil {
			d.Episodes[i].level()
		}
		d.Episodes[i].round(values[i], d.Origins, d.Spec.Observation)
		d.Episodes[i].exact = d.exact(values[i])
		if d.Origins == nil && transforms == nil && d.Episodes[i].exact == nil {
			d.Episodes[i].Levels = nil
		}
	}
	if !slices.ContainsFunc(d.Episodes, func(e Episode) bool { return e.observes() }) {
		return faultf("--transform", "use another transform", "it leaves no value: every difference involves a missing value")
	}
	return nil
}

// settleControls keeps the digits of controls, in all episodes, where float32 would round those of a channel that is
// far from zero.
func (d *Dataset) settleControls() {
	nu := d.Spec.Control
	low, high := slices.Repeat([]float64{math.Inf(1)}, nu), slices.Repeat([]float64{math.Inf(-1)}, nu)
	rounded := make([]bool, nu)
	for i := range d.Episodes {
		e := &d.Episodes[i]
		for j := nu; j < len(e.Controls); j++ {
			c, v := j%nu, e.Acted(j)
			low[c], high[c] = min(low[c], v), max(high[c], v)
			rounded[c] = rounded[c] || v != float64(e.Controls[j])
		}
	}
	keep := false
	for c := range nu {
		keep = keep || rounded[c] && farFromZero(low[c], high[c], coarser)
	}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		switch {
		case !keep:
			e.acts = nil
		case e.acts == nil:
			e.acts = converted[float64](e.Controls)
		}
	}
}

// level fills in the levels of an episode, and marks what is missing.
func (e *Episode) level() {
	if e.Levels == nil {
		e.Levels = make([]float64, len(e.Observations))
		for i, v := range e.Observations {
			e.Levels[i] = float64(v)
		}
	}
	for i := range e.Mask {
		if e.Mask[i] == 0 {
			e.Levels[i] = math.NaN()
		}
	}
}

// transformed are the levels of an episode after the transforms, [T,dy]; an *Error for a value without a logarithm.
func (d *Dataset) transformed(e *Episode) ([]float64, error) {
	values := slices.Clone(e.Levels)
	nx := d.Spec.Observation
	series := make([]float64, e.T)
	for c, t := range d.Transforms {
		for i := range series {
			series[i] = e.Levels[i*nx+c]
		}
		changed, bad := t.Apply(series)
		if bad >= 0 {
			return nil, faultf(d.ObservationName(c), "leave the channel as it is: --transform "+
				terminal.Quoted(d.ChannelName(c)+"=none")+" (env.transform)", "%s, step %d: %v has no logarithm",
				e.Source, bad, e.Levels[bad*nx+c])
		}
		for i, v := range changed {
			values[i*nx+c] = v
		}
	}
	return values, nil
}

// origins are the smallest values of the channels that float32 would round too coarsely, and zero for the others;
// nil if there is no such channel. values are those of each episode in float64, of which nil stands for its
// Observations.
func (d *Dataset) origins(values [][]float64) []float64 {
	nx := d.Spec.Observation
	low, high := slices.Repeat([]float64{math.Inf(1)}, nx), slices.Repeat([]float64{math.Inf(-1)}, nx)
	for i := range d.Episodes {
		for j := range d.Episodes[i].Observations {
			v := float64(d.Episodes[i].Observations[j])
			if values[i] != nil {
				v = values[i][j]
			} else if m := d.Episodes[i].Mask; m != nil && m[j] == 0 {
				continue
			}
			if !math.IsNaN(v) {
				low[j%nx], high[j%nx] = min(low[j%nx], v), max(high[j%nx], v)
			}
		}
	}
	var origins []float64
	for c := range nx {
		if farFromZero(low[c], high[c], coarse) {
			if origins == nil {
				origins = make([]float64, nx)
			}
			origins[c] = low[c]
		}
	}
	return origins
}

// farFromZero reports whether the values from low to high are more than times as large as their range. Values that
// hardly vary have no digits to keep; zeros neither.
func farFromZero(low, high, times float64) bool {
	width, size := high-low, max(math.Abs(low), math.Abs(high))
	return width > constant*size && size > times*width && !math.IsInf(size, 0)
}

// exact are the values of a recording in float64, if what the origins leave of one of its channels is far from zero:
// by itself, it has digits that float32 would not keep. Otherwise nil.
func (d *Dataset) exact(values []float64) []float64 {
	nx := d.Spec.Observation
	for c := range nx {
		low, high := math.Inf(1), math.Inf(-1)
		for j := c; j < len(values); j += nx {
			if v := values[j]; !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		if d.Origins != nil {
			low, high = low-d.Origins[c], high-d.Origins[c]
		}
		if farFromZero(low, high, coarser) {
			return values
		}
	}
	return nil
}

// round sets the observations, relative to the origins, from values, or from themselves if values is nil. It makes
// new arrays: those of the episode may be shared. NaN becomes a 0 of the mask.
func (e *Episode) round(values, origins []float64, nx int) {
	if values == nil && origins == nil {
		return
	}
	observations := make([]float32, len(e.Observations))
	missing := false
	mask := slices.Repeat([]float32{1}, len(observations))
	for j := range observations {
		v := float64(e.Observations[j])
		if values != nil {
			v = values[j]
		} else if e.Mask != nil && e.Mask[j] == 0 {
			v = math.NaN()
		}
		if math.IsNaN(v) {
			mask[j], missing = 0, true
			continue
		}
		if origins != nil {
			v -= origins[j%nx]
		}
		observations[j] = float32(v)
	}
	e.Observations, e.Mask = observations, nil
	if missing {
		e.Mask = mask
	}
}

// Values returns n values of a channel of an episode, in the units of the files and before transforms, up to step end
// (excluded): what Transform.Undo asks for. Values before the first step, and missing ones, are NaN. d is as it was
// read, not scaled.
func (d *Dataset) Values(e *Episode, channel, end, n int) []float64 {
	list := make([]float64, n)
	nx := d.Spec.Observation
	for i := range list {
		if list[i] = math.NaN(); end-n+i >= 0 {
			list[i] = e.Value((end-n+i)*nx + channel)
		}
	}
	return list
}
