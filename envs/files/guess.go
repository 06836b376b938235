package files

import (
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// A guess is made from so many rows, or from fewer that take half of the memory that data may take; from more, if later
// rows show that the first ones are all of one recording, or of few.
const (
	guessRows = 20_000
	moreRows  = 200_000
	cellBytes = 64 // of a cell beside its text, about
)

// Guess looks at the first file of paths for columns or arrays that the convention does not know, and completes options
// by what they seem to be: from names that are usual, and from what the values do. Where the convention, or the
// options, say already what is observed, it looks for times and recordings alone, so that a date beside y does not go
// unseen. What it returns is a proposal: show it to the user.
func Guess(paths []string, o Options) (Options, error) {
	o, array, err := o.guessTable(paths, guessRows)
	if err != nil || array == "" {
		return o, err
	}
	return o.guessArrays(array)
}

// guessTable is Guess for a table, from its first rows; array is the first file if it is none.
func (o Options) guessTable(paths []string, rows int) (guessed Options, array string, err error) {
	inputs, err := expand(paths)
	if err != nil || len(inputs) == 0 {
		return o, "", err
	}
	in, closing, err := openTable(inputs[0].path)
	if err != nil {
		return o, "", err
	}
	defer closing()
	if in == nil {
		return o, inputs[0].path, nil
	}
	columns, observed, err := o.sample(in, rows)
	if err != nil {
		return o, "", inFile(inputs[0].path, err)
	}
	if columns == nil {
		return o, "", nil
	}
	if unitsFirst(columns) {
		return o, "", inFile(inputs[0].path, faultf("line 2", "leave it out", "it holds units, not values"))
	}
	o, taken, id := o.guessedTimes(columns)
	if observed {
		return o, "", nil
	}
	return o.guessedSignals(columns, taken, id), "", nil
}

// ReadGuessed reads files by options that Guess has completed, and returns these. Where the column of times was a guess
// and its times are uneven, they are brought to an even grid.
func ReadGuessed(paths []string, asked Options) (*Dataset, Options, error) {
	how, array, err := asked.guessTable(paths, guessRows)
	if err != nil {
		return nil, how, err
	}
	d, err := Read(paths, how)
	if errors.Is(err, errOrder) && asked.ID == "" {
		if more, _, failed := asked.guessTable(paths, moreRows); failed == nil && more.ID != how.ID {
			if all, failed := Read(paths, more); failed == nil {
				d, how, err = all, more, nil
			}
		}
	}
	if array != "" && errors.Is(err, ErrData) { // else the convention says what is observed
		if how, err = how.guessArrays(array); err == nil {
			d, err = Read(paths, how)
		}
	}
	if step, uneven := ResampleStep(err); uneven && asked.Time == "" && how.Time != "" {
		how.Resample = step
		d, err = Read(paths, how)
	}
	return d, how, err
}

// openTable opens a file of rows; nil if it is another file. The function closes the file.
func openTable(path string) (rowSource, func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, pathFault(err)
	}
	in, err := tableOf(f, path)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return in, f.Close, nil
}

// arrayNames are the names that arrays with observations and with controls usually have.
var (
	arrayNames = []string{
		"obs", "observation", "observations", "outputs", "output", "data", "x", "arr_0", "yest",
		"frames", "video", "values",
	}
	controlNames = []string{"action", "actions", "act", "input", "inputs", "control", "controls", "uest"}
)

// guessArrays finds the array of observations by its name, or because it is the only one. It guesses only where
// reading by the convention fails for want of an array y or images.
func (o Options) guessArrays(path string) (Options, error) {
	if len(o.Observe) > 0 {
		return o, nil
	}
	left := o.limit()
	o.seen = &names{known: map[string]bool{}}
	_, err := readFile(path, o, &left)
	seen := o.seen.order
	o.seen = nil
	if err == nil || !errors.Is(err, ErrData) || len(seen) == 0 {
		return o, nil
	}
	for _, n := range seen {
		if to := o.Rename[n]; n == "y" || n == "images" || to == "y" || to == "images" {
			return o, nil // something else is wrong
		}
	}
	for _, n := range seen {
		if lower := strings.ToLower(n); lower == "y" || slices.Contains(arrayNames, lower) || len(seen) == 1 {
			o.Observe = []string{n}
			break
		}
	}
	for _, n := range seen {
		if lower := strings.ToLower(n); o.Observe != nil && o.Control == nil && !slices.Contains(o.Observe, n) &&
			(lower == "u" && n != "u" || slices.Contains(controlNames, lower)) {
			o.Control = []string{n}
		}
	}
	return o, nil
}

