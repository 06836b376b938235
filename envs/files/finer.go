package files

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// finer sees to it that times write the steps that were asked for, where the column has no form for them: decimals of
// numbers become as many as the step has, and dates and times of the day take another form of their column or that of
// ISO 8601. It is an error if no form tells the steps apart.
func (d *Dataset) finer(asked string) error {
	var list []*Times
	for i := range d.Episodes {
		if t := d.Episodes[i].Times; t != nil {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	first := list[0]
	if !first.clock.dates {
		return first.clock.finer(first.grid.step, asked)
	}
	if legible(list) {
		return nil
	}
	for _, form := range first.finerForms() {
		c, of := first.clock.in(form), &dayClock{colons: true, forms: forms{list: []string{form}}}
		for _, t := range list {
			if t.ofDay != nil {
				t.ofDay = of
			} else {
				t.clock = c
			}
		}
		if legible(list) {
			return nil
		}
	}
	return first.unwritable(asked)
}

// unwritable is the error that no form of the columns writes the steps that were asked for.
func (t *Times) unwritable(asked string) error {
	remedy, columns := "take a longer step", "column "+t.Columns[0]
	if n := len(t.Columns) - 1; n > 0 {
		columns = "the columns " + strings.Join(t.Columns[:n], ", ") + " and " + t.Columns[n]
		steps := map[string]string{"hour": "1h", "day": "1d", "month": "1mo", "quarter": "1q"}
		if step, ok := steps[datePart[strings.ToLower(t.Columns[n])]]; ok && t.ofDay == nil {
			remedy += ", e.g. --resample " + step + ", or write the dates in one column"
		}
	}
	return faultf("--resample "+asked, remedy, "%s cannot tell its steps apart", columns)
}

// finer is Dataset.finer for times that are numbers.
func (c *clock) finer(step float64, asked string) error {
	switch {
	case c.based && step != math.Trunc(step):
		return faultf("--resample "+asked, "take a whole number", "the times are whole numbers that float64 does not "+
			"hold")
	case c.digits > 0: // times without decimals get those that they need
		c.digits = max(c.digits, decimals(strconv.FormatFloat(step, 'g', -1, 64)))
	}
	return nil
}

// in is a copy of a clock of dates or times of the day that writes them in a form.
func (c *clock) in(form string) *clock {
	other := *c
	if other.code = nil; c.hoursMinutes {
		other.hoursMinutes, other.numbered, other.ofDay = false, false, true
	}
	for i := range other.forms {
		other.forms[i].list = []string{form}
	}
	return &other
}

// finerForms are the forms that may take the place of the one of a column, the usual ones first: those that its dates
// leave open, then those of ISO 8601. Parts of dates have none.
func (t *Times) finerForms() []string {
	own := t.clock.forms[0].list
	if t.clock.swapped {
		own = t.clock.forms[1].list
	}
	if t.ofDay != nil {
		own = t.ofDay.forms.list
	} else if len(t.Columns) > 1 {
		return nil
	}
	list := slices.Clone(own[min(1, len(own)):])
	hours := []string{"15:04", "15:04:05", "15:04:05.999999"}
	switch {
	case t.ofDay != nil || t.clock.ofDay || t.clock.hoursMinutes:
		return append(list, hours...)
	case t.clock.own || t.zones != nil:
		for _, hour := range hours {
			list = append(list, "2006-01-02T"+hour+"Z07:00")
		}
		return list
	}
	list = append(list, "2006-01-02")
	for _, hour := range hours {
		list = append(list, "2006-01-02 "+hour)
	}
	return list
}

// Steps and recordings that are looked at: what a form cannot write shows within the first ones.
const (
	legibleSteps = 16
	legibleTimes = 100
)

const microsecond = 1e-6 // in seconds; float64 does not tell shorter steps of dates apart

// legible reports whether texts of steps are read back as the same times.
func legible(list []*Times) bool {
	for _, t := range list[:min(len(list), legibleTimes)] {
		if t.grid.length() < microsecond {
			return false
		}
		for step := range legibleSteps {
			texts := t.Text(step)
			if len(texts) != len(t.Columns) {
				return false
			}
			at, err := t.read(texts)
			if err != nil { // it is beyond the years that are read, in whichever form
				break
			}
			off := t.moment(step) - at
			if t.clock.ofDay || t.clock.hoursMinutes {
				off -= float64(day * math.Round(off/day))
			}
			if math.Abs(off) > microsecond/2 {
				return false
			}
		}
	}
	return true
}
