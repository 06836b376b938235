package files

import (
	"math"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// EachRecording is the value of env.normalise that gives each recording a scale of its own.
const EachRecording = "recording"

// Recordings names the recording that each episode belongs to: what the files call it, or else its number. Parts of one
// that a split by time divided have the same name.
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

// MeasureEach is Measure with a scale of the observations for each recording, over its own episodes of the training
// part. Without any, what is held out of it could be predicted only in a scale that it gives itself: that is a fault.
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
		n.Recordings[name] = d.Measure(episodes).Observations
	}
	return n, nil
}

// Of is the normalisation of a recording; false if it has no scale, though each recording has one of its own.
func (n Normalisation) Of(recording string) (Normalisation, bool) {
	if n.Recordings == nil {
		return n, true
	}
	own, ok := n.Recordings[recording]
	return n.with(own), ok
}

// with is the normalisation of a recording with such a scale.
func (n Normalisation) with(own Scale) Normalisation {
	n.Observations.Mean, n.Observations.SD, n.Recordings = own.Mean, own.SD, nil
	return n
}

// OfRows is the normalisation of a series that training did not see, by what is given of it: rows of transformed
// observations, of which NaN are missing.
func (n Normalisation) OfRows(rows [][]float64) Normalisation {
	if n.Recordings == nil || len(rows) == 0 {
		return n
	}
	width := len(rows[0])
	return n.with(measureScale(width, func(visit func(channel int, v float64)) {
		for _, row := range rows {
			for c, v := range row[:min(width, len(row))] {
				if !math.IsNaN(v) {
					visit(c, v)
				}
			}
		}
	}))
}

// For adds scales for the recordings of a data set that have none, each by its first steps; 0: all.
func (n Normalisation) For(d *Dataset, steps int) Normalisation {
	if n.Recordings == nil {
		return n
	}
	all := map[string]Scale{}
	for name, s := range n.Recordings {
		all[name] = s
	}
	for i, name := range d.Recordings() {
		if _, known := all[name]; known {
			continue
		}
		e := &d.Episodes[i]
		if steps > 0 && steps < e.T {
			first := e.slice(d.Spec, 0, steps)
			e = &first
		}
		part := *d
		part.Episodes = []Episode{*e}
		all[name] = part.Measure([]int{0}).Observations
	}
	n.Recordings = all
	return n
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
