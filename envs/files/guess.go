package files

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/readable"
)

// guessRows is the number of rows from which a guess is made.
const guessRows = 20000

// Guess looks at the first file of paths for columns or arrays that the convention does not know, and completes options
// by what they seem to be: from names that are usual, and from what the values do. It returns the options as they are
// if the convention, or the options, say already what is observed. What it returns is a proposal: show it to the user.
func Guess(paths []string, o Options) (Options, error) {
	if len(o.Observe) > 0 {
		return o, nil
	}
	inputs, err := expand(paths)
	if err != nil || len(inputs) == 0 {
		return o, err
	}
	in, closing, err := openTable(inputs[0].path)
	if err != nil {
		return o, err
	}
	defer closing()
	if in == nil {
		return o.guessArrays(inputs[0].path)
	}
	columns, err := o.sample(in)
	if err != nil || columns == nil {
		return o, err
	}
	return o.guessed(columns), nil
}

// openTable opens a file of rows; nil if it is another file.
func openTable(path string) (rowSource, func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, pathFault(err)
	}
	in, err := tableOf(f, path)
	return in, f.Close, err
}

// arrayNames are the names that arrays with observations and with controls usually have.
var (
	arrayNames   = []string{"obs", "observation", "observations", "outputs", "output", "data", "x", "arr_0", "yest", "frames", "video", "values"}
	controlNames = []string{"action", "actions", "act", "input", "inputs", "control", "controls", "uest"}
)

// guessArrays finds the array of observations by its name, or because it is the only one.
func (o Options) guessArrays(path string) (Options, error) {
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
		if lower := strings.ToLower(n); o.Observe != nil && o.Control == nil && !slices.Contains(o.Observe, n) && (lower == "u" && n != "u" || slices.Contains(controlNames, lower)) {
			o.Control = []string{n}
		}
	}
	return o, nil
}

// sampled is a column with its first values.
type sampled struct {
	name    string
	unnamed bool      // it has no heading
	texts   []string  // of the rows
	numbers []float64 // NaN: missing
	numeric bool      // every value is a number
	times   []float64 // nil: some value is no time
	dates   bool
}

// sample reads the first rows of a table; nil if the convention knows a column of observations.
func (o Options) sample(in rowSource) ([]*sampled, error) {
	header, err := in.next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var columns []*sampled
	var clocks []clock
	for i, cell := range header {
		name := columnName(cell, i)
		if r, _ := o.column(name); r == observation && len(o.Observe) == 0 && !plainTarget(name, header) {
			return nil, nil
		}
		columns = append(columns, &sampled{name: name, unnamed: strings.TrimSpace(cell) == "", numeric: true, times: []float64{}})
	}
	clocks = make([]clock, len(columns))
	for range guessRows {
		record, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, cell := range record {
			columns[i].add(strings.TrimSpace(cell), &clocks[i], in.decimalCommas())
		}
	}
	return columns, nil
}

// plainTarget reports whether y is the target of a long table, beside an identity and a time that the convention does
// not know.
func plainTarget(name string, header []string) bool {
	return name == "y" && slices.ContainsFunc(header, func(h string) bool { return slices.Contains(idNames, strings.ToLower(strings.TrimSpace(h))) })
}

func columnName(cell string, i int) string {
	name := readable.Plain(strings.TrimSpace(cell))
	if name == "" {
		return "column" + itoa(i+1)
	}
	return name
}

func (c *sampled) add(text string, clock *clock, commas bool) {
	c.texts = append(c.texts, text)
	v, err := parseNumber(text, commas)
	c.numeric = c.numeric && err == nil
	c.numbers = append(c.numbers, v)
	if c.times == nil {
		return
	}
	at, err := clock.read(text)
	if err != nil || math.IsNaN(at) || math.IsInf(at, 0) {
		c.times = nil
		return
	}
	c.times, c.dates = append(c.times, at), clock.dates
}

// Names that are usual.
var (
	timeNames = []string{"t", "time", "ds", "date", "datetime", "timestamp", "year", "month", "quarter", "week", "day", "hour", "age", "step", "index"}
	idNames   = []string{"unique_id", "id", "series", "series_id", "item_id", "episode", "subject", "trial", "run", "group", "unit"}
	partNames = []string{"year", "month", "quarter", "week", "day", "hour", "minute", "second", "weekday", "index"}
	onlyTimes = []string{"time", "ds", "date", "datetime", "timestamp"} // never observed
	rowNames  = []string{"rownames", "unnamed: 0", "row", "x", "v1"}
)

