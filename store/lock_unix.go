//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// acquire creates and locks the file at path. The kernel releases the lock when the returned file is closed or the
// process ends. It returns ErrHeld if another opening of the file has the lock, in this process or another one.
func acquire(d disk.Disk, path string) (*os.File, error) {
	f, err := openLock(d, path)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the run: %w", err)
	}
	// Attempts for about a second: a process that calls held has the lock for a moment, and so has one that was forked
	// while the lock was held, until it executes its program. On a busy machine either may wait for a processor.
	for pause := 5 * time.Millisecond; pause < time.Second; pause *= 2 {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, nil
		}
		time.Sleep(pause)
	}
	closeErr := f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrHeld
	}
	return nil, errors.Join(fmt.Errorf("lock the run: %w", err), closeErr)
}

// held reports whether some process has the lock of the run in folder, this one included.
func held(folder string) bool { return locked(filepath.Join(folder, lockFile)) }

// locked reports whether some process has the lock at path. To see that, it takes the lock for a moment itself,
// shared, so that several may look at the same time. Without the file nobody has it.
func locked(path string) bool {
	f, _, err := disk.Open(path)
	if err != nil {
		return false
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Join(err, f.Close()) != nil
}
