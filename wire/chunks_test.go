package wire

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// gapsOf is Gaps, by looking at every part.
func gapsOf(got []bool, first, end, most int) (gaps []Range) {
	for i := first; i < end; i++ {
		if n := len(gaps); got[i] {
			continue
		} else if n > 0 && gaps[n-1].First+gaps[n-1].Count == i {
			gaps[n-1].Count++
		} else if n < most {
			gaps = append(gaps, Range{i, 1})
		}
	}
	return gaps
}

// Whatever comes and is dropped, in whatever order, what is missing is known.
func TestArrivals_Gaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a Arrivals
	for range 2000 {
		n := r.IntN(9)
		a.Begin(n)
		got := make([]bool, n)
		for range r.IntN(3 * (n + 1)) {
			if n == 0 {
				break
			}
			i := r.IntN(n)
			if fresh := a.Take(i); fresh == got[i] {
				t.Fatalf("%v: part %d comes: %v", got, i, fresh)
			}
			if got[i] = true; r.IntN(4) == 0 {
				a.Drop(i, i+1)
				got[i] = false
			}
			first, end, most := r.IntN(n+1), r.IntN(n+1), r.IntN(4)
			if gaps, want := a.Gaps(first, end, most), gapsOf(got, first, end, most); !slices.Equal(gaps, want) {
				t.Fatalf("%v: the gaps in [%d, %d) are %v, want %v", got, first, end, gaps, want)
			}
			missing := 0
			for i, here := range got {
				if !here {
					missing++
				}
				if a.Has(i) != here {
					t.Fatalf("%v: has %d: %v", got, i, a.Has(i))
				}
			}
			if a.Missing() != missing || a.Has(n) {
				t.Fatalf("%v: %d are missing", got, a.Missing())
			}
		}
	}
}