// guessed completes options from the columns of a table.
func (o Options) guessed(columns []*sampled) Options {
	taken := map[string]bool{}
	for _, a := range o.asked() {
		taken[a.name] = true
	}
	number := columns[0] // rows are often numbered in front
	if !taken[number.name] && (number.unnamed || number.counts() && slices.Contains(rowNames, strings.ToLower(number.name))) {
		taken[number.name] = true
	}
	var time, id *sampled
	for _, c := range columns {
		if c.name == o.Time || o.Time == "" && c.name == "t" {
			time = c
		}
		if c.name == o.ID {
			id = c
		}
	}
	if time == nil {
		time, id = guessTime(columns, taken, id)
	}
	if time != nil && id == nil && o.ID == "" && !time.grows(nil) {
		id = guessID(columns, taken, time)
	}
	if time != nil && !time.grows(id) {
		time = nil
	}
	if time != nil {
		o.Time, taken[time.name] = time.name, true
	}
	if id != nil {
		o.ID, taken[id.name] = id.name, true
	}
	for _, c := range columns {
		lower := strings.ToLower(c.name)
		r, _ := o.column(c.name)
		switch {
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

// guessTime finds the column of times: dates first, then a usual name; and the column that tells recordings apart, if
// the times begin again.
func guessTime(columns []*sampled, taken map[string]bool, id *sampled) (*sampled, *sampled) {
	var candidates []*sampled
	for _, c := range columns {
		if !taken[c.name] && c.times != nil && c.dates && len(c.times) > 1 {
			candidates = append(candidates, c)
		}
	}
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
	for _, c := range candidates {
		part := !c.dates && slices.Contains(partNames, strings.ToLower(c.name))
		if part && strings.ToLower(c.name) != "year" {
			continue // a part of a date, not a time
		}
		if id := guessID(columns, taken, c); id != nil && (!part || !id.numeric) {
			return c, id
		}
	}
	return nil, id
}

// guessID finds a column within whose groups the times grow: one with a usual name, then one of texts, then one of whole
// numbers.
func guessID(columns []*sampled, taken map[string]bool, time *sampled) *sampled {
	var best *sampled
	rank := 0
	for _, c := range columns {
		if c == time || taken[c.name] || slices.Contains(partNames, strings.ToLower(c.name)) || c.groups() > len(c.texts)/2 || !time.grows(c) || !c.blocks() && !time.repeats() {
			continue
		}
		r := 1
		switch {
		case slices.Contains(idNames, strings.ToLower(c.name)):
			r = 4
		case !c.numeric:
			r = 3
		case slices.ContainsFunc(c.numbers, func(v float64) bool { return v != math.Trunc(v) }):
			continue
		default:
			r = 2
		}
		if r > rank {
			best, rank = c, r
		}
	}
	return best
}

// blocks reports whether the rows of each group lie together.
func (c *sampled) blocks() bool {
	changes := 1
	for i := 1; i < len(c.texts); i++ {
		if c.texts[i] != c.texts[i-1] {
			changes++
		}
	}
	return changes == c.groups()
}

// repeats reports whether a time is there twice, as in a table of several series side by side.
func (c *sampled) repeats() bool {
	seen := map[float64]bool{}
	for _, at := range c.times {
		if seen[at] {
			return true
		}
		seen[at] = true
	}
	return false
}

func (c *sampled) groups() int {
	seen := map[string]bool{}
	for _, t := range c.texts {
		seen[t] = true
	}
	return len(seen)
}

// grows reports whether no time is there twice, within each group of id; without id, whether times ascend or descend.
func (c *sampled) grows(id *sampled) bool {
	if c.times == nil {
		return false
	}
	if id == nil {
		descending := slices.Clone(c.times)
		slices.Reverse(descending)
		return ascends(c.times) || ascends(descending)
	}
	type key struct {
		id string
		at float64
	}
	seen := map[key]bool{}
	for i, at := range c.times {
		k := key{id.texts[i], at}
		if seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

func ascends(times []float64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// counts reports whether the values are 0, 1, 2, … or 1, 2, 3, …
func (c *sampled) counts() bool {
	for i, v := range c.numbers {
		if v != c.numbers[0]+float64(i) {
			return false
		}
	}
	return len(c.numbers) > 0 && (c.numbers[0] == 0 || c.numbers[0] == 1)
}

// constantWithin reports whether the column never changes within a recording.
func (c *sampled) constantWithin(id *sampled) bool {
	first := map[string]float64{}
	for i, v := range c.numbers {
		group := ""
		if id != nil {
			group = id.texts[i]
		}
		if math.IsNaN(v) {
			continue
		}
		known, ok := first[group]
		if ok && known != v {
			return false
		}
		first[group] = v
	}
	return true
}
