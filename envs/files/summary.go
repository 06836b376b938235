package files

import (
	"math"
	"slices"
)

// Summary describes a data set for people, before they train on it. Missing is the number of missing observations of
// all channels; DT is in TimeUnit, or in the unit of the files. Notes are those of the data set, and what is
// suspicious of its values.
type Summary struct {
	Episodes int       `json:"episodes"`
	Steps    int       `json:"steps"`
	Lengths  Lengths   `json:"lengths"`
	Channels []Channel `json:"channels"`
	Image    []int     `json:"image,omitempty"` // height, width, channels
	States   int       `json:"states"`
	Labels   []string  `json:"labels,omitempty"`
	Modes    int       `json:"modes"` // different true modes; 0: unknown
	DT       float64   `json:"dt"`    // 0: unknown
	TimeUnit string    `json:"time_unit,omitempty"`
	Missing  int       `json:"missing"`
	Split    [3]int    `json:"split"` // episodes for training, validation and test; zero: not given
	Hash     string    `json:"sha256"`
	Notes    []string  `json:"notes,omitempty"`
}

// Lengths describes the lengths of the episodes, in steps.
type Lengths struct {
	Min    int `json:"min"`
	Median int `json:"median"`
	Max    int `json:"max"`
}

// Channel is a column of observations (y) or controls (u). All pixels of images together are one channel. Values are
// in the units of the files where levels are known, and else as the data set holds them.
type Channel struct {
	Signal   string  `json:"signal"`
	Name     string  `json:"name"`
	Observed int     `json:"observed"` // number of values; if it is 0, the quantities below are 0
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Mean     float64 `json:"mean"`
	SD       float64 `json:"sd"`
	Missing  int     `json:"missing"`
	Constant bool    `json:"constant"`
}

// Summarise reads the whole data set. Observations come before controls; the controls of first steps, which act on
// nothing, do not count.
func (d *Dataset) Summarise() (Summary, error) {
	s := Summary{
		Episodes: len(d.Episodes), Steps: d.Steps(), States: d.Spec.State, Labels: d.Spec.Labels, DT: d.Spec.DT,
		TimeUnit: d.TimeUnit,
		Notes:    d.Notes,
	}
	var lengths []int
	modes := map[int32]bool{}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		lengths = append(lengths, e.T)
		for _, z := range e.Modes {
			modes[z] = true
		}
		if e.Part != Unassigned {
			s.Split[e.Part]++
		}
	}
	slices.Sort(lengths)
	s.Modes = len(modes)
	s.Lengths = Lengths{lengths[0], lengths[len(lengths)/2], lengths[len(lengths)-1]}
	if d.Images() {
		s.Image = d.Image[:]
		s.Channels = d.channels("images", 1, nil, func(e *Episode) ([]float32, []float32) { return e.Observations, e.Mask })
	} else {
		s.Channels = d.channels("y", d.Spec.Observation, d.ObservationNames,
			func(e *Episode) ([]float32, []float32) { return e.Observations, e.Mask })
		s.Notes = append(slices.Clone(s.Notes), d.remarks()...)
	}
	for _, c := range s.Channels {
		s.Missing += c.Missing
	}
	s.Channels = append(s.Channels, d.channels("u", d.Spec.Control, d.ControlNames,
		func(e *Episode) ([]float32, []float32) {
			return e.Controls[d.Spec.Control:], nil
		})...)
	var err error
	s.Hash, err = d.Hash()
	return s, err
}

// channels measures the columns of a signal. Missing values are counted and otherwise ignored. of gives the rows of
// a signal and their mask; nil: nothing is masked. Deviations divide by the number of values.
func (d *Dataset) channels(signal string, width int, names []string,
	of func(*Episode) (data, mask []float32),
) []Channel {
	list := make([]Channel, width)
	squares := make([]float64, width)
	for c := range list {
		list[c] = Channel{Signal: signal, Name: signal, Min: math.Inf(1), Max: math.Inf(-1)}
		if signal != "images" {
			list[c].Name = heading(signal, names, c)
		}
	}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		data, mask := of(e)
		for j, x := range data {
			c := j % width
			v := float64(x)
			if signal == "u" {
				v = e.Acted(j + width)
			} else if signal == "y" && e.Levels != nil {
				v = e.Levels[j]
			} else if mask != nil && mask[j] == 0 {
				v = math.NaN()
			}
			if math.IsNaN(v) {
				list[c].Missing++
				continue
			}
			// Welford's running mean keeps the last digits of large values.
			list[c].Observed++
			delta := v - list[c].Mean
			list[c].Mean += delta / float64(list[c].Observed)
			squares[c] += float64(delta * (v - list[c].Mean))
			list[c].Min, list[c].Max = min(list[c].Min, v), max(list[c].Max, v)
		}
	}
	for c := range list {
		if list[c].Observed == 0 {
			list[c].Min, list[c].Max = 0, 0 // there are no values, and JSON has no infinity
			continue
		}
		list[c].SD = math.Sqrt(squares[c] / float64(list[c].Observed))
		list[c].Constant = list[c].Min == list[c].Max
	}
	return list
}
