package sweep

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// WriteCSV writes a header and a line for each trial, in the order of their numbers. Metrics have the value at
// the last rung that all runs have reached, put together as the spec says; where runs repeat, also their mean,
// standard deviation and the ends of the interval of 95 %. What is not known is empty. The last columns are the
// seeds and the SHA-256 of the parameters of each run, with spaces between. There are no times and no names of
// machines: two sweeps of the same spec without a timed stop have equal tables, byte for byte.
func (s *State) WriteCSV(w io.Writer) error {
	header := []string{"trial", "cohort", "confirms", "state", "rung", "update"}
	for i := range s.Spec.Parameters {
		header = append(header, s.Spec.Parameters[i].Key)
	}
	for _, m := range s.Spec.Metrics {
		header = append(header, m.Name)
		if s.repeats() {
			header = append(header, m.Name+" mean", m.Name+" sd", m.Name+" low", m.Name+" high")
		}
	}
	table := csv.NewWriter(w)
	if err := table.Write(append(header, "seeds", "params_sha256")); err != nil {
		return err
	}
	for _, t := range s.Trials {
		if err := table.Write(s.row(t)); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// repeats reports whether some trial has more than one run.
func (s *State) repeats() bool {
	return len(s.Spec.Replicates.Seeds) > 1 || s.Spec.Confirm.Top > 0 && s.Spec.Confirm.Seeds > 1
}

// row is the line of a trial, with as many cells as the header.
func (s *State) row(t *Trial) []string {
	confirms := ""
	if t.Of > 0 {
		confirms = strconv.Itoa(t.Of)
	}
	rung := ""
	if n := t.Reached(); n > 0 {
		rung = strconv.Itoa(t.First + n)
	}
	row := []string{
		strconv.Itoa(t.ID), strconv.Itoa(t.Cohort), confirms, string(t.Status), rung,
		strconv.FormatUint(t.Step(), 10),
	}
	for i := range s.Spec.Parameters {
		value, _ := t.Settings.Get(s.Spec.Parameters[i].Key)
		row = append(row, value)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, m := range s.Spec.Metrics {
		v, ok := s.Value(t, m)
		cells := []string{number(v)}
		if s.repeats() {
			if ok {
				e := NewEstimate(t.Values(m.Name, t.Reached()))
				cells = append(cells, number(e.Mean), number(e.Deviation), number(e.Low), number(e.High))
			} else {
				cells = append(cells, "", "", "", "")
			}
		}
		if !ok {
			cells[0] = ""
		}
		row = append(row, cells...)
	}
	var seeds, hashes []string
	for _, r := range t.Runs {
		seeds = append(seeds, strconv.FormatUint(r.Seed, 10))
		if n := t.Reached(); n > 0 {
			hashes = append(hashes, r.Results[n-1].Hash)
		}
	}
	return append(row, strings.Join(seeds, " "), strings.Join(hashes, " "))
}
