package disk

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRemedy: what is said to help is about what is wrong.
func TestRemedy(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		syscall.ENOSPC: "free space", syscall.EMFILE: "ulimit -n", syscall.EFBIG: "ulimit -f", syscall.EROFS: "writable",
		syscall.EACCES: "writable", syscall.ENOENT: "move the folder back",
	} {
		err := fmt.Errorf("write a checkpoint: %w", &fs.PathError{Op: "open", Path: "x", Err: cause})
		if got := Remedy(err); !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// TestMakeIn: a folder is made, and not the one that it belongs to.
func TestMakeIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		if err := MakeIn(System(), filepath.Join(dir, "checkpoints")); err != nil {
			t.Error(err)
		}
	}
	if err := MakeIn(System(), filepath.Join(dir, "moved", "checkpoints")); err == nil {
		t.Error("the folder of a run that was moved is made anew")
	}
}
