//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// TestAcquire_OutlastsALook: whoever only looks at a lock, or was forked while it was held, has it for a moment, which is
// long on a busy machine. The run is not said to be in use because of that.
func TestAcquire_OutlastsALook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	look, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(look.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _ = look.Close() })
	held, err := acquire(disk.System(), path)
	if err != nil {
		t.Fatal(err)
	}
	if !locked(path) {
		t.Error("nobody has the lock")
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}
