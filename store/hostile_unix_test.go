//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// hostile are what stands in the place of a file of a run: what makes a reader wait, read for ever, or read something
// else.
var hostile = map[string]func(path string) error{
	"a pipe":                func(path string) error { return syscall.Mkfifo(path, 0o644) },
	"a link to a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
	"a link to a file":      func(path string) error { return os.Symlink("/etc/passwd", path) },
	"a link to itself":      func(path string) error { return os.Symlink(path, path) },
	"a folder":              func(path string) error { return os.Mkdir(path, 0o755) },
	"a file without an end": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40)) },
	"nothing":               func(string) error { return nil },
}

// A run with such a file is listed, shown and removed; no reader waits for it, and none reads it without bound.
func TestHostileFiles(t *testing.T) {
	for what, put := range hostile {
		for _, file := range []string{infoFile, configFile, metricsFile, lockFile, LabelsFile, infoFile + disk.Suffix} {
			dir := t.TempDir()
			if err := errors.Join(first(nil, dir, "a"), first(nil, dir, "b")); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "a", file)
			if err := errors.Join(os.RemoveAll(path), put(path)); err != nil {
				t.Fatal(err)
			}
			list, err := List(dir)
			if err != nil || len(list) != 2 {
				t.Fatalf("%s as %s: listed %+v, %v", what, file, list, err)
			}
			info, err := Look(dir, "a")
			if damaged := info.State == Damaged; err != nil || damaged != (file == infoFile) {
				t.Errorf("%s as %s: %+v, %v", what, file, info, err)
			}
			if _, _, err := Config(dir, "a"); (err != nil) != (file == configFile) || err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s as %s: configuration: %v", what, file, err)
			}
			damages, err := Damages(dir, "a")
			harmless := what == "nothing" && file != infoFile && file != configFile || file == infoFile+disk.Suffix ||
				what == "a file without an end" && (file == metricsFile || file == lockFile)
			if err != nil || harmless != (len(damages) == 0) || !harmless && damages[0].File != file {
				t.Errorf("%s as %s: damaged are %+v, %v", what, file, damages, err)
			}
			wordless := what != "nothing" && file == LabelsFile
			if _, err := ReadLabels(dir, "a"); (err != nil) != wordless || err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s as %s: labels: %v", what, file, err)
			}
			endless := what != "nothing" && file == metricsFile
			if err := ReadMetrics(dir, "a", func(Record) error { return nil }); (err != nil) != endless && what != "a file without an end" {
				t.Errorf("%s as %s: metrics: %v", what, file, err)
			}
			if tail, err := Follow(dir, "a", Position{Step: 3}); err != nil {
				t.Errorf("%s as %s: %v", what, file, err)
			} else if _, _, err := tail.Next(1); (err != nil) != endless {
				t.Errorf("%s as %s: the tail of the metrics: %v", what, file, err)
			}
			if err := Remove(dir, "a"); err != nil {
				t.Errorf("%s as %s: not removed: %v", what, file, err)
			}
			left(t, dir, what+" as "+file, "b")
		}
	}
}

// A run goes on over what a temporary file was replaced by, and never writes through a link.
func TestHostileFiles_NotWrittenThrough(t *testing.T) {
	for what, put := range hostile {
		for _, file := range []string{infoFile + disk.Suffix, metricsFile} {
			dir := t.TempDir()
			victim := filepath.Join(dir, "victim")
			if err := errors.Join(first(nil, dir, "a"), os.WriteFile(victim, []byte("mine"), 0o644)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "a", file)
			if strings.Contains(what, "link to a file") {
				put = func(path string) error { return os.Symlink(victim, path) }
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			r, err := Open(dir, "a")
			if err != nil {
				t.Fatal(err)
			}
			began := r.Begin(0)
			if file != metricsFile && began != nil {
				t.Errorf("%s as %s: %v", what, file, began)
			}
			if began == nil {
				written := r.Append(Record{Step: 1, Split: "train", Values: Values{"a": 1}})
				if file == metricsFile && strings.Contains(what, "link to a file") && !errors.Is(written, disk.ErrIrregular) {
					t.Errorf("%s as %s: written, %v", what, file, written)
				}
			}
			_ = r.Close() // what could not be written is not written now
			if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
				t.Errorf("%s as %s: a file of somebody holds %q, %v", what, file, got, err)
			}
		}
	}
}
