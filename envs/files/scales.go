package files

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// EachRecording is the value of env.normalise that gives each recording a scale of its own.
const EachRecording = "recording"

// Recordings names the recording that each episode belongs to: what the files call it, or else its number. Parts of
// one that a split by time divided have the same name. Numbers count from 1.
func (d *Dataset) Recordings() []string {
	list := make([]string, len(d.Episodes))
	n := 0
	for i := range d.Episodes {
		if !d.Episodes[i].Continues {
			n++
		}
		if list[i] = d.Episodes[i].Name; list[i] == "" {
			list[i] = "recording " + itoa(n)
		}
	}
	return list
}

// MeasureEach is Measure with scales for each recording, over its own episodes of the training part. Without any,
// what is held out of it could be predicted only in a scale that it gives itself: that is a fault. Images, and two
// recordings of one name, are faults as well.
func (d *Dataset) MeasureEach(training []int) (Normalisation, error) {
	if d.Images() {
		return Normalisation{}, faultf("env.normalise", "use env.normalise=auto", "images keep their values in [0, 1]")
	}
	n := Normalisation{Controls: d.Measure(training).Controls, Recordings: map[string]Scale{}}
	names, own := d.Recordings(), map[string][]int{}
	places := map[string]string{} // where recordings were read
	for i, name := range names {
		place, _, _ := strings.Cut(d.Episodes[i].Source, partPlace)
		if other, known := places[name]; known && other != place {
			return n, faultf("env.normalise", "give each recording its own name, or scale all alike (env.normalise=auto)",
				"two recordings are called %s: %s, and %s", name, other, place)
		}
		places[name] = place
	}
	for _, i := range training {
		own[names[i]] = append(own[names[i]], i)
	}
	for _, name := range names {
		if len(own[name]) == 0 {
			return n, faultf("env.normalise", "hold out the last steps of each recording (env.split=time), or "+
				"scale all alike (env.normalise=auto)",
				"%s has no training steps by which to scale it", name)
		}
	}
	for name, episodes := range own {
		n.add(name, d.ownObservations(episodes), d.ownControls(n.Controls, episodes))
	}
	return n, nil
}

// add gives a recording its scales.
func (n *Normalisation) add(recording string, observations, controls Scale) {
	n.Recordings[recording] = observations
	if controls.identity() {
		return
	}
	if n.RecordingControls == nil {
		n.RecordingControls = map[string]Scale{}
	}
	n.RecordingControls[recording] = controls
}

// ownObservations is the scale of the observations of a recording, over its episodes: with all digits, where they have
// more than float32.
func (d *Dataset) ownObservations(episodes []int) Scale {
	if !slices.ContainsFunc(episodes, func(i int) bool { return d.Episodes[i].exact != nil }) {
		return d.Measure(episodes).Observations
	}
	nx := d.Spec.Observation
	return measureExact(nx, func(visit func(channel int, v float64)) {
		for _, i := range episodes {
			for j, v := range d.Episodes[i].exact {
				if !math.IsNaN(v) {
					visit(j%nx, v)
				}
			}
		}
	})
}

// ownControls is the scale of the controls of a recording, over its episodes.
func (d *Dataset) ownControls(common Scale, episodes []int) Scale {
	if common.identity() {
		return Scale{}
	}
	return scaleOfControls(common, d.measureControls(episodes), d.eachControl(episodes))
}

// scaleOfControls is the scale of the controls of a recording that each visits, of which s was measured. A channel that
// does not vary there, or that is a switch between 0 and 1, keeps the scale that all have in common: its level is what
// it says.
func scaleOfControls(common, s Scale, each func(visit func(channel int, v float64))) Scale {
	own := make([]bool, len(s.Mean))
	first := make([]float64, len(s.Mean))
	begun, varies := make([]bool, len(s.Mean)), make([]bool, len(s.Mean))
	each(func(c int, v float64) {
		if !begun[c] {
			begun[c], first[c] = true, v
		}
		varies[c] = varies[c] || v != first[c]
		own[c] = own[c] || v != 0 && v != 1
	})
	for c := range own {
		// own is unset for a switch between 0 and 1.
		if !own[c] || !varies[c] {
			s.Mean[c], s.SD[c] = common.Mean[c], common.SD[c]
		}
	}
	return s
}

// Of is the normalisation of a recording; false if it has no scale, though each recording has one of its own. The
// result has one scale for each signal.
func (n Normalisation) Of(recording string) (Normalisation, bool) {
	if n.Recordings == nil {
		return n, true
	}
	own, ok := n.Recordings[recording]
	return n.with(own, n.RecordingControls[recording]), ok
}

// with is the normalisation of a recording with such scales; controls without any have the common one.
func (n Normalisation) with(own, controls Scale) Normalisation {
	n.Observations.Mean, n.Observations.SD = own.Mean, own.SD
	if !controls.identity() {
		n.Controls.Mean, n.Controls.SD = controls.Mean, controls.SD
	}
	n.Recordings, n.RecordingControls = nil, nil
	return n
}