// sample reads the first rows of a table; nil if there are none. observed is set if the options or the convention
// say what is observed. observed stays unset for a y that is one coordinate of several, or the target of a long
// table.
func (o Options) sample(in rowSource, rows int) (columns []*sampled, observed bool, err error) {
	header, err := in.next()
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	observed = len(o.Observe) > 0
	space, plain := coordinates(header), slices.Contains(header, "y") // rows take the place of the header
	for i, cell := range header {
		name := columnName(cell, i)
		r, _ := o.column(name)
		observed = observed || r == observation && !plainTarget(name, header)
		columns = append(columns, &sampled{
			name: name, unnamed: strings.TrimSpace(cell) == "", numeric: true,
			times: []float64{},
		})
	}
	clocks := slices.Repeat([]clock{{order: o.Dates, commas: in.decimalCommas()}}, len(columns))
	for row, left := 0, o.limit()/2; row < rows && left > 0; row++ {
		record, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
		for i, cell := range record {
			left -= int64(cellBytes + len(cell))
			columns[i].add(strings.TrimSpace(cell), &clocks[i], in.decimalCommas())
		}
	}
	for i, c := range columns {
		c.settle(&clocks[i])
		space = space || plain && c.name == "z" && c.measured()
	}
	return columns, observed && (!space || len(o.Observe) > 0), nil
}

// measured reports whether a column has numbers that count nothing.
func (c *sampled) measured() bool {
	return c.numeric && slices.ContainsFunc(c.numbers, func(v float64) bool {
		return v != math.Trunc(v) && !math.IsNaN(v)
	})
}

// coordinates reports whether columns x and y stand side by side: then y alone is not what was observed.
func coordinates(header []string) bool {
	names := make([]string, len(header))
	for i, h := range header {
		names[i] = strings.TrimSpace(h)
	}
	return slices.Contains(names, "x") && slices.Contains(names, "y")
}

// plainTarget reports whether y is the target of a long table, beside an identity and a time that the convention does
// not know.
func plainTarget(name string, header []string) bool {
	return name == "y" && slices.ContainsFunc(header, func(h string) bool {
		return slices.Contains(idNames,
			strings.ToLower(strings.TrimSpace(h)))
	})
}

// columnName is the heading of column i, counted from 0; column1, column2, … where it is empty. Commas and ends of
// lines become spaces: names are listed with commas, on one line.
func columnName(cell string, i int) string {
	name := strings.TrimSpace(cell)
	if strings.ContainsAny(name, ",\t\r\n") {
		name = strings.Join(strings.Fields(strings.ReplaceAll(name, ",", " ")), " ")
	}
	name = terminal.Plain(name)
	if name == "" {
		return "column" + itoa(i+1)
	}
	return name
}

// Names that are usual.
var (
	timeNames = []string{
		"t", "time", "ds", "date", "datetime", "timestamp", "year", "month", "quarter", "week", "day",
		"hour", "age", "step", "index",
	}
	idNames = []string{
		"unique_id", "id", "series", "series_id", "item_id", "episode", "subject", "trial", "run",
		"group", "unit",
	}
	partNames = []string{"year", "month", "quarter", "week", "day", "hour", "minute", "second", "weekday", "index"}
	onlyTimes = []string{"time", "ds", "date", "datetime", "timestamp"} // never observed
	rowNames  = []string{"rownames", "unnamed: 0", "row", "x", "v1"}
)

// guessedTimes completes options by the columns of times and of recordings. It returns the columns whose meaning is
// settled, and that of recordings.
func (o Options) guessedTimes(columns []*sampled) (Options, map[string]bool, *sampled) {
	taken := map[string]bool{}
	for _, a := range o.asked() {
		taken[a.name] = true
	}
	number := columns[0] // rows are often numbered in front
	called := strings.ToLower(number.name)
	dated := slices.ContainsFunc(columns, func(c *sampled) bool { return c.dates && c.times != nil })
	if !taken[number.name] && (number.unnamed ||
		number.counts() && (slices.Contains(rowNames, called) || called == "id" && dated)) {
		taken[number.name] = true
	}
	var time, id *sampled
	apart := maps.Clone(taken) // what the convention knows is no time and no recording
	for _, c := range columns {
		switch r, _ := o.column(c.name); r {
		case unused:
			continue
		case timeOf:
			time = c
		case episodeID:
			id = id.beside(c)
		}
		apart[c.name] = true
	}
	given := id
	if time == nil && o.Time == "" {
		if time, id = guessTime(columns, apart, id); time != nil && time.grows(id) {
			o.Time = time.name
		}
		if time == nil { // read all the same, so that what is wrong is said
			time, id = unusable(columns, apart, given)
			if time != nil {
				o.Time = time.name
			}
		}
	}
	if time != nil && id == nil && !time.grows(nil) {
		id = guessID(columns, apart, time)
	}
	if id != nil && id != given && o.ID == "" {
		o.ID = id.name
	}
	for _, name := range slices.Concat(words(o.Time), words(o.ID), []string{o.Time}) {
		taken[name] = true
	}
	return o, taken, id
}

