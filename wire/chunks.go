package wire

// Arrivals says which parts of something have come: chunks of a vector, or pieces of a data set. The zero Arrivals is
// of no parts. One goroutine uses it.
//
// Invariant: missing is the number of parts that got lacks. All below low have come, and none from high on.
type Arrivals struct {
	got       []bool
	missing   int
	low, high int
}

// Begin forgets what has come, for n parts. It keeps its memory.
func (a *Arrivals) Begin(n int) {
	if cap(a.got) < n {
		a.got = make([]bool, n)
	}
	a.got, a.missing, a.low, a.high = a.got[:n], n, 0, 0
	clear(a.got)
}

// Count is the number of parts.
func (a *Arrivals) Count() int { return len(a.got) }

// Missing is the number of parts that have not come.
func (a *Arrivals) Missing() int { return a.missing }

// Has reports whether a part has come; false for a part beyond the last.
func (a *Arrivals) Has(part int) bool { return part < len(a.got) && a.got[part] }

// Take notes that a part has come. It reports whether it had not come before.
func (a *Arrivals) Take(part int) bool {
	if a.got[part] {
		return false
	}
	a.got[part] = true
	a.missing--
	// Parts come mostly in order: with the two bounds a list of what is missing costs little.
	a.high = max(a.high, part+1)
	for a.low < a.high && a.got[a.low] {
		a.low++
	}
	return true
}

// Drop forgets the parts [first, end), all of which have come.
func (a *Arrivals) Drop(first, end int) {
	clear(a.got[first:end])
	a.missing += end - first
	a.low = min(a.low, first)
}

// Gaps lists which of the parts [first, end) have not come, in at most so many ranges, the first ones; nil if all have.
func (a *Arrivals) Gaps(first, end, most int) (gaps []Range) {
	for i := max(first, a.low); i < end && len(gaps) < most; i++ {
		from := i
		for i < end && !a.got[i] {
			if i++; i > a.high {
				i = end
			}
		}
		if i > from {
			gaps = append(gaps, Range{First: from, Count: i - from})
		}
	}
	return gaps
}
