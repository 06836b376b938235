package trained

import (
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// headed is a table for CSV with a row for each step of recordings: the recording by its id, in as many columns as the
// files have for it, the step by its time in the form of the files, where they have those, and by its number. Times are
// texts, so they stand among the marks of the table, as the columns of an id behind the first do.
func headed(of []Recording) eval.Table {
	t := eval.Table{Corner: "recording", Columns: []string{"step"}}
	if identified(of) {
		t.Corner = of[0].KeyColumns[0]
		t.Marks = slices.Clone(of[0].KeyColumns[1:])
	}
	t.Marks = append(t.Marks, clock(of)...)
	return t
}

// clock are the columns of times in the files; nil: there are none.
func clock(of []Recording) []string {
	for _, r := range of {
		if r.Times != nil {
			return r.Times.Columns
		}
	}
	return nil
}

// identified reports whether each recording has an id of its own. Only then an id tells rows apart.
func identified(of []Recording) bool {
	seen := map[string]bool{"": true}
	for _, r := range of {
		id := files.NameOf(r.Key)
		if seen[id] {
			return false
		}
		seen[id] = true
	}
	return len(of[0].KeyColumns) > 0
}

// label names a recording in the rows of headed: the text below the corner, and those below the first marks.
type label struct {
	name string
	rest []string
}

// labels name recordings in rows. It is the id where all have one, else where it was read from.
func labels(of []Recording) []label {
	list, own := make([]label, len(of)), identified(of)
	for i, r := range of {
		if list[i].name = r.Name; own {
			list[i] = label{r.Key[0], r.Key[1:]}
		}
	}
	return list
}

// marks are those of the row of a step.
func (l label) marks(times *files.Times, step int) []string {
	if l.rest == nil {
		return times.Text(step)
	}
	return slices.Concat(l.rest, times.Text(step))
}

// timed are the arrays time [T], or [recordings,T], and id [recordings], where the files have those. Steps are counted
// from the given one of each recording; lengths has how many there are. Steps that a shorter recording does not
// have hold an empty text.
func timed(of []Recording, steps int, from func(i int) int, lengths func(i int) int) []Array {
	var list []Array
	if clock(of) != nil {
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
			x.Text = append(x.Text, files.NameOf(r.Key))
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
