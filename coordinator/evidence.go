package coordinator

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Where workers sum the gradient, the log has what each of them is to answer for: the digest of each block as it was
// handed to those who summed it, and that of the sections that each worker summed, as they came here. Who computes the
// blocks again knows what both have to be. Unlike a checksum, no digest can be made to fit other bits.

// Share is what a worker has summed of the gradient of a step. A worker may have summed sections that do not follow
// each other.
type Share struct {
	Worker   string
	Sections []int  // ascending
	Digest   string // see ShareDigest
}

// sectionDigest is the SHA-256 of a section's bytes as they travel.
type sectionDigest [sha256.Size]byte

// summed is who has summed a section of a round, and what came.
type summed struct {
	worker string
	digest sectionDigest
}

// attest notes who has summed sections of a round, and what came. Of a section that was summed twice the last sum
// counts, which is in the total.
func (r *round) attest(sections vector.Block, worker string, values []float32) {
	if r.sums == nil {
		r.sums = make([]summed, r.sections.Count)
	}
	digests := r.sections.DigestsOf(sections.First, sections.Count, values)
	for i := range sections.Count {
		s := &r.sums[sections.First+i]
		s.worker = worker
		copy(s.digest[:], digests[i*sha256.Size:])
	}
}

// attested are what the workers have summed of a round, in the order of their first sections.
func (r *round) attested() []Share {
	var list []Share
	digests := map[string][]byte{}
	for i, s := range r.sums {
		at := slices.IndexFunc(list, func(o Share) bool { return o.Worker == s.worker })
		if at < 0 {
			at, list = len(list), append(list, Share{Worker: s.worker})
		}
		list[at].Sections = append(list[at].Sections, i)
		digests[s.worker] = append(digests[s.worker], s.digest[:]...)
	}
	for i, s := range list {
		list[i].Digest = brief(sha256.Sum256(digests[s.Worker]))
	}
	return list
}

// ShareDigest names the bits of some sections of a gradient: the first bytes of the SHA-256 of their digests, one
// behind the other. share lists sections in ascending order; gradient is the whole vector, as it was summed.
func ShareDigest(sections wire.Sections, share []int, gradient []float32) string {
	var digests []byte
	for _, i := range share {
		from, to := sections.Span(i, 1)
		digests = append(digests, sections.DigestsOf(i, 1, gradient[from:to])...)
	}
	return brief(sha256.Sum256(digests))
}

// BlockDigest names the bits of a block as its holder has announced them for sections: the first bytes of its digest.
func BlockDigest(sections wire.Sections, block vector.Partial) string {
	digests := sections.DigestsOf(0, sections.Count, block.Values)
	return briefly(wire.DigestSections(digests, block.Terms))
}

// briefLength is the number of characters of a digest in the log: 64 bits.
const briefLength = 11

// brief is what stands in the log for a SHA-256: its first eight bytes in base64url, without padding.
func brief(sum [sha256.Size]byte) string { return base64.RawURLEncoding.EncodeToString(sum[:8]) }

// briefly is brief of a SHA-256 in hexadecimal digits.
func briefly(digest string) string {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != sha256.Size {
		return ""
	}
	return brief([sha256.Size]byte(sum))
}

// Summed is how the gradient of a step was shared out; false if the coordinator summed it, or the log does not say.
// The sections of all workers have to be 0, 1, 2, … without gaps.
func (e *Entry) Summed(chunks wire.Chunking) (wire.Sections, bool) {
	var seen []int
	for _, s := range e.Sums {
		seen = append(seen, s.Sections...)
	}
	slices.Sort(seen)
	// A gap, or a section that two have, says that the line is not of one gradient.
	for i, section := range seen {
		if i != section {
			return wire.Sections{}, false
		}
	}
	sections := wire.Sections{Chunks: chunks, Count: len(seen)}
	return sections, sections.Valid(0, sections.Count)
}

// entryLine is an Entry in JSON. Sums are "SECTIONS DIGEST WORKER;…", where a worker is the number of its first block,
// if it has one, else = and its name: so the line stays short.
type entryLine struct {
	plainEntry
	Sums string `json:"sums,omitempty"`
}

// plainEntry is an Entry without its methods, so that encoding it does not call MarshalJSON again.
type plainEntry Entry

// MarshalJSON implements json.Marshaler.
func (e Entry) MarshalJSON() ([]byte, error) {
	var sums []string
	for _, s := range e.Sums {
		worker := "=" + s.Worker
		if i := slices.IndexFunc(e.Blocks, func(c Contribution) bool { return c.Worker == s.Worker }); i >= 0 {
			worker = strconv.Itoa(i)
		}
		sums = append(sums, Ranges(s.Sections)+" "+s.Digest+" "+worker)
	}
	return json.Marshal(entryLine{plainEntry(e), strings.Join(sums, ";")})
}

// UnmarshalJSON implements json.Unmarshaler. A line that does not hold what MarshalJSON writes is an error, so that a
// damaged log is noticed.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var line entryLine
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	*e = Entry(line.plainEntry)
	if line.Sums == "" {
		return nil
	}
	for text := range strings.SplitSeq(line.Sums, ";") {
		parts := strings.Split(text, " ")
		if len(parts) != 3 {
			return fmt.Errorf("%w: %q", errSums, text)
		}
		sections, err := parseRanges(parts[0])
		worker, named := strings.CutPrefix(parts[2], "=")
		if !named && err == nil {
			// A number stands for the worker of that block.
			var i int
			if i, err = strconv.Atoi(worker); err == nil && (i < 0 || i >= len(e.Blocks)) {
				err = errSums
			}
			if err == nil {
				worker = e.Blocks[i].Worker
			}
		}
		if err != nil {
			return fmt.Errorf("%w: %q", errSums, text)
		}
		e.Sums = append(e.Sums, Share{worker, sections, parts[1]})
	}
	return nil
}

// errSums is returned for what does not say who summed what.
var errSums = errors.New("not the sums of a step")

// Ranges writes ascending numbers as "0-3,8".
func Ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ",")
}

// parseRanges reads what Ranges writes. Numbers have to ascend and be below wire.MaxSections, so a short text cannot
// stand for a long list.
func parseRanges(text string) (list []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || first < 0 || last < first || last >= wire.MaxSections {
			return nil, errSums
		}
		for i := first; i <= last; i++ {
			if len(list) > 0 && i <= list[len(list)-1] {
				return nil, errSums
			}
			list = append(list, i)
		}
	}
	return list, nil
}
