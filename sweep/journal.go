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

// Record is one line of a journal. Trials and replicates are counted from 1, rungs from 0.
type Record struct {
	Kind      Kind      `json:"kind"`
	At        time.Time `json:"at"`
	Spec      *Spec     `json:"spec,omitempty"`
	Trials    int       `json:"trials,omitempty"`
	Trial     int       `json:"trial,omitempty"`
	Replicate int       `json:"replicate,omitempty"`
	Rung      int       `json:"rung,omitempty"`
	Cohort    int       `json:"cohort,omitempty"`
	First     int       `json:"first,omitempty"` // rung at which the trial is judged first
	Draw      uint64    `json:"draw,omitempty"`
	Settings  Settings  `json:"settings,omitempty"`
	Steps     []uint64  `json:"steps,omitempty"` // updates at each rung
	Of        int       `json:"of,omitempty"`    // the trial that this one confirms
	Seeds     []uint64  `json:"seeds,omitempty"`
	Result    *Result   `json:"result,omitempty"`
	Fate      Fate      `json:"fate,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Kept      []int     `json:"kept,omitempty"`
	Pruned    []int     `json:"pruned,omitempty"`
	Order     Order     `json:"order,omitempty"`
}

// Result is what a leg has reached.
type Result struct {
	Step    uint64             `json:"step"`
	Values  map[string]float64 `json:"values"`  // finite
	Hash    string             `json:"hash"`    // of the parameters
	Seconds float64            `json:"seconds"` // of a core, about
}

// Fate says how a leg ended that did not reach its rung.
type Fate string

// The fates. After the last two the leg goes on later, from its last checkpoint.
const (
	Diverged    Fate = "diverged"    // the parameters or the metrics are not finite
	Failed      Fate = "failed"      // an error that came back when it was tried again
	Preempted   Fate = "preempted"   // somebody stopped the run of the trial
	Interrupted Fate = "interrupted" // the sweep was stopped
)

// Order is what the user asks of a sweep.
type Order string

// The orders.
const (
	Proceed Order = "run"
	Pause   Order = "pause"
	Halt    Order = "stop"
)

// ErrJournal is returned for a journal that is damaged before its end.
var ErrJournal = errors.New("sweep: the journal is damaged")

// Journal appends records to a file. Append returns when they are on the disk.
type Journal struct {
	file disk.File
	now  func() time.Time
}

// line is a record with the checksum of its text.
type line struct {
	Sum    string          `json:"crc32"`
	Record json.RawMessage `json:"record"`
}

// OpenJournal opens a journal, which need not exist, and returns its records. A torn end, left by a process that was
// killed while it wrote, is cut off: nothing was done on the strength of it.
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

// ReadJournal returns the records of a journal without changing it.
func ReadJournal(path string) ([]Record, error) {
	records, _, err := readJournal(path)
	return records, err
}

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

func checksum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// Append writes records with the present time. That a leg begins is not waited for: if the record is lost, the leg
// begins again.
func (j *Journal) Append(records ...Record) error {
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
