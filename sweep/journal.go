package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// A journal is a file of lines, each of which is one record with the CRC-32C of its text:
//
//	{"crc32":"1a2b3c4d","record":{"kind":"decision","at":"…","cohort":2,"kept":[4],"pruned":[5,6]}}
//
// Lines are appended and never changed. The state of a sweep is the fold of its journal and nothing else; tables
// and page can be written from it again at any time. All records are flushed to the disk before the sweep acts on
// them, except that of a start: if it is lost, its leg begins again, from the last checkpoint of the run.
//
// A process that is killed while it writes leaves at most one torn line, at the end. It is cut off when the
// journal is opened for writing. A line that is damaged anywhere else is ErrJournal: what follows it cannot be
// trusted.

// Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	KindOpen      Kind = "open"      // the sweep begins: Spec
	KindExtend    Kind = "extend"    // more trials are allowed: Trials in all
	KindTrial     Kind = "trial"     // a trial is proposed: Trial, Cohort, First, Draw, Settings, Steps, Of, Seeds
	KindStart     Kind = "start"     // a leg begins: Trial, Replicate, Rung
	KindResult    Kind = "result"    // a leg is done: Trial, Replicate, Rung, Result
	KindFault     Kind = "fault"     // a leg ended badly: Trial, Replicate, Rung, Fate, Reason
	KindDecision  Kind = "decision"  // trials were judged at a rung: Cohort, Rung, Kept, Pruned
	KindExhausted Kind = "exhausted" // no further configuration exists: Reason
	KindOrder     Kind = "order"     // the user paused, resumed or stopped the sweep: Order
	KindDone      Kind = "done"      // all trials have ended
)

