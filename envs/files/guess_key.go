package files

import (
	"math"
	"slices"
	"strings"
)

// A key has at most so many columns, and is looked for among so many.
const (
	keyColumns    = 3
	keyCandidates = 8
)

// guessID finds a column within whose groups the times grow: one with a usual name, then one of texts, then one of
// whole numbers. Where no column is enough, it finds two or three that are enough together.
func guessID(columns []*sampled, taken map[string]bool, time *sampled) *sampled {
	var candidates []*sampled
	for _, c := range columns {
		if c != time && !taken[c.name] && c.idRank() > 0 && !slices.Contains(partNames, strings.ToLower(c.name)) {
			candidates = append(candidates, c)
		}
	}
	for n := 1; n <= keyColumns; n++ {
		if best := bestKey(candidates, n, time); best != nil {
			return best
		}
		// A column of one value adds nothing to a key, and one that is new in most rows makes recordings of a row.
		candidates = slices.DeleteFunc(candidates, func(c *sampled) bool { return c.groups() < 2 || c.groups() > len(c.texts)/2 })
		candidates = candidates[:min(len(candidates), keyCandidates)]
	}
	return nil
}

// bestKey finds n columns that tell recordings apart: of the highest ranks, then with the fewest groups, as what was
// observed makes more of them, then the first. It returns nil if there are none.
func bestKey(candidates []*sampled, n int, time *sampled) *sampled {
	var best *sampled
	most := 0
	var extend func(key *sampled, rank, n int, rest []*sampled)
	extend = func(key *sampled, rank, n int, rest []*sampled) {
		if n > 0 {
			for i, c := range rest {
				extend(key.beside(c), rank+c.idRank(), n-1, rest[i+1:])
			}
			return
		}
		if rank < most || key.groups() > len(key.texts)/2 || !time.grows(key) || !key.blocks() && !time.repeats() {
			return
		}
		if rank > most || key.groups() < best.groups() && strings.Contains(key.name, ",") {
			best, most = key, rank
		}
	}
	extend(nil, 0, n, candidates)
	return best
}

// idRank is how much a column looks like the names of recordings; 0: not at all, as it has fractions.
func (c *sampled) idRank() int {
	switch {
	case slices.Contains(idNames, strings.ToLower(c.name)):
		return 3
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
	both := &sampled{name: c.name + "," + other.name, texts: make([]string, len(c.texts))}
	for i, text := range c.texts {
		both.texts[i] = nameOf([]string{text, other.texts[i]})
	}
	return both
}
