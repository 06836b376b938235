package files

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs"
)

func itoa(n int) string { return strconv.Itoa(n) }

// close makes an episode from the rows that were read.
func (t *table) close() error {
	e := t.open
	t.open = nil
	t.closed[e.id] = true
	T := len(e.lines)
	d := t.data
	episode := Episode{
		Episode: envs.Episode{T: T, Observations: e.observations, Controls: e.controls, States: e.states, Labels: e.labels},
		Modes:   e.modes, Part: e.part,
		Source: fmt.Sprintf("lines %d to %d", e.lines[0], e.lines[T-1]),
	}
	if e.id != "" {
		episode.Source = fmt.Sprintf("episode %s (%s)", e.id, episode.Source)
	}
	if t.options.ControlsAfter {
		episode.Controls = shifted(e.controls[:max(0, T-1)*d.Spec.Control], T, d.Spec.Control)
	}
	for i := d.Spec.Control; i < len(episode.Controls); i++ {
		if math.IsNaN(float64(episode.Controls[i])) {
			row := i / d.Spec.Control
			if t.options.ControlsAfter {
				row--
			}
			return faultf(fmt.Sprintf("line %d", e.lines[row]), "controls cannot be missing: fill them in", "control %d is empty", i%d.Spec.Control)
		}
	}
	if e.mask != nil {
		nx := d.Spec.Observation
		episode.Mask = make([]float32, T*nx)
		for i := range episode.Mask {
			episode.Mask[i] = e.mask[i/nx]
		}
	}
	if err := t.interval(e); err != nil {
		return err
	}
	d.Episodes = append(d.Episodes, episode)
	return nil
}

// interval takes the time between two steps from the first episode and compares that of the others with it.
func (t *table) interval(e *rows) error {
	if !t.hasTime || len(e.time) < 2 {
		return nil
	}
	n := len(e.time)
	dt := medianGap(e.time)
	for i := 1; i < n; i++ {
		gap := e.time[i] - e.time[i-1]
		place := fmt.Sprintf("line %d", e.lines[i])
		if !(gap > 0) || math.IsInf(gap, 0) {
			return faultf(place, "sort the rows by time; a column episode tells episodes apart", "t goes from %v to %v", e.time[i-1], e.time[i])
		}
		if dt > 0 && (gap < 0.5*dt || gap > 1.5*dt) {
			return faultf(place, "steps have to be equally long: add rows with empty observations for those that are missing, resample, or leave t out",
				"t goes from %v to %v, where %.6g is the rule", e.time[i-1], e.time[i], dt)
		}
	}
	dt = rounded((e.time[n-1] - e.time[0]) / float64(n-1))
	if t.data.Spec.DT == 0 {
		t.data.Spec.DT = dt
	}
	if known := t.data.Spec.DT; math.Abs(dt-known) > 0.01*known {
		return faultf(fmt.Sprintf("line %d", e.lines[0]), "resample, or leave t out", "the time between two steps is %v, in the first episode %v", dt, known)
	}
	return nil
}

func medianGap(t []float64) float64 {
	gaps := make([]float64, len(t)-1)
	for i := range gaps {
		gaps[i] = t[i+1] - t[i]
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// rounded returns v with six significant digits: in the mean of many intervals the last digits are inexact.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return r
}