// Record is one line of a journal. Trials and replicates are counted from 1, rungs and draws from 0. Which fields
// it has depends on the kind; a field that is left out is zero.
type Record struct {
	Kind      Kind      `json:"kind"`
	At        time.Time `json:"at"`               // when it was written, in UTC
	Spec      *Spec     `json:"spec,omitempty"`   // all that the sweep means, so that the journal needs no other file
	Trials    int       `json:"trials,omitempty"` // the new cap, not the difference
	Trial     int       `json:"trial,omitempty"`
	Replicate int       `json:"replicate,omitempty"`
	Rung      int       `json:"rung,omitempty"`
	Cohort    int       `json:"cohort,omitempty"`   // from 1
	First     int       `json:"first,omitempty"`    // rung at which the trial is judged first
	Draw      uint64    `json:"draw,omitempty"`     // place in the sequence of the method
	Settings  Settings  `json:"settings,omitempty"` // without the seed
	Steps     []uint64  `json:"steps,omitempty"`    // updates at each rung
	Of        int       `json:"of,omitempty"`       // the trial that this one confirms
	Seeds     []uint64  `json:"seeds,omitempty"`    // one for each replicate
	Result    *Result   `json:"result,omitempty"`
	Fate      Fate      `json:"fate,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Kept      []int     `json:"kept,omitempty"`   // trials that stay
	Pruned    []int     `json:"pruned,omitempty"` // trials that were judged with them, and end here
	Order     Order     `json:"order,omitempty"`
}

// Result is what a leg has reached. A metric has the value that it has at Step, whatever its unit.
type Result struct {
	Step    uint64             `json:"step"`
	Values  map[string]float64 `json:"values"`  // finite
	Hash    string             `json:"hash"`    // of the parameters
	Seconds float64            `json:"seconds"` // of a core, about, since the first update
}

// Fate says how a leg ended that did not reach its rung. A run that diverged gets no further; one that failed is
// tried again a few times before it counts as lost.
type Fate string

// The fates. After the last two the leg goes on later, from its last checkpoint.
const (
	Diverged    Fate = "diverged"    // the parameters or the metrics are not finite
	Failed      Fate = "failed"      // any other error
	Preempted   Fate = "preempted"   // somebody stopped the run of the trial
	Interrupted Fate = "interrupted" // the sweep was stopped
)

// Order is what the user asks of a sweep. Its text is that of the order file in the folder of the sweep.
type Order string

// The orders.
const (
	Proceed Order = "run"   // go on
	Pause   Order = "pause" // interrupt the legs and wait for another order
	Halt    Order = "stop"  // interrupt the legs and end Run; the sweep can go on later
)

// ErrJournal is returned for a journal that is damaged before its end.
var ErrJournal = errors.New("sweep: the journal is damaged")

// Journal appends records to a file. Append returns when they are on the disk. It is for one goroutine of one
// process: the lock of the sweep's folder keeps other processes out.
type Journal struct {
	file   disk.File
	now    func() time.Time
	failed error // of an Append: a record behind a torn line could never be read
}

// line is a record with the checksum of its text.
type line struct {
	Sum    string          `json:"crc32"`
	Record json.RawMessage `json:"record"`
}

// OpenJournal opens a journal, which need not exist, and returns its records. A torn end, left by a process that
// was killed while it wrote, is cut off: nothing was done on the strength of it. It returns ErrJournal if the
// file is damaged before its end. The caller closes the journal.
func OpenJournal(path string) (*Journal, []Record, error) {
	records, size, err := readJournal(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := disk.System().Append(path, size)
	if err != nil {
		return nil, nil, fmt.Errorf("open the journal: %w", err)
	}
	if err := f.Sync(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the journal: %w", err), f.Close())
	}
	return &Journal{file: f, now: time.Now}, records, nil
}

// maxJournal is the most bytes that are read of a journal: that of a million trials is smaller.
const maxJournal = 1 << 30

// ReadJournal returns the records of a journal without changing it. A sweep may be running meanwhile: a line that
// is being written is left out. A file that does not exist has no records.
func ReadJournal(path string) ([]Record, error) {
	records, _, err := readJournal(path)
	return records, err
}

// readJournal returns the records of the whole lines, and the number of bytes that these take. The last line
// counts as torn if it has no end, or does not decode.
func readJournal(path string) (records []Record, size int64, err error) {
	data, err := disk.ReadFile(path, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the journal: %w", err)
	}
	for n := 1; len(data) > 0; n++ {
		text, rest, whole := bytes.Cut(data, []byte("\n"))
		r, err := decode(text)
		if !whole || err != nil && len(rest) == 0 {
			return records, size, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %s, line %d: %w", ErrJournal, path, n, err)
		}
		records = append(records, r)
		size += int64(len(text)) + 1
		data = rest
	}
	return records, size, nil
}

// decode returns the record of a line without its end, or why its text is not what was written.
func decode(text []byte) (Record, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return Record{}, err
	}
	if sum := checksum(l.Record); sum != l.Sum {
		return Record{}, fmt.Errorf("its checksum is %s, written is %s", sum, l.Sum)
	}
	var r Record
	return r, json.Unmarshal(l.Record, &r)
}

// checksum is the CRC-32C (Castagnoli) of data in eight hexadecimal digits.
func checksum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// Append writes records with the present time, all of them by one write, and flushes them, unless they say only
// that legs begin. That is not waited for: if the record is lost, the leg begins again. After an error the end of
// the file is not known; what was to follow from the records must not happen, and every later Append returns the same
// error and writes nothing.
func (j *Journal) Append(records ...Record) error {
	if j.failed == nil {
		j.failed = j.append(records)
	}
	return j.failed
}

func (j *Journal) append(records []Record) error {
	var b bytes.Buffer
	matters := false
	for i := range records {
		matters = matters || records[i].Kind != KindStart
		records[i].At = j.now().UTC()
		data, err := json.Marshal(records[i])
		if err != nil {
			return fmt.Errorf("encode a record of the journal: %w", err)
		}
		fmt.Fprintf(&b, `{"crc32":%q,"record":%s}`+"\n", checksum(data), data)
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if !matters {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