// Like is the normalisation of a series that has the means and deviations of another one. The result has one scale
// for each signal.
func (n Normalisation) Like(o Normalisation) Normalisation { return n.with(o.Observations, o.Controls) }

// OfRows is the normalisation of a series that training did not see, by what is given of it: rows of transformed
// observations, of which NaN are missing, and of controls, both [T][n] and not scaled. A channel that does not vary has
// the usual deviation of the recordings of training. With no rows, or where all recordings have one scale, it is n.
func (n Normalisation) OfRows(rows, controls [][]float64) Normalisation {
	if n.Recordings == nil || len(rows) == 0 {
		return n
	}
	var acted Scale
	if n.RecordingControls != nil && len(controls) > 1 && !n.Controls.identity() {
		each := eachOf(controls[1:], len(n.Controls.Mean))
		acted = scaleOfControls(n.Controls, measureExact(len(n.Controls.Mean), each), each)
	}
	each := eachOf(rows, len(rows[0]))
	return n.with(n.usual(measureExact(len(rows[0]), each), each), acted)
}

// usual fills in the deviations of channels that do not vary in what is seen of a new recording, which each visits: it
// is the median of those of the recordings that are known, if it varies in any. It changes s, and returns it.
func (n Normalisation) usual(s Scale, each func(visit func(channel int, v float64))) Scale {
	low, high := slices.Repeat([]float64{math.Inf(1)}, len(s.SD)), slices.Repeat([]float64{math.Inf(-1)}, len(s.SD))
	each(func(c int, v float64) { low[c], high[c] = min(low[c], v), max(high[c], v) })
	for c, sd := range s.SD {
		// What has that deviation by chance has a range of twice as much at least.
		if sd != ConstantSD || high[c]-low[c] >= 2*ConstantSD {
			continue
		}
		var known []float64
		for _, own := range n.Recordings {
			if own.SD[c] != ConstantSD {
				known = append(known, own.SD[c])
			}
		}
		if known != nil {
			s.SD[c] = median(known)
		}
	}
	return s
}

// eachOf visits the values of rows that are there.
func eachOf(rows [][]float64, width int) func(visit func(channel int, v float64)) {
	return func(visit func(channel int, v float64)) {
		for _, row := range rows {
			for c, v := range row[:min(width, len(row))] {
				if !math.IsNaN(v) {
					visit(c, v)
				}
			}
		}
	}
}

// Unsteady returns the first channel that does not have two different values in rows, which no scale can be measured
// of; −1: all have.
func Unsteady(rows [][]float64, width int) int {
	first, varies := make([]float64, width), make([]bool, width)
	for c := range first {
		first[c] = math.NaN()
	}
	eachOf(rows, width)(func(c int, v float64) {
		varies[c] = varies[c] || !math.IsNaN(first[c]) && v != first[c]
		first[c] = v
	})
	return slices.Index(varies, false)
}

// For adds scales for the recordings of a data set that have none, each by its first steps; 0: all. A channel that does
// not vary there has the usual deviation of the others. n itself is not changed. What is measured are observations of d
// after transforms.
func (n Normalisation) For(d *Dataset, steps int) Normalisation {
	if n.Recordings == nil {
		return n
	}
	all := n
	all.Recordings, all.RecordingControls = maps.Clone(n.Recordings), maps.Clone(n.RecordingControls)
	for i, name := range d.Recordings() {
		if _, known := all.Recordings[name]; known {
			continue
		}
		e := &d.Episodes[i]
		// Later steps are those that a forecast has not seen.
		if steps > 0 && steps < e.T {
			first := e.slice(d.Spec, 0, steps)
			e = &first
		}
		part := *d
		part.Episodes = []Episode{*e}
		var controls Scale
		if n.RecordingControls != nil {
			controls = part.ownControls(n.Controls, []int{0})
		}
		all.add(name, n.usual(part.ownObservations([]int{0}), part.eachObservation([]int{0})), controls)
	}
	return all
}

// Covers returns an error if a recording of the data set has no scale, though each has one of its own.
func (n Normalisation) Covers(d *Dataset) error {
	for _, name := range d.Recordings() {
		if _, ok := n.Of(name); !ok {
			return faultf("env.normalise", "use env.normalise=recording", "there are scales of %s, but none of %s",
				terminal.Count(len(n.Recordings), "recording"), name)
		}
	}
	return nil
}

// Fits reports whether the scales are those of one series with so many channels and controls. They are not where
// each recording has its own.
func (n Normalisation) Fits(observations, controls int) bool {
	return n.Recordings == nil && n.Observations.check(observations) == nil && n.Controls.check(controls) == nil
}
