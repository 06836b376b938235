package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

const (
	// syncInterval is how often the log is synced while steps are made. Steps that a crash removes from it are computed
	// again.
	syncInterval = time.Second
	// maxPending bounds the bytes of the lines that wait for a disk that takes none. Further steps leave no line.
	maxPending = 64 << 20
)

// journal writes the log on a goroutine of its own, so that a step never waits for the disk. Lines stay in memory until
// they are synced. After a failure the file is cut to its length at the last sync, and all lines after that are written
// once more: it is not known what a failed sync has lost.
type journal struct {
	path   string
	disk   disk.Disk
	report func(error) // is called with the outcome of every attempt, on the journal's goroutine

	// Invariant: the file holds synced bytes that are safe, and then the first written bytes of pending.
	mu      sync.Mutex // guards pending, synced and dropped
	pending []byte     // lines that are not synced
	synced  int64      // length of the file up to them
	dropped int        // lines that never came to the file

	// The goroutine of run owns file and written.
	file    disk.File       // nil: to be opened
	written int             // bytes of pending that are in the file
	wake    chan struct{}   // holds one notice: there are lines
	flushes chan chan error // each is answered with the outcome
	quit    chan struct{}   // closed by close
	done    chan struct{}   // closed when run has returned
}

// startJournal writes on after the first size bytes of a log. report must not wait for the journal.
func startJournal(d disk.Disk, path string, size int64, report func(error)) *journal {
	j := &journal{
		path: path, disk: d, report: report, synced: size,
		wake: make(chan struct{}, 1), flushes: make(chan chan error), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go j.run()
	return j
}

// append adds a line, an Entry or an Event. It never waits for the disk. A line that does not fit in memory is
// counted in dropped.
func (j *journal) append(line any) {
	text, err := json.Marshal(line)
	j.mu.Lock()
	if err != nil || len(j.pending)+len(text) > maxPending {
		j.dropped++
	} else {
		j.pending = append(append(j.pending, text...), '\n')
	}
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// flush returns when all lines are on disk, or why they are not. It may be called from several goroutines.
func (j *journal) flush() error {
	reply := make(chan error, 1)
	select {
	case j.flushes <- reply:
		return <-reply
	case <-j.done:
		return errJournalClosed
	}
}

// close tries once more to write what is left.
func (j *journal) close() error {
	err := j.flush()
	close(j.quit)
	<-j.done
	return err
}

// errJournalClosed is returned by a flush after the end.
var errJournalClosed = errors.New("the log is closed")

// run is the life of the journal's goroutine.
func (j *journal) run() {
	defer close(j.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	// armed says that the timer runs, failing that the last attempt failed.
	armed, failing, wait := false, false, backoff(0)
	for {
		var err error
		select {
		case <-j.wake:
			if failing {
				continue // the timer tries again
			}
			err = j.write()
		case <-timer.C:
			armed = false
			err = j.sync()
		// Who waits for a flush hears of a failure itself, beside the report.
		case reply := <-j.flushes:
			err = j.sync()
			reply <- err
		// close has flushed before: what is left could not be written.
		case <-j.quit:
			j.abandon()
			return
		}
		if err != nil || failing {
			j.report(err)
		}
		// After a failure the timer alone decides when to try again: lines may come many times a second.
		if failing = err != nil; failing {
			timer.Reset(wait.next())
			armed = true
			continue
		}
		wait = 0
		if !armed && j.written > 0 {
			timer.Reset(syncInterval)
			armed = true
		}
	}
}

// write puts the lines into the file that are not there. Without a sync they may still be lost in a crash.
func (j *journal) write() error {
	j.mu.Lock()
	rest := j.pending[j.written:]
	j.mu.Unlock()
	if len(rest) == 0 {
		return nil
	}
	if j.file == nil {
		file, err := j.disk.Append(j.path, j.synced)
		if err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		j.file = file
		// A file that was just made is safe only once its folder is.
		if err := j.disk.SyncFolder(filepath.Dir(j.path)); err != nil {
			j.abandon()
			return fmt.Errorf("open the log: %w", err)
		}
	}
	if _, err := j.file.Write(rest); err != nil {
		j.abandon()
		return fmt.Errorf("write the log: %w", err)
	}
	j.written += len(rest)
	return nil
}

// sync brings all lines to the disk. If it cannot, none of them counts as written.
func (j *journal) sync() error {
	if err := j.write(); err != nil || j.written == 0 {
		return err
	}
	if err := j.file.Sync(); err != nil {
		j.abandon()
		return fmt.Errorf("sync the log: %w", err)
	}
	j.mu.Lock()
	// Lines that came during the sync move to the front.
	j.pending = j.pending[:copy(j.pending, j.pending[j.written:])]
	j.synced += int64(j.written)
	j.written = 0
	j.mu.Unlock()
	return nil
}

// abandon closes the file; the next write opens it, without what is not synced.
func (j *journal) abandon() {
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.written = nil, 0
}

// backoff is the pause between two attempts to write: it grows up to a few seconds. The zero value begins with a
// second.
type backoff time.Duration

// next is the pause before the next attempt. It doubles from one second, up to five.
func (b *backoff) next() time.Duration {
	*b = min(max(2*(*b), backoff(time.Second)), backoff(5*time.Second))
	return time.Duration(*b)
}
