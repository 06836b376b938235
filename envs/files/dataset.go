package files

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Dataset is a list of episodes of the same system. It is immutable once read, and may be read by several
// goroutines.
//
// Invariant: every episode has at least two steps; masked observations and the controls of first steps are 0.
type Dataset struct {
	// Spec has the dimensions; Observation is H·W·C for images. Name is "files".
	Spec envs.Spec
	// Image is height, width and channels of an observation; zero if observations are no images.
	Image [3]int
	// Names of the columns, one for each dimension; nil if the files have no names.
	ObservationNames, ControlNames, StateNames []string
	// TimeUnit is the unit of the time between two steps, if the files have dates: s, min, h, day, business day, week,
	// month or year. Empty: the unit is that of the numbers in the files.
	TimeUnit string
	// Origins are subtracted from the observations, one for each dimension, so that float32 keeps the digits of large
	// values; nil: nothing is subtracted.
	Origins []float64
	// Transforms were done to the observations, one for each dimension; nil: none.
	Transforms []Transform

	Episodes []Episode
	// Key are the names of the columns that tell recordings apart; nil: there are none.
	Key []string
	// Notes name content of the files that was not used.
	Notes []string
}

// Episode is one trajectory. The embedded arrays are row-major [T, n]; Controls[t] acts between
// steps t−1 and t, and Controls[0] is zero.
type Episode struct {
	envs.Episode
	// Levels are the observations in the units of the files, before transforms, NaN where they are missing. They are
	// nil if Observations says the same, and in data that were encoded.
	Levels []float64
	// exact are the observations after transforms, NaN where they are missing, where float32 has too few digits for
	// this recording alone; nil: it has enough, as for data that were encoded.
	exact []float64
	// acts are the controls in the units of the files with all digits, where float32 would round some of them too
	// coarsely; nil: it does not, or the data were encoded. The first row is what Before is, and says nothing of an
	// episode that does not continue another one. Data that are scaled keep them.
	acts []float64
	// Mask is 1 where an observation was measured and 0 where it is missing, in the layout of
	// Observations; missing values are stored as 0. nil: nothing is missing.
	Mask []float32
	// Modes are the true modes of the T steps; nil: unknown.
	Modes []int32
	// Continues is set if the episode goes on where the one before it in the list ended; Before are the controls then
	// that lead from there to its first step, which Controls have not. Neither is part of the content.
	Continues bool
	Before    []float32
	// Part is the episode's part in the split of the files; Unassigned if the files have no split.
	Part Part
	// Name is what the files call the recording; may be empty. Key are the texts of the columns that name it, which
	// make the name with "/" between them. Neither is part of the content.
	Name string
	Key  []string
	// Times are those of the steps; nil: the files have none. They are not part of the content.
	Times *Times
	// Source is where the episode was read from, for messages. It is not part of the content.
	Source string
}

// Steps is the number of time steps of all episodes.
func (d *Dataset) Steps() int {
	n := 0
	for i := range d.Episodes {
		n += d.Episodes[i].T
	}
	return n
}

// Observed is the number of observed values of the given episodes, or of all if none is given. Each pixel of an
// image is a value.
func (d *Dataset) Observed(episodes ...int) int {
	n := 0
	for i := range d.Episodes {
		e := &d.Episodes[i]
		if len(episodes) > 0 && !slices.Contains(episodes, i) {
			continue
		}
		n += len(e.Observations)
		for _, m := range e.Mask {
			if m == 0 {
				n--
			}
		}
	}
	return n
}

// Value is element j of the observations in the units of the files, before transforms; NaN if it is missing. The data
// are as they were read, not scaled.
func (e *Episode) Value(j int) float64 {
	switch {
	case e.Levels != nil: // with all digits
		return e.Levels[j]
	case e.Mask != nil && e.Mask[j] == 0:
		return math.NaN()
	}
	return float64(e.Observations[j])
}

// Acted is element j of the controls, with all digits. The data are as they were read, not scaled.
func (e *Episode) Acted(j int) float64 {
	if e.acts != nil && j >= len(e.Controls)/e.T { // not before the first step
		return e.acts[j]
	}
	return float64(e.Controls[j])
}