// unusable finds the column of times that cannot be used as they are, and the one that tells recordings apart by its
// name.
func unusable(columns []*sampled, taken map[string]bool, id *sampled) (*sampled, *sampled) {
	at := slices.IndexFunc(columns, func(c *sampled) bool { return !taken[c.name] && c.undecided() })
	if at < 0 {
		return nil, id
	}
	for _, c := range columns {
		usual := slices.Contains(idNames, strings.ToLower(c.name))
		if id == nil && c != columns[at] && !taken[c.name] && usual && c.groups() <= len(c.texts)/2 {
			id = c
		}
	}
	return columns[at], id
}

// guessedSignals completes options by what is observed and what controls.
func (o Options) guessedSignals(columns []*sampled, taken map[string]bool, id *sampled) Options {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	space := coordinates(names)
	for _, c := range columns {
		lower := strings.ToLower(c.name)
		r, _ := o.column(c.name)
		switch {
		case slices.Contains(o.Observe, c.name): // twice in the header, which reading refuses
		case r == modeOf && (space || c.measured()) && !taken[c.name] && c.numeric:
			o.Observe = append(o.Observe, c.name) // z of x, y, z, or of y and z
		case taken[c.name] || r != unused && r != observation || !c.numeric || c.constantWithin(id):
		case slices.Contains(partNames, lower) || slices.Contains(onlyTimes, lower):
		case slices.Contains(controlNames, lower):
			o.Control = append(o.Control, c.name)
		default:
			o.Observe = append(o.Observe, c.name)
		}
	}
	return o
}

// guessTime finds the column of times: dates first, then a usual name, then days with times of the day in a second
// column; and the column that tells recordings apart, if the times begin again.
func guessTime(columns []*sampled, taken map[string]bool, id *sampled) (*sampled, *sampled) {
	var candidates []*sampled
	for _, c := range columns {
		if !taken[c.name] && c.times != nil && c.dates && !c.ofDay && len(c.times) > 1 {
			candidates = append(candidates, c)
		}
	}
	dated := len(candidates) > 0
	if !dated {
		if date, of := guessParts(columns, taken, id); date != nil {
			return date, of
		}
	}
	// Dates stand before numbers, and numbers in the order of usual names.
	for _, name := range timeNames {
		for _, c := range columns {
			if !taken[c.name] && c.times != nil && !c.dates && len(c.times) > 1 && strings.ToLower(c.name) == name {
				candidates = append(candidates, c)
			}
		}
	}
	for _, c := range candidates {
		if c.grows(id) {
			return c, id
		}
	}
	if id == nil {
		if both, id := guessDays(columns, taken); both != nil {
			return both, id
		}
	}
	for _, c := range columns {
		// Years and months as 201012, seconds since 1970, or texts such as 14:30.
		if !taken[c.name] && c.grows(id) && (c.codes() || c.epochs() || c.ofDay && !dated) {
			return c, id
		}
	}
	for _, c := range columns {
		if !taken[c.name] { // the first one that is no number of a row
			if id == nil && c.even() && c.besideNumbers(columns) {
				return c, nil
			}
			break
		}
	}
	for _, c := range candidates {
		// The times begin again: something tells recordings apart.
		part := !c.dates && slices.Contains(partNames, strings.ToLower(c.name)) && !c.runsOn()
		id := guessID(columns, taken, c)
		if id == nil || part && id.numeric && id.idRank() < usualID {
			continue
		}
		// Else a part of a date, not a time.
		if !part || strings.ToLower(c.name) == "year" || c.evenWithin(id) || id.idRank() == usualID {
			return c, id
		}
	}
	return nil, id
}
