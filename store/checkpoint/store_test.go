package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// A program that ends between a best checkpoint and best.json loses neither: resumed, it names the newer one.
func TestStore_ResumeBestNotNamed(t *testing.T) {
	for _, before := range []string{"names another", "is missing", "is torn"} {
		t.Run(before, func(t *testing.T) {
			dir := t.TempDir()
			s := &Store{Dir: dir}
			save(t, s, state(1, 1), true)
			save(t, s, state(2, 2), false) // best.json was not reached
			switch best := filepath.Join(dir, bestManifest); before {
			case "is missing":
				if err := os.Remove(best); err != nil {
					t.Fatal(err)
				}
			case "is torn":
				if err := os.Truncate(best, 20); err != nil {
					t.Fatal(err)
				}
			}
			cp, _, err := Restore(dir)
			if err != nil {
				t.Fatal(err)
			}
			next := &Store{Dir: dir}
			if err := next.Resume(cp.Step, cp.BestStep); err != nil {
				t.Fatal(err)
			}
			for step := uint64(3); step <= 5; step++ {
				save(t, next, state(step, 2), false)
			}
			if best, err := RestoreBest(dir); err != nil || best.Step != 2 {
				t.Errorf("best: %+v, %v", best, err)
			}
		})
	}
}

// A best checkpoint whose data is gone is not the same as none.
func TestRestoreBest_DataMissing(t *testing.T) {
	dir := t.TempDir()
	save(t, &Store{Dir: dir}, state(1, 1), true)
	if err := os.Remove(filepath.Join(dir, stem(1)+dataSuffix)); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreBest(dir); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestSurplus: what may be needed stays: where a file that says what counts cannot be read, that is everything.
func TestSurplus(t *testing.T) {
	dir := t.TempDir()
	s := &Store{Dir: dir}
	for step := uint64(1); step <= 3; step++ {
		if err := s.Write(state(step, 1), step == 1); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Surplus(dir)
	if want := []string{filepath.Join(dir, stem(2)+manifestSuffix), filepath.Join(dir, stem(2)+dataSuffix)}; err != nil || !slices.Equal(files, want) {
		t.Errorf("got %v, %v", files, err)
	}
	for _, name := range []string{rollbackFile, bestManifest} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("{\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if files, err := Surplus(dir); err != nil || len(files) > 0 {
			t.Errorf("%s is damaged: %v, %v", name, files, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Old checkpoints are deleted, even half-written ones; what others put into the folder is not, and a file that cannot
// be deleted does not end the run.
func TestStore_PruneSparesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"1", "1.json", "3.png", "step-1.png", "step-1", "step-0000000001.json.bak", "step-x.json"}
	for _, name := range append(foreign, "step-0000000001.safetensors.tmp", "step-0000000001.json.tmp") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"2", "step-0000000002.json"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "inner"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &Store{Dir: dir}
	for step := uint64(5); step <= 9; step++ {
		save(t, s, state(step, 0), false)
	}
	for _, name := range append(foreign, "2", "step-0000000002.json") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"step-0000000001.safetensors.tmp", "step-0000000001.json.tmp", stem(5) + ".json", stem(5) + dataSuffix} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

// The folder that is made is synced into the one above it, and only then.
func TestStore_SyncsNewFolders(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "checkpoints")
	var synced []string
	s := &Store{Disk: disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
		if a.Kind == "sync folder" {
			synced = append(synced, a.Path)
		}
		return 0, nil
	}), Dir: dir}
	save(t, s, state(1, 0), false)
	if want := []string{top, dir, dir}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
	synced = nil
	save(t, s, state(2, 0), false)
	if want := []string{dir, dir}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
}

// TestStore_RunMoved: while the folder of the run is elsewhere, checkpoints are not written into a new one, in which
// nobody could continue the run. When it is back, they are.
func TestStore_RunMoved(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	run := filepath.Join(top, "run")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Store{Disk: disk.System(), Dir: filepath.Join(run, "checkpoints")}
	save(t, s, state(1, 0), false)
	if err := os.Rename(run, run+"2"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(state(2, 0), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder in place of the one that was moved: %v", err)
	}
	if err := os.Rename(run+"2", run); err != nil {
		t.Fatal(err)
	}
	save(t, s, state(2, 0), false)
	if cp, _, err := Restore(s.Dir); err != nil || cp.Step != 2 {
		t.Errorf("checkpoint %+v, %v", cp, err)
	}
}
