package wire

import (
	"crypto/sha256"
	"sort"
)

// Sections says how the vector of a gradient is shared out among those who sum it: section i of Count holds the chunks
// [⌊i·n/Count⌋, ⌊(i+1)·n/Count⌋) of all n. A chunk belongs to one section, so that a section can be pulled chunk by
// chunk. No bit depends on the number of sections. Count 0 means that the vector is not shared out.
type Sections struct {
	Chunks Chunking
	Count  int
}

// MaxSections bounds the number of sections of a vector.
const MaxSections = 1024

// Valid reports whether [first, first+count) are sections, each with a chunk at least. All other methods are for
// sections of which Valid holds; they divide by Count.
func (s Sections) Valid(first, count int) bool {
	return s.Count > 0 && s.Count <= min(s.Chunks.Count(), MaxSections) && first >= 0 && count > 0 &&
		first <= s.Count-count
}

// First is the first chunk of section i, or the number of chunks if i is Count.
func (s Sections) First(i int) int { return int(int64(i) * int64(s.Chunks.Count()) / int64(s.Count)) }

// Of is the section that a chunk is in. It searches in O(log Count) steps.
func (s Sections) Of(chunk int) int {
	return sort.Search(s.Count-1, func(i int) bool { return s.First(i+1) > chunk })
}

// Span returns the elements [from, to) of the sections [first, first+count).
func (s Sections) Span(first, count int) (from, to int) {
	return s.First(first) * s.Chunks.Elements, min(s.First(first+count)*s.Chunks.Elements, s.Chunks.Size)
}

// Cut says how the vector of the sections [first, first+count) alone is cut. Its chunk i is chunk First(first)+i of the
// whole vector.
func (s Sections) Cut(first, count int) Chunking {
	from, to := s.Span(first, count)
	return Chunking{Size: to - from, Elements: s.Chunks.Elements, Coding: s.Chunks.Coding}
}

// Peaks is how many of the last peaks elements of the whole vector are in the sections [first, first+count).
func (s Sections) Peaks(first, count, peaks int) int {
	from, to := s.Span(first, count)
	return max(0, to-max(from, s.Chunks.Size-peaks))
}

// Digests are the digests of the sections [first, first+count), one behind the other, of a vector that is in chunks
// as Cut says: the SHA-256 of the bytes of a section's chunks. chunk returns the bytes of a chunk, which are not
// kept. Their length is DigestLength(count).
func (s Sections) Digests(first, count int, chunk func(i int) []byte) string {
	digests := make([]byte, 0, count*sha256.Size)
	at := s.First(first)
	for i := first; i < first+count; i++ {
		h := sha256.New()
		for c := s.First(i); c < s.First(i+1); c++ {
			h.Write(chunk(c - at))
		}
		digests = h.Sum(digests)
	}
	return string(digests)
}

// DigestsOf are the Digests of values that are in memory.
func (s Sections) DigestsOf(first, count int, values []float32) string {
	cut := s.Cut(first, count)
	// What is encoded is read before the next chunk takes its place.
	var room []byte
	return s.Digests(first, count, func(i int) []byte {
		data := cut.Encode(room, values, i)
		if cut.Coding != Float32 {
			room = data
		}
		return data
	})
}

// Part is what digests, those of all sections, say of the sections [first, first+count).
func Part(digests string, first, count int) string {
	return digests[first*sha256.Size : (first+count)*sha256.Size]
}

// DigestLength is the number of bytes in the digests of so many sections.
func DigestLength(sections int) int { return sections * sha256.Size }

// DigestSections names a partial sum by the digests of its sections and by its terms, as DigestPartial does by its
// values.
func DigestSections(digests string, terms []float32) string {
	return HashData(append([]byte(digests), FloatBytes(terms)...))
}
