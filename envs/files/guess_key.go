package files

import (
	"math"
	"slices"
	"strings"
)

// A key of several columns has at most so many, and is looked for among so many.
const (
	keyColumns    = 3
	keyCandidates = 12
)

// cycleNames are names of columns that say where in a cycle of the calendar a row lies: no part of a key.
var cycleNames = []string{
	"mon", "dom", "dow", "doy", "weekno", "weeknum", "week_no", "week_of_year", "weekofyear", "day_of_week", "dayofweek",
	"dayname", "day_name", "day_of_month", "dayofmonth", "day_of_year", "dayofyear", "monthname", "month_name", "season",
	"hour_of_day", "hourofday",
}

// guessID finds a column within whose groups the times grow: one with a usual name, then one of texts, then one of
// whole numbers. Where no column is enough, it finds two or three that are enough together.
func guessID(columns []*sampled, taken map[string]bool, time *sampled) *sampled {
	var candidates []*sampled
	for _, c := range columns {
		if c != time && !taken[c.name] && c.idRank() > 0 && !slices.Contains(partNames, strings.ToLower(c.name)) {
			candidates = append(candidates, c)
		}
	}
	var best *sampled
	for _, c := range candidates { // of equal ranks the first
		if c.groups() <= len(c.texts)/2 && time.grows(c) && (c.blocks() || time.repeats()) &&
			(best == nil || c.idRank() > best.idRank()) {
			best = c
		}
	}
	if best == nil {
		best = newSideBySide(candidates, time).key()
	}
	return best
}

// usualID is the idRank of a column with a usual name.
const usualID = 3

// idRank is how much a column looks like the names of recordings; 0: not at all, as it has fractions.
func (c *sampled) idRank() int {
	switch {
	case slices.Contains(idNames, strings.ToLower(c.name)):
		return usualID
	case !c.numeric:
		return 2
	case slices.ContainsFunc(c.numbers, func(v float64) bool { return v != math.Trunc(v) }):
		return 0
	}
	return 1
}

// beside is a column that tells recordings apart together with another one, as Options.ID names the two. c may be nil.
func (c *sampled) beside(other *sampled) *sampled {
	if c == nil {
		return other
	}
	both := &sampled{name: c.name + "," + other.name, numeric: c.numeric && other.numeric}
	for i, text := range c.texts {
		both.texts = append(both.texts, NameOf([]string{text, other.texts[i]}))
	}
	return both
}

// sideBySide is a table of several series side by side, in which a key of two or three columns is looked for. Texts
// and times have numbers.
type sideBySide struct {
	columns []*sampled
	values  [][]int // of each column, the number of the text of each row
	widths  []int   // of each column, how many texts it has
	times   []int
	instants,
	rows int
}

// newSideBySide takes the candidates that may be a part of a key: named once, filled in every row, with more than one
// value and fewer than one for every second row. Of too many, those of the highest ranks count.
func newSideBySide(candidates []*sampled, time *sampled) *sideBySide {
	p := &sideBySide{rows: len(time.times)}
	p.times, p.instants = numberedBy(time.times)
	names := map[string]int{}
	for _, c := range candidates {
		names[c.name]++
	}
	var list []*sampled
	for _, c := range candidates {
		groups := c.groups()
		if names[c.name] == 1 && groups > 1 && groups <= p.rows/2 && !slices.ContainsFunc(c.texts, missingText) &&
			!slices.Contains(cycleNames, strings.ToLower(c.name)) {
			list = append(list, c)
		}
	}
	byRank := slices.Clone(list)
	slices.SortStableFunc(byRank, func(a, b *sampled) int { return b.idRank() - a.idRank() })
	byRank = byRank[:min(len(byRank), keyCandidates)]
	for _, c := range list {
		if slices.Contains(byRank, c) {
			values, width := numberedBy(c.texts)
			p.columns, p.values, p.widths = append(p.columns, c), append(p.values, values), append(p.widths, width)
		}
	}
	return p
}

// missingText reports whether a cell says nothing.
func missingText(text string) bool { return text == "" || missingMark(text) }

// numberedBy gives equal values the same number, and says how many numbers there are.
func numberedBy[V comparable](list []V) (numbers []int, n int) {
	known := map[V]int{}
	numbers = make([]int, len(list))
	for i, v := range list {
		number, ok := known[v]
		if !ok {
			number = len(known)
			known[v] = number
		}
		numbers[i] = number
	}
	return numbers, len(known)
}

// key is the smallest key that the table has, of the highest ranks, then with the fewest series, then the first; nil if
// there is none.
func (p *sideBySide) key() *sampled {
	var best []int
	rank, series := 0, 0
	for n := 2; n <= keyColumns && best == nil; n++ {
		for _, set := range choices(len(p.columns), n) {
			of := 0
			for _, c := range set {
				of += p.columns[c].idRank()
			}
			if of < rank || !p.apart(set) {
				continue
			}
			if groups, _ := p.count(set, false); of > rank || groups < series {
				best, rank, series = set, of, groups
			}
		}
	}
	var key *sampled
	for _, c := range best {
		key = key.beside(p.columns[c])
	}
	return key
}

// apart reports whether a set of columns is a key: no series has a time twice, series have two rows or more in the
// mean, and a third of the grid of series and times is there. Each column is needed: without it, at least a third of
// the rows repeat a time. So a few rows that are there twice, or columns that were measured, make no key.
func (p *sideBySide) apart(set []int) bool {
	const share = 3
	if _, twice := p.count(set, true); twice > 0 {
		return false
	}
	series, _ := p.count(set, false)
	if series > p.rows/2 || p.rows*share < series*p.instants {
		return false
	}
	for i := range set {
		if _, twice := p.count(slices.Delete(slices.Clone(set), i, i+1), true); twice*share < p.rows {
			return false
		}
	}
	return true
}

// count is how many different values a set of columns has, with the time if timed, and how many rows repeat one.
func (p *sideBySide) count(set []int, timed bool) (different, repeated int) {
	seen := make(map[int]bool, p.rows)
	for row := range p.rows {
		id := 0
		for _, c := range set {
			id = id*p.widths[c] + p.values[c][row]
		}
		if timed {
			id = id*p.instants + p.times[row]
		}
		seen[id] = true
	}
	return len(seen), p.rows - len(seen)
}

// choices are all sets of k numbers below n, each in ascending order.
func choices(n, k int) [][]int {
	if k == 0 {
		return [][]int{nil}
	}
	var list [][]int
	for last := k - 1; last < n; last++ {
		for _, rest := range choices(last, k-1) {
			list = append(list, append(slices.Clone(rest), last))
		}
	}
	return list
}
