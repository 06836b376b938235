package coordinator

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Entry is the line of the log that a step leaves: what its update was made of, and the hash of what came out. All of
// it but Term and the blocks, which say who computed what, is a function of the configuration.
type Entry struct {
	Step   uint64         `json:"step"`  // number of updates
	Term   uint64         `json:"term"`  // incarnation of the coordinator
	Theta  string         `json:"theta"` // HashTheta of the parameters after the update
	Terms  Floats         `json:"terms"` // mean loss terms
	Norm   float64        `json:"norm"`  // of the gradient, before clipping
	Rate   float64        `json:"rate"`
	Blocks []Contribution `json:"blocks"` // by first shard
	// Passes is how often the step was computed, if more than once, as gradients did not fit their scales: see
	// Config.Gradients.
	Passes int `json:"passes,omitempty"`
	// Sums are who summed which sections of the gradient; none: the coordinator summed it.
	Sums []Share `json:"-"`
}

// Contribution says which worker delivered a block of an update, and the checksum of its gradient. The checksum is
// formed over those of the chunks, see wire.Combine, so it belongs to the chunk length of the term. Of a block that
// workers have summed there is the digest instead, see BlockDigest.
type Contribution struct {
	Block    vector.Block
	Checksum uint32
	Worker   string
	Digest   string
}

// Fingerprint is the digest of the block, or the checksum if there is none, as it stands in the log.
func (c Contribution) Fingerprint() string {
	if c.Digest != "" {
		return c.Digest
	}
	return fmt.Sprintf("%08x", c.Checksum)
}

// The kinds of Event that the coordinator writes.
const (
	EventOpen       = "open"       // a coordinator takes the run up after Step updates
	EventCheckpoint = "checkpoint" // the parameters after Step updates are safe on disk
	EventRollback   = "rollback"   // the run went back to Step: all entries before this line and after Step are void
	EventQuarantine = "quarantine" // a worker was cut off
	// EventContributor: a worker has contributed to a sum at the parameters after Step updates, and nobody confirmed
	// it. It is written once for each worker. If the worker is found to lie, the run goes back to before that step.
	EventContributor = "contributor"
	EventDoubt       = "doubt" // the sum of the workers was not used; the reason names who is doubted, or who complains
	EventAside       = "aside" // a worker hands on no parameters for some steps
	// EventRelays: from the parameters after Step updates on, those that workers hand on go by way of the workers that
	// the reason lists, section by section. What does not have the digest that the coordinator tells is not used.
	EventRelays = "relays"
	EventEnd    = "end" // the coordinator ends
)

// Event is a line of the log about something other than an update.
type Event struct {
	Kind     string    `json:"event"`
	Time     time.Time `json:"time"`
	Step     uint64    `json:"step"`
	Term     uint64    `json:"term"`
	Worker   string    `json:"worker,omitempty"`
	Mark     uint64    `json:"mark,omitempty"` // contributor: wire.Mark of the worker's token
	Reason   string    `json:"reason,omitempty"`
	Chunk    int       `json:"chunk,omitempty"`  // open: parameters per chunk
	Identity string    `json:"job,omitempty"`    // open: Config.Identity
	Data     string    `json:"data,omitempty"`   // open: hash of the data set
	Params   string    `json:"params,omitempty"` // checkpoint: SHA-256 of the parameters
}

// HashTheta is the hash that the log keeps of parameters: their CRC-32C and their CRC-32 (IEEE), 16 hexadecimal digits.
//
// It is formed at every step, so it has to be fast: both sums run on instructions that amd64 and arm64 have, SHA-256
// takes ten times as long. Their polynomials have no factor in common, so the two together are a CRC of 64 bits:
// contents that differ by accident agree in 1 of 2^64 cases, and never if they differ within 64 bits in a row.
// Against contents that somebody made to fit it protects as little as any checksum; checkpoints carry a SHA-256. It
// allocates a few bytes and may be called from any goroutine.
func HashTheta(theta []float32) string {
	const block = 1 << 14 // stays in the cache for the second sum
	table, castagnoli, ieee := crc32.MakeTable(crc32.Castagnoli), uint32(0), uint32(0)
	for ; len(theta) > 0; theta = theta[min(block, len(theta)):] {
		b := wire.FloatBytes(theta[:min(block, len(theta))])
		castagnoli, ieee = crc32.Update(castagnoli, table, b), crc32.Update(ieee, crc32.IEEETable, b)
	}
	sum := binary.BigEndian.AppendUint32(nil, castagnoli)
	return hex.EncodeToString(binary.BigEndian.AppendUint32(sum, ieee))
}

// Floats are numbers that JSON gives back with the same bits; what is not finite stands as a string.
type Floats []float32

// MarshalJSON implements json.Marshaler.
func (f Floats) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range f {
		if i > 0 {
			b = append(b, ',')
		}
		if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
			b = strconv.AppendQuote(b, strconv.FormatFloat(v, 'g', -1, 32))
		} else {
			b = strconv.AppendFloat(b, v, 'g', -1, 32)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Floats) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*f = (*f)[:0]
	for _, text := range raw {
		x, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 32)
		if err != nil {
			return err
		}
		*f = append(*f, float32(x))
	}
	return nil
}