// Led are the controls that lead to the first step of an episode that continues another one, as Acted has those of the
// others; nil: they are not known.
func (e *Episode) Led() []float64 {
	if e.Before != nil && e.acts != nil {
		return slices.Clone(e.acts[:len(e.Before)])
	}
	return converted[float64](e.Before)
}

// Images reports whether observations are images.
func (d *Dataset) Images() bool { return d.Image[0] > 0 }

// minSteps is the smallest length of an episode: in a single step nothing can be predicted.
const minSteps = 2

// check completes the episodes of one file and returns the first fault. It moves missing values from NaN into the
// mask and checks that all other values are finite. It changes d: it masks, holds controls, clears the first and
// adds a note. Images have to lie in [0, 1], labels are 0 or 1, and an episode has two steps or more.
func (d *Dataset) check() error {
	if len(d.Episodes) == 0 {
		return faultf("", "", "there are no episodes")
	}
	if d.Spec.Observation == 0 {
		return faultf("y", "", "there are no channels")
	}
	seen, held := false, 0
	for i := range d.Episodes {
		e := &d.Episodes[i]
		if e.T < minSteps {
			return faultf(e.Source, "leave it out, or join it with another", "it has %s and needs at least %d",
				terminal.Count(e.T, "step"), minSteps)
		}
		if err := e.maskMissing(d); err != nil {
			return err
		}
		held += hold(e.Controls, d.Spec.Control)
		if e.acts != nil {
			hold(e.acts, d.Spec.Control)
		}
		if err := e.checkFinite(d); err != nil {
			return err
		}
		// What acted before the first step is unknown, whatever the file says.
		clear(e.Controls[:min(d.Spec.Control, len(e.Controls))])
		seen = seen || e.observes()
	}
	if !seen {
		return faultf("y", "", "every value is missing")
	}
	if held > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: the control of the step before holds",
			terminal.Count(held, "missing control")))
	}
	if d.Spec.DT < 0 || math.IsNaN(d.Spec.DT) || math.IsInf(d.Spec.DT, 0) {
		return faultf("dt", "give the time between two steps", "it is %v", d.Spec.DT)
	}
	return nil
}

// observes reports whether the episode has any observed value.
func (e *Episode) observes() bool {
	return e.Mask == nil || slices.Contains(e.Mask, 1)
}

// maskMissing moves missing values from NaN into the mask and stores zero for them. A mask without missing values is
// dropped. A value is missing if it is NaN or if the mask says so. An infinity, and a pixel outside [0, 1], is a
// fault unless it is masked.
func (e *Episode) maskMissing(d *Dataset) error {
	missing := false
	for i, v := range e.Observations {
		absent := e.Mask != nil && e.Mask[i] == 0
		if math.IsNaN(float64(v)) && !absent {
			if e.Mask == nil {
				e.Mask = slices.Repeat([]float32{1}, len(e.Observations))
			}
			e.Mask[i], absent = 0, true
		}
		// A value under a mask is cleared as well, so that equal data have equal encodings.
		if absent {
			e.Observations[i], missing = 0, true
			continue
		}
		if math.IsInf(float64(v), 0) {
			return e.value(d.observationName(), i, d.Spec.Observation, v, "beyond the range of float32",
				"mark it as missing with NaN, or scale the channel")
		}
		if d.Images() && (v < 0 || v > 1) {
			return e.value(d.observationName(), i, d.Spec.Observation, v, "and images have values in [0, 1]",
				"save bytes of 0 to 255, or divide by the largest value")
		}
	}
	if !missing {
		e.Mask = nil
	}
	return nil
}

// hold fills in missing controls, [T,width]: what acted before goes on. A control that is missing from the beginning
// is that of the first step that has one. It returns the number of values that were filled in.
func hold[V float32 | float64](controls []V, width int) (filled int) {
	for c := range width {
		first := -1
		for t := range len(controls) / width {
			at := t*width + c
			switch {
			case !math.IsNaN(float64(controls[at])):
				if first < 0 {
					first = t
				}
			case first >= 0:
				controls[at] = controls[at-width]
				filled++
			}
		}
		for t := range max(first, 0) {
			controls[t*width+c] = controls[first*width+c]
			if t > 0 { // the first one acts on nothing
				filled++
			}
		}
	}
	return filled
}

