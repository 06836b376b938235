package files

import (
	"math"
	"slices"
	"strings"
)

// sampled is a column with its first values. It is what a guess looks at: each column is read as texts, as numbers
// and as times.
type sampled struct {
	name    string
	unnamed bool      // it has no heading
	texts   []string  // of the rows
	numbers []float64 // NaN: missing
	numeric bool      // every value is a number
	times   []float64 // nil: some value is no time
	other   []float64 // the dates with the month first; nil: they are the same
	failed  int       // how many values are no times
	dates   bool
	ofDay   bool // the times are times of the day
	broken  bool // nearly every value is a date
}

// add takes the cell of the next row. clock is that of the column; commas says that decimals may have a comma. After
// too many cells that are no times the column is no candidate for times.
func (c *sampled) add(text string, clock *clock, commas bool) {
	c.texts = append(c.texts, text)
	v, err := parseNumber(text, commas)
	c.numeric = c.numeric && err == nil
	c.numbers = append(c.numbers, v)
	if c.times == nil {
		return
	}
	// An empty cell is no time either.
	at, err := math.NaN(), error(nil)
	if text != "" {
		at, err = clock.read(text)
	}
	if c.dates, c.ofDay = clock.dates, clock.ofDay; err != nil || math.IsNaN(at) || math.IsInf(at, 0) {
		at = math.NaN()
		if c.failed++; c.failed > fewFailures && c.failed*failureShare > len(c.texts) {
			c.times = nil
			return
		}
	}
	if clock.other != at && c.other == nil {
		c.other = slices.Clone(c.times)
	}
	if c.times = append(c.times, at); c.other != nil {
		c.other = append(c.other, clock.other)
	}
}

// A column of which so many values, or fewer than one of so many, are no dates, is one of dates with faults.
const (
	fewFailures  = 3
	failureShare = 10
)

// settle decides what the times are once all values are known. A column with some faults is none of times, but is
// known as broken, so that the faults are said.
func (c *sampled) settle(clock *clock) {
	if c.times != nil && c.failed > 0 {
		c.broken = c.dates && c.failed*failureShare <= len(c.texts) && c.groups() > fewFailures
		c.times, c.other = nil, nil
	}
	if c.ofDay {
		throughMidnight(c.times)
	}
	if c.times == nil || c.other == nil {
		return
	}
	monthFirst, err := clock.monthFirst()
	if err != nil {
		monthFirst = !(&sampled{times: c.times}).grows(nil)
		if first, decided := evenOrder(c.times, c.other); decided {
			monthFirst = first
		}
	}
	// Without a date that decides, the order counts in which the dates ascend or are even.
	if monthFirst {
		c.times = c.other
	}
}

// undecided reports whether the column holds times that cannot be used as they are: none that grow, dates with
// faults, or texts below a name that only times have.
func (c *sampled) undecided() bool {
	if c.broken && !c.ofDay {
		return true
	}
	named := slices.Contains(onlyTimes, strings.ToLower(c.name))
	if c.times == nil {
		return named && !c.numeric && c.groups() > fewFailures
	}
	return len(c.times) > 1 && c.groups() > 1 && (c.dates && !c.ofDay || named)
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

// groups is how many different texts the column has.
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

// runsOn reports whether a column with the name of a part of a date goes beyond it, as a day 40 does: it counts.
func (c *sampled) runsOn() bool {
	last := map[string]float64{
		"quarter": 4, "month": 12, "week": 53, "day": 31, "weekday": 7, "hour": 24, "minute": 60, "second": 60,
	}
	end, cyclic := last[strings.ToLower(c.name)]
	return cyclic && c.numeric && slices.Max(c.numbers) > end
}

// evenWithin reports whether times are equally far from each other, in the order of the rows, within each group of id.
func (c *sampled) evenWithin(id *sampled) bool {
	last, gap := map[string]float64{}, math.NaN()
	for i, at := range c.times {
		if before, known := last[id.texts[i]]; known && math.IsNaN(gap) {
			gap = at - before
		} else if known && at-before != gap {
			return false
		}
		last[id.texts[i]] = at
	}
	return gap > 0
}

// ascends reports whether each time is later than the one before it.
func ascends(times []float64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// counts reports whether the values are 0, 1, 2, … or 1, 2, 3, …, none of them missing.
func (c *sampled) counts() bool {
	for i, v := range c.numbers {
		if v != c.numbers[0]+float64(i) {
			return false
		}
	}
	return len(c.numbers) > 0 && (c.numbers[0] == 0 || c.numbers[0] == 1)
}

// constantWithin reports whether the column never changes within a recording. Without id, all rows are one
// recording. Missing values do not count.
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

// even reports whether the values are numbers that ascend by equal steps, up to rounding: nobody observes such a thing.
func (c *sampled) even() bool {
	if !c.numeric || len(c.numbers) < 3 {
		return false
	}
	step := c.numbers[1] - c.numbers[0]
	for i := 1; i < len(c.numbers); i++ {
		if gap := c.numbers[i] - c.numbers[i-1]; !(gap > 0) || math.Abs(gap-step) > 1e-6*step {
			return false
		}
	}
	return true
}

// besideNumbers reports whether another column has numbers.
func (c *sampled) besideNumbers(columns []*sampled) bool {
	return slices.ContainsFunc(columns, func(other *sampled) bool { return other != c && !other.unnamed && other.numeric })
}

// unitsFirst reports whether the first row has texts without a digit in all columns, and the others have numbers.
// Missing values and truth values are no units.
func unitsFirst(columns []*sampled) bool {
	for _, c := range columns {
		if len(c.texts) < 3 || strings.ContainsAny(c.texts[0], "0123456789") {
			return false
		}
		if _, err := parseNumber(c.texts[0], true); err == nil {
			return false
		}
		for _, text := range c.texts[1:] {
			if _, err := parseNumber(text, true); err != nil {
				return false
			}
		}
	}
	return len(columns) > 0
}
