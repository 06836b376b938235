//go:build long

package cmd

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme_InAFreshClone compiles and runs the commands of the README in a folder that has what a clone has.
func TestReadme_InAFreshClone(t *testing.T) {
	t.Parallel()
	n := &newcomer{t: t, dir: clone(t), compiles: true}
	// As the README has it for go build: else two lines compile the standard library in two ways.
	n.environ = append(os.Environ(), "CGO_ENABLED=0")
	n.follow()
}

// clone has the files that a clone of the repository would have, and those that are to be added to it.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "switchyard")
	list, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil { // the sources did not come by git
		if err := os.CopyFS(dir, os.DirFS("..")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		from, to := filepath.Join("..", name), filepath.Join(dir, name)
		info, err := os.Stat(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(from)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