// checkFinite finds the first value that is not finite and must be. A NaN among the controls is one of a channel
// that has no value at all: the others were held.
func (e *Episode) checkFinite(d *Dataset) error {
	for _, f := range []struct {
		name   string
		data   []float32
		width  int
		first  int // earlier values are not used
		remedy string
	}{
		{
			"u", e.Controls, d.Spec.Control, d.Spec.Control,
			"a control that is never there cannot be used: leave the column out",
		},
		{"states", e.States, d.Spec.State, 0, "leave states out, or fill them in"},
		{"labels", e.Labels, len(d.Spec.Labels), 0, "leave labels out, or fill them in"},
	} {
		for i := f.first; i < len(f.data); i++ {
			if v := float64(f.data[i]); math.IsNaN(v) || math.IsInf(v, 0) {
				return e.value(f.name, i, f.width, f.data[i], "and has to be finite", f.remedy)
			}
		}
	}
	for i, v := range e.Labels {
		if v != 0 && v != 1 {
			return e.value("labels", i, len(d.Spec.Labels), v, "and labels are 0 or 1",
				"rename it to states if it is a quantity")
		}
	}
	return nil
}

// observationName is the array of the observations in the convention.
func (d *Dataset) observationName() string {
	if d.Images() {
		return "images"
	}
	return "y"
}

// value is a fault of element i of a field with the given width.
func (e *Episode) value(field string, i, width int, v float32, what, remedy string) error {
	return faultf(field, remedy, "%s, step %d, channel %d: the value is %v, %s", e.Source, i/width, i%width, v, what)
}

// cut divides episodes into pieces of at most n steps. A rest of one step is dropped. Pieces share the memory of
// their episode.
func (d *Dataset) cut(n int) {
	var pieces []Episode
	for _, e := range d.Episodes {
		for first := 0; first+minSteps <= e.T; first += n {
			p := e.slice(d.Spec, first, min(first+n, e.T))
			clear(p.Controls[:d.Spec.Control]) // it acted before the piece
			pieces = append(pieces, p)
		}
	}
	d.Episodes = pieces
}

// partPlace stands between the place of a recording and the steps of a part of it.
const partPlace = ", steps "

// slice returns the steps from first to end as an episode that shares memory. The steps count from 0. The control of
// its first step stays what it was: callers clear it.
func (e *Episode) slice(s envs.Spec, first, end int) Episode {
	if first == 0 && end == e.T {
		return *e
	}
	p := *e
	p.T, p.Continues, p.Before, p.Times = end-first, false, nil, e.Times.From(first)
	p.Source = fmt.Sprintf("%s"+partPlace+"%d to %d", e.Source, first, end-1)
	nx, nu := s.Observation, s.Control
	p.Observations, p.Mask = between(e.Observations, nx, first, end), between(e.Mask, nx, first, end)
	p.Levels, p.exact = between(e.Levels, nx, first, end), between(e.exact, nx, first, end)
	p.Controls, p.acts = between(e.Controls, nu, first, end), between(e.acts, nu, first, end)
	p.States, p.Labels = between(e.States, s.State, first, end), between(e.Labels, len(s.Labels), first, end)
	p.Modes = between(e.Modes, 1, first, end)
	return p
}

// between are the rows from first to end; nil stays nil. Its capacity ends with them: an append cannot write into those
// that follow.
func between[V any](rows []V, width, first, end int) []V {
	if rows == nil {
		return nil
	}
	return rows[first*width : end*width : end*width]
}

// Season is the number of steps of a usual season of the calendar: a year of weeks, months or quarters, a week of days,
// a day of hours; 0 if there is none.
func (d *Dataset) Season() int {
	of := map[string]float64{"month": 12, "week": 52, "day": 7, "h": 24, "business day": 5}
	if d.TimeUnit == "day" && d.Spec.DT == 7 {
		return 52
	}
	n := of[d.TimeUnit] / d.Spec.DT
	if n != math.Trunc(n) || n < 2 || n > 1000 {
		return 0
	}
	return int(n)
}
