package files

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Options say how files are read. The zero value reads them by the convention.
type Options struct {
	// Observe, Control and Label name the columns (of arrays: the array) that are observations, controls and
	// labels. If Observe is given, no other column is an observation; Control and Label alike.
	Observe, Control, Label []string
	// Time names the column of times: numbers or dates; or two columns, separated by a comma: days (numbers or
	// dates) and times of the day (14:30, 1430 or hours). ID names the column that tells recordings apart, or several,
	// separated by commas: store,item, of which each pair is a recording.
	Time, ID string
	// Dates is DayFirst or MonthFirst for dates such as 01/02/2021; empty: a date of the column decides, as 13/01/2021.
	Dates string
	// Truth names the column (or the array [N,T]) of whole numbers that is read as the true mode of each step, in place
	// of z.
	Truth string
	// Rename maps names of arrays and columns in the file to names of the convention.
	Rename map[string]string
	// ControlsAfter is set if u[t] acts between steps t and t+1, as in reinforcement learning. Controls are then moved
	// by one step.
	ControlsAfter bool
	// Resample is the step of an even grid to which rows are brought: a number in the unit of the times, or of dates a
	// duration such as 15min, 1h, 1d, 1w, 1mo, 1q or 1y. Empty: rows have to lie on a grid already.
	Resample string
	// Transform is what is done to observations before they are scaled, such as log, diff or log-diff12; see
	// ParseTransforms. Scale.Units undoes it.
	Transform string
	// Cut divides episodes into pieces of at most this many steps. A rest of one step is dropped. 0: episodes stay
	// whole.
	Cut int
	// DT is the time between two steps for files that do not contain it; 0: unknown.
	DT float64
	// Limit is the largest size of the data of all files together, in bytes. 0: 2 GiB.
	Limit int64

	seen *names // if not nil, collects the names that renamed has seen
}

// Or are the options with what they leave open taken from others. Limit stays.
func (o Options) Or(other Options) Options {
	if len(o.Observe) == 0 {
		o.Observe = other.Observe
	}
	if len(o.Control) == 0 {
		o.Control = other.Control
	}
	if len(o.Label) == 0 {
		o.Label = other.Label
	}
	if len(o.Rename) == 0 {
		o.Rename = other.Rename
	}
	o.Dates = cmp.Or(o.Dates, other.Dates)
	o.Time, o.ID = cmp.Or(o.Time, other.Time), cmp.Or(o.ID, other.ID)
	o.Truth = cmp.Or(o.Truth, other.Truth)
	o.Resample, o.Transform = cmp.Or(o.Resample, other.Resample), cmp.Or(o.Transform, other.Transform)
	o.Cut, o.DT = cmp.Or(o.Cut, other.Cut), cmp.Or(o.DT, other.DT)
	o.ControlsAfter = o.ControlsAfter || other.ControlsAfter
	return o
}

// names are the names of columns or arrays, in the order of the files.
type names struct {
	order []string
	known map[string]bool
}

// add appends a name that is not known yet. A nil receiver collects nothing.
func (n *names) add(name string) {
	if n != nil && !n.known[name] {
		n.order, n.known[name] = append(n.order, name), true
	}
}

// NoTime is the Time of options that take no column for times, whatever it holds: the rows are even steps.
const NoTime = "none"

// DefaultLimit is the limit of Options in bytes. It bounds the memory of one reading: of arrays the bytes in the
// file, of tables 8 for each cell of a row and 16 more.
const DefaultLimit = 2 << 30

// limit is the largest size of the data, in bytes, with the default in place of 0.
func (o Options) limit() int64 {
	if o.Limit == 0 {
		return DefaultLimit
	}
	return o.Limit
}

// asked are the names that an option mentions, with the option as a command line has it. NoTime is no name.
func (o Options) asked() []struct{ flag, name string } {
	var list []struct{ flag, name string }
	add := func(flag string, names ...string) {
		for _, n := range names {
			if n != "" {
				list = append(list, struct{ flag, name string }{flag, n})
			}
		}
	}
	add("observe", o.Observe...)
	add("control", o.Control...)
	add("label", o.Label...)
	if o.Time != NoTime {
		add("time", words(o.Time)...)
	}
	add("id", words(o.ID)...)
	add("truth", o.Truth)
	add("rename", slices.Sorted(maps.Keys(o.Rename))...)
	return list
}

// column is the role of a column, and its name in the convention. What an option names comes first; then Rename;
// then the convention. Once an option names the columns of a role, the convention gives that role to no other
// column, unless Rename does. An unused column keeps its name.
func (o Options) column(name string) (role, string) {
	o.seen.add(name)
	switch {
	case slices.Contains(o.Observe, name):
		return observation, conventional("y", name)
	case slices.Contains(o.Control, name):
		return control, conventional("u", name)
	case slices.Contains(o.Label, name):
		return label, conventional("label", name)
	case slices.Contains(words(o.Time), name):
		// Of several columns the first is that of the times; the others add to it.
		switch {
		case words(o.Time)[0] == name:
			return timeOf, "t"
		case inParts(words(o.Time)):
			return dateOf, name
		}
		return clockOf, "the time of the day"
	case slices.Contains(words(o.ID), name):
		if len(words(o.ID)) > 1 {
			return episodeID, name
		}
		return episodeID, "episode"
	case o.Truth != "" && name == o.Truth:
		return modeOf, "z"
	}
	to, renamed := o.Rename[name]
	if !renamed {
		to = name
	}
	r := roleOf(to)
	replaced := r == observation && o.Observe != nil || r == control && o.Control != nil || r == label && o.Label != nil ||
		r == timeOf && o.Time != "" || r == episodeID && o.ID != "" ||
		r == modeOf && o.Truth != ""
	if replaced && !renamed {
		r = unused
	}
	return r, to
}

