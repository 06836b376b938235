package trained

import (
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
)

// headed is a table for CSV with a row for each step of recordings: the recording by its id, the step by its time in
// the form of the files, where they have those, and by its number. Times are texts, so they stand among the marks
// of the table.
func headed(of []Recording) eval.Table {
	t := eval.Table{Corner: "recording", Columns: []string{"step"}}
	if identified(of) {
		t.Corner = of[0].IDColumn
	}
	for _, r := range of {
		if r.Times != nil {
			t.Marks = r.Times.Columns
			break
		}
	}
	return t
}

// identified reports whether each recording has an id of its own. Only then an id tells rows apart.
func identified(of []Recording) bool {
	seen := map[string]bool{"": true}
	for _, r := range of {
		if seen[r.ID] {
			return false
		}
		seen[r.ID] = true
	}
	return of[0].IDColumn != ""
}

// labels name recordings in rows. It is the id where all have one, else where it was read from.
func labels(of []Recording) []string {
	list, own := make([]string, len(of)), identified(of)
	for i, r := range of {
		if list[i] = r.Name; own {
			list[i] = r.ID
		}
	}
	return list
}

// timed are the arrays time [T], or [recordings,T], and id [recordings], where the files have those. Steps are counted
// from the given one of each recording; lengths has how many there are. Steps that a shorter recording does not
// have hold an empty text.
func timed(of []Recording, steps int, from func(i int) int, lengths func(i int) int) []Array {
	var list []Array
	if headed(of).Marks != nil {
		x := Array{Name: "time", Shape: []int{steps}, Text: make([]string, len(of)*steps)}
		if len(of) > 1 {
			x.Shape = []int{len(of), steps}
		}
		for i, r := range of {
			for t := range lengths(i) {
				x.Text[i*steps+t] = strings.Join(r.Times.Text(from(i)+t), " ")
			}
		}
		list = append(list, x)
	}
	if identified(of) {
		x := Array{Name: "id", Shape: []int{len(of)}}
		for _, r := range of {
			x.Text = append(x.Text, r.ID)
		}
		list = append(list, x)
	}
	return list
}

// within are timed for the steps of recordings themselves.
func within(of []Recording) []Array {
	T, _ := longest(of)
	return timed(of, T, func(int) int { return 0 }, func(i int) int { return len(of[i].Observations) })
}
