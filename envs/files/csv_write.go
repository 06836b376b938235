package files

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// WriteCSV writes all episodes into one table with a column episode: a line of names and a row for each step,
// separated by commas. An episode is named by its name, or by its number if not all have one of their own. A missing
// value is an empty cell, or nan in a table of one column, where an empty line is none; numbers have as many digits as
// their type needs. Times are those of the files if KeepsTimes, else t·dt. It returns an *Error for images, which do
// not fit into a table.
func (d *Dataset) WriteCSV(w io.Writer) error {
	with := csvColumns{names: d.csvNames(), times: d.writtenTimes(false)}
	numbered := with.names == nil
	indices := make([]int, len(d.Episodes))
	for i := range indices {
		if indices[i] = i; numbered {
			with.names = append(with.names, itoa(i))
		}
	}
	return d.writeCSV(w, indices, with)
}

// EpisodeCSV returns a function that writes one episode, counted from 0, as a table. There is no column episode, unless
// the episodes have names of their own.
func (d *Dataset) EpisodeCSV() func(w io.Writer, episode int) error {
	with := csvColumns{names: d.csvNames(), times: d.writtenTimes(false)}
	return func(w io.Writer, episode int) error { return d.writeCSV(w, []int{episode}, with) }
}

// writeCSV writes the given episodes, of which there is at least one, in their order.
func (d *Dataset) writeCSV(w io.Writer, episodes []int, with csvColumns) error {
	if d.Images() {
		return faultf("images", "write .npz", "a CSV file holds no images")
	}
	// As in .npz: modes and parts are written if all episodes have them.
	with.modes, with.part = true, true
	for _, i := range episodes {
		with.modes = with.modes && d.Episodes[i].Modes != nil
		with.part = with.part && d.Episodes[i].Part != Unassigned
	}
	out := csv.NewWriter(w)
	out.Write(d.csvHeader(with)) // the writer keeps the first error
	for _, i := range episodes {
		e := &d.Episodes[i]
		for t := range e.T {
			row := d.csvRow(e, i, t, with)
			if len(row) == 1 && row[0] == "" { // as an empty line it would be none where a file begins or ends
				row[0] = "nan"
			}
			out.Write(row)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// csvColumns are the columns that not every table has: names and times [episodes][T] of all episodes, or nil.
type csvColumns struct {
	names       []string
	times       [][]string
	modes, part bool
}

// csvHeader is the line of names, in the order of csvRow.
func (d *Dataset) csvHeader(with csvColumns) []string {
	var header []string
	if with.names != nil {
		header = append(header, "episode")
	}
	if d.Spec.DT > 0 || with.times != nil {
		header = append(header, "t")
	}
	for _, s := range []struct {
		word  string
		names []string
		n     int
	}{
		{"y", d.ObservationNames, d.Spec.Observation},
		{"u", d.ControlNames, d.Spec.Control},
		{"state", d.StateNames, d.Spec.State},
		{"label", d.Spec.Labels, len(d.Spec.Labels)},
	} {
		for i := range s.n {
			name := heading(s.word, s.names, i)
			for n := i; slices.Contains(header, name); n++ { // a table has each name once
				name = heading(s.word, s.names, i) + "_" + itoa(n+1)
			}
			header = append(header, name)
		}
	}
	if with.modes {
		header = append(header, "z")
	}
	if with.part {
		header = append(header, "split")
	}
	return header
}

// csvRow is step t of an episode. Observations are in the units of the files where levels are known.
func (d *Dataset) csvRow(e *Episode, index, t int, with csvColumns) []string {
	var row []string
	if with.names != nil {
		row = append(row, with.names[index])
	}
	if with.times != nil {
		row = append(row, with.times[index][t])
	} else if d.Spec.DT > 0 {
		row = append(row, strconv.FormatFloat(float64(t)*d.Spec.DT, 'g', 12, 64))
	}
	number := func(v float32) { row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 32)) }
	nx := d.Spec.Observation
	for i := t * nx; i < (t+1)*nx; i++ {
		if e.Mask != nil && e.Mask[i] == 0 {
			row = append(row, "")
			continue
		}
		// float64, with as many digits as it needs.
		if e.Levels != nil {
			row = append(row, strconv.FormatFloat(e.Levels[i], 'g', -1, 64))
			continue
		}
		number(e.Observations[i])
	}
	for i := t * d.Spec.Control; i < (t+1)*d.Spec.Control; i++ {
		if e.acts != nil {
			row = append(row, strconv.FormatFloat(e.Acted(i), 'g', -1, 64))
			continue
		}
		number(e.Controls[i])
	}
	for _, s := range []struct {
		data  []float32
		width int
	}{{e.States, d.Spec.State}, {e.Labels, len(d.Spec.Labels)}} {
		for _, v := range s.data[t*s.width : (t+1)*s.width] {
			number(v)
		}
	}
	if with.modes {
		row = append(row, itoa(int(e.Modes[t])))
	}
	if with.part {
		row = append(row, e.Part.String())
	}
	return row
}