// conventional is the name in the convention for a column that was chosen by name. A chosen column speed is
// y_speed; one that is called y_speed already stays as it is.
func conventional(word, name string) string {
	if roleOf(name) == roleOf(word) {
		return name
	}
	return word + "_" + name
}

// array is the name in the convention for an array. The order is that of column: options, Rename, convention. It
// is empty for an array of the convention that an option has put another one in place of.
func (o Options) array(name string) string {
	o.seen.add(name)
	switch {
	case slices.Contains(o.Observe, name):
		if name == "images" {
			return name
		}
		return "y"
	case slices.Contains(o.Control, name):
		return "u"
	case slices.Contains(o.Label, name):
		return "labels"
	case o.Truth != "" && name == o.Truth:
		return "z"
	case o.Time != "" && name == o.Time:
		return "t"
	case o.ID != "" && name == o.ID:
		return "episode"
	}
	if to, ok := o.Rename[name]; ok {
		return to
	}
	replaced := (name == "y" || name == "images") && len(o.Observe) > 0 || name == "u" && o.Control != nil ||
		name == "labels" && o.Label != nil || name == "z" && o.Truth != "" || name == "t" && o.Time != "" ||
		name == "episode" && o.ID != ""
	if replaced {
		return ""
	}
	return name
}

// checkArrays returns an error if an option names several of some arrays as the times or the names of episodes.
func (o Options) checkArrays(names []string) error {
	for _, of := range []struct{ flag, names, problem string }{
		{"--time ", o.Time, "only tables have times in several columns"},
		{"--id ", o.ID, "only tables tell recordings apart by several columns"},
	} {
		named := words(of.names)
		there := func(name string) bool { return slices.Contains(names, name) }
		if len(named) > 1 && slices.ContainsFunc(named, there) {
			return faultf(of.flag+of.names, "name a single array", "%s", of.problem)
		}
	}
	return nil
}

// checkNames returns an error if an option names what no file contains. kind says whether the names are those of
// columns or arrays. The names of all files have been collected in o.seen before.
func (o Options) checkNames(kind string) error {
	if l := o.lack(); l != nil {
		return faultf("--"+l.Option+" "+l.Name, "", "there is no such %s; there are %s", kind, list(l.Have))
	}
	return nil
}

// Lack is a column or an array that options name and files do not have.
type Lack struct {
	Option string   // that names it: observe, control, label, time, id, truth or rename
	Name   string   // of what there is not
	Have   []string // what there is
}

// uses are what a column is to a run, by the option that names it.
var uses = map[string]string{
	"observe": "the run observes", "control": "is a control of the run", "label": "is a label of the run",
	"time": "has the times of the run", "id": "names the recordings of the run", "truth": "has the regimes of the run",
	"rename": "the run renames",
}

// OfRun is the fault of files that lack what a run reads in its own. Nobody has given the option.
func (l *Lack) OfRun(paths []string) error {
	return inFile(strings.Join(paths, ", "), faultf("", "name yours with --"+l.Option,
		"there is no %s, which %s; there are %s", l.Name, uses[l.Option], list(l.Have)))
}

// Lacking finds the first column or array that options name and that none of the files has; nil if there is none.
// Values do not count, whatever is wrong with them. It reads the files.
func Lacking(paths []string, o Options) *Lack {
	inputs, err := expand(paths)
	if err != nil || len(inputs) == 0 {
		return nil
	}
	o.seen = &names{known: map[string]bool{}}
	for _, in := range inputs {
		left := o.limit()
		_, _ = readFile(in.path, o, &left) // the names come before all that may be wrong
	}
	return o.lack()
}

// lack is the first name that an option mentions and that has not been seen; nil if all were.
func (o Options) lack() *Lack {
	for _, a := range o.asked() {
		if !o.seen.known[a.name] {
			return &Lack{a.flag, a.name, o.seen.order}
		}
	}
	return nil
}

// Asks reports whether an option, as Lack names it, is set.
func (o Options) Asks(option string) bool {
	for _, a := range o.asked() {
		if a.flag == option {
			return true
		}
	}
	return false
}

// checkRoles returns an error if an option gives one name two roles, or if Time has a form that it cannot have. It
// needs no file.
func (o Options) checkRoles() error {
	if named := words(o.Time); !inParts(named) && (len(named) > 2 || len(named) == 2 && yearAmong(named)) {
		return faultf("--time "+o.Time, "", "times are in one column, or in two (days and times of day), or in the parts "+
			"of a date: year,quarter or year,month or year,month,day or year,month,day,hour")
	}
	// The option that has named a column first is the one that the message gives beside the second.
	first := map[string]string{}
	for _, a := range o.asked() {
		if other, twice := first[a.name]; twice {
			return faultf("--"+a.flag+" "+a.name, "give every column one meaning", "it is given as --%s too", other)
		}
		first[a.name] = a.flag
	}
	return nil
}