// MarshalJSON implements json.Marshaler: a credit is [first, count, "checksum", "worker"], or the same with a digest.
func (c Contribution) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.Block.First, c.Block.Count, c.Fingerprint(), c.Worker})
}

// UnmarshalJSON implements json.Unmarshaler. A checksum and a digest differ in length.
func (c *Contribution) UnmarshalJSON(data []byte) error {
	var checksum string
	fields := []any{&c.Block.First, &c.Block.Count, &checksum, &c.Worker}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != 4 {
		return fmt.Errorf("a block of %d fields, want 4", len(fields))
	}
	if len(checksum) == briefLength {
		c.Digest = checksum
		return nil
	}
	sum, err := strconv.ParseUint(checksum, 16, 32)
	c.Checksum = uint32(sum)
	return err
}

// Log is what a log says of a run: the entries that hold, without those that a rollback made void.
type Log struct {
	Entries map[uint64]Entry // by step
	Last    uint64           // highest step with an entry; 0: none
	Events  []Event
	Term    uint64 // highest term
	Size    int64  // bytes up to the end of the last whole line
	Damaged int    // lines before that which cannot be read
}

// ReadLog reads a log, and keeps the entries of steps after the given one. A file that does not exist is an empty
// log. What follows the last whole line is torn, and left out. Of a file that is no regular one nothing is read.
// Lines within the log that cannot be read are counted, and skipped.
func ReadLog(path string, after uint64) (*Log, error) {
	f, _, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrIrregular) {
		return &Log{Entries: make(map[uint64]Entry)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	l, err := parseLog(f, after)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return l, nil
}

// parseLog is ReadLog of a file that is open.
func parseLog(r io.Reader, after uint64) (*Log, error) {
	l := &Log{Entries: make(map[uint64]Entry)}
	lines, damaged, at := bufio.NewReaderSize(r, 1<<16), 0, int64(0)
	for {
		line, length, err := readLine(lines)
		if err == io.EOF {
			return l, nil
		}
		if err != nil {
			return nil, err
		}
		at += length
		if !l.add(line, after) {
			damaged++
			continue
		}
		// Only here: damaged lines at the end belong to what is torn, and are written over.
		l.Size, l.Damaged = at, damaged
	}
}

// maxLine bounds the bytes of a line. It keeps a damaged file without line ends out of memory.
const maxLine = 8 << 20

// readLine reads a line and its length. Of a line that is too long it returns nothing but that; at the end of the file,
// and in a line that does not end, it returns io.EOF.
func readLine(r *bufio.Reader) (line []byte, length int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		length += int64(len(part))
		if length <= maxLine {
			line = append(line, part...)
		} else {
			line = nil
		}
		if err != bufio.ErrBufferFull {
			return line, length, err
		}
	}
}

// add takes a line, and reports whether it is one. Whatever is JSON of an entry or an event is; unknown events are
// kept.
func (l *Log) add(line []byte, after uint64) bool {
	var head struct {
		Event string `json:"event"`
		Theta string `json:"theta"`
		Step  uint64 `json:"step"`
		Term  uint64 `json:"term"`
	}
	if json.Unmarshal(line, &head) != nil {
		return false
	}
	switch {
	case head.Event != "":
		var e Event
		if json.Unmarshal(line, &e) != nil {
			return false
		}
		l.Events = append(l.Events, e)
		// No line is ever taken out of a log: a rollback makes void those before it.
		if e.Kind == EventRollback {
			l.cut(e.Step)
		}
	case len(head.Theta) != hashLength || head.Step == 0:
		return false
	default:
		if head.Step > after {
			var e Entry
			if json.Unmarshal(line, &e) != nil {
				return false
			}
			l.Entries[e.Step] = e
		}
		l.Last = max(l.Last, head.Step)
	}
	l.Term = max(l.Term, head.Term)
	return true
}

// hashLength is the length of a HashTheta.
const hashLength = 16

// cut drops the entries after a step. Later lines may hold the same steps anew.
func (l *Log) cut(step uint64) {
	for s := range l.Entries {
		if s > step {
			delete(l.Entries, s)
		}
	}
	l.Last = min(l.Last, step)
}

// Chunk is the number of parameters per chunk in a term, or 0 if the log does not say. Checksums of blocks can be
// compared only over chunks of one length.
func (l *Log) Chunk(term uint64) int {
	for _, e := range slices.Backward(l.Events) {
		if e.Kind == EventOpen && e.Term == term {
			return e.Chunk
		}
	}
	return 0
}

// contributors returns, by mark, since which step each worker has contributed, according to the events of a log. What
// a rollback has undone does not count.
func contributors(events []Event) map[uint64]uint64 {
	since := make(map[uint64]uint64)
	for _, e := range events {
		switch known, ok := since[e.Mark]; {
		case e.Kind == EventContributor && (!ok || e.Step < known):
			since[e.Mark] = e.Step
		case e.Kind == EventRollback:
			maps.DeleteFunc(since, func(_, step uint64) bool { return step >= e.Step })
		}
	}
	return since
}
