package fault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Kind names a fault. Its order is that of the lines in the file of counters.
type Kind int

// The faults that a process injects into itself.
const (
	Drop      Kind = iota // a message is lost
	Dup                   // a message is sent twice
	Delayed               // a message is sent later
	Corrupt               // one bit of a message is changed
	NaN                   // an element of a gradient is no number
	Partition             // nothing is sent or received for a while
	DiskFull              // nothing can be written for a while
	kinds
)

// String is the name of the fault on the command line and in reports.
func (k Kind) String() string {
	return [...]string{"drop", "dup", "delay", "corrupt", "nan", "partition", "disk-full"}[k]
}

const (
	// saveInterval is the shortest time between two writes of the counters. Faults between the last write and a kill
	// are not counted.
	saveInterval = 100 * time.Millisecond
	// countsLine is the format of a line of the file. Its width does not depend on the number.
	countsLine = "%-12s%016d\n"
	gauge      = "goroutines"
)

// Variable is the environment variable with the Spec for a process of a run.
const Variable = "SWITCHYARD_FAULTS"

// Counts are the counters of one process, with their file: a line with name and number for each counter. All
// lines have a fixed length, so that one write in place replaces the whole content. Nothing is flushed to the
// disk: the file has to survive the process, not the machine.
type Counts struct {
	log hclog.Logger

	mu   sync.Mutex
	file *os.File // nil: none, or closed
	n    [kinds]int64
	due  *time.Timer // runs if there are counts to write; nil: all are written
}

// openCounts makes the file, which it empties if it exists. Without a path counters are kept in memory alone.
func openCounts(path string, log hclog.Logger) (*Counts, error) {
	c := &Counts{log: log}
	if path == "" {
		return c, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("make the file of fault counters: %w", err)
	}
	c.file = f
	return c, nil
}

// add counts a fault, and writes the file within saveInterval.
func (c *Counts) add(kind Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[kind]++
	if c.file != nil && c.due == nil {
		c.due = time.AfterFunc(saveInterval, c.save)
	}
}

// save writes the file. A failure is logged, and does not disturb the process.
func (c *Counts) save() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = nil
	if c.file == nil {
		return
	}
	if err := c.write(); err != nil {
		c.log.Warn("fault counters are not kept", "error", err)
	}
}

// write writes all counters over the old ones. The caller holds mu.
func (c *Counts) write() error {
	var b bytes.Buffer
	for kind, n := range c.n {
		fmt.Fprintf(&b, countsLine, Kind(kind), n)
	}
	fmt.Fprintf(&b, countsLine, gauge, goroutines())
	_, err := c.file.WriteAt(b.Bytes(), 0)
	return err
}

// close writes the counters and closes the file. A second call does nothing.
func (c *Counts) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.due != nil {
		c.due.Stop()
		c.due = nil
	}
	if c.file == nil {
		return nil
	}
	err := errors.Join(c.write(), c.file.Close())
	c.file = nil
	if err != nil {
		return fmt.Errorf("write the fault counters: %w", err)
	}
	return nil
}

// ReadCounts reads the file of a process: the counters by the names of the faults, and the number of goroutines at the
// time of writing. An empty file has no counters.
func ReadCounts(path string) (counts map[string]int64, goroutines int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the fault counters: %w", err)
	}
	counts = make(map[string]int64)
	for line := range bytes.Lines(data) {
		words := bytes.Fields(line)
		if len(words) != 2 {
			return nil, 0, fmt.Errorf("read the fault counters: %s: bad line %q", path, line)
		}
		n, err := strconv.ParseInt(string(words[1]), 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("read the fault counters: %s: %w", path, err)
		}
		counts[string(words[0])] = n
	}
	goroutines = counts[gauge]
	delete(counts, gauge)
	return counts, goroutines, nil
}
