package wire

import "testing"

// Sections have all chunks of a vector between them, each one at least, and their digests are those of their bytes.
func TestSections(t *testing.T) {
	for _, coding := range []Coding{Float32, Int16, Int8} {
		for size := 1; size < 40; size += 3 {
			chunks := coding.Chunking(size, 4*coding.Width())
			x := make([]float32, size)
			for i := range x {
				x[i] = float32(i % 100)
			}
			for count := 1; count <= chunks.Count(); count++ {
				s := Sections{chunks, count}
				whole, at := s.DigestsOf(0, count, x), 0
				for i := range count {
					from, to := s.Span(i, 1)
					if from != at || to <= from || !s.Valid(i, 1) {
						t.Fatalf("%d of %d elements: section %d of %d is [%d, %d)", at, size, i, count, from, to)
					}
					at = to
					if got := s.DigestsOf(i, 1, x[from:to]); got != Part(whole, i, 1) {
						t.Errorf("%d elements: section %d of %d has other digests alone", size, i, count)
					}
					if cut := s.Cut(i, 1); cut.Size != to-from || cut.Count() != s.First(i+1)-s.First(i) {
						t.Errorf("section %d of %d: %+v", i, count, cut)
					}
					peaks := 0
					for e := from; e < to; e++ {
						if e >= size-5 {
							peaks++
						}
					}
					if got := s.Peaks(i, 1, min(5, size)); got != peaks {
						t.Errorf("section %d of %d: %d peaks, want %d", i, count, got, peaks)
					}
				}
				if at != size {
					t.Errorf("%d of %d elements are in a section", at, size)
				}
				x[size-1]++
				if s.DigestsOf(0, count, x) == whole {
					t.Error("another vector has the same digests")
				}
				x[size-1]--
			}
			if (Sections{chunks, chunks.Count() + 1}).Valid(0, 1) {
				t.Error("there are more sections than chunks")
			}
		}
	}
}

// Each chunk is in the section whose chunks it is among.
func TestSections_Of(t *testing.T) {
	for chunks := 1; chunks < 20; chunks++ {
		for count := 1; count <= chunks; count++ {
			s := Sections{Chunks: NewChunking(chunks, 4), Count: count}
			for c := range chunks {
				if i := s.Of(c); i < 0 || i >= count || c < s.First(i) || c >= s.First(i+1) {
					t.Fatalf("chunk %d of %d is said to be in section %d of %d", c, chunks, i, count)
				}
			}
		}
	}
}
