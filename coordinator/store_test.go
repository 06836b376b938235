package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// A program that ends between a best checkpoint and best.json loses neither: resumed, it names the newer one.
func TestResume_BestNotNamed(t *testing.T) {
	for _, before := range []string{"names another", "is missing", "is torn"} {
		t.Run(before, func(t *testing.T) {
			dir := t.TempDir()
			s := newStore(nil, dir, nil, 6)
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
			c := resumed(t, dir, cp)
			for step := uint64(3); step <= 5; step++ {
				save(t, c.saver.store, state(step, 2), false)
			}
			if best, err := RestoreBest(dir); err != nil || best.Step != 2 {
				t.Errorf("best: %+v, %v", best, err)
			}
		})
	}
}

func resumed(t *testing.T, dir string, cp *Checkpoint) *Coordinator {
	t.Helper()
	cfg := valid(dir)
	c, err := New(cfg, make([]float32, 6), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(cp); err != nil {
		t.Fatal(err)
	}
	return c
}

// valid is a configuration for six parameters.
func valid(dir string) Config {
	return Config{
		Run: "r", Seed: 7, Steps: 9, Shards: 1, FailureDetection: 1e9, Chunk: 64, Credit: 128, TermNames: []string{"loss"},
		Dir: dir, Optimizer: Optimizer{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
}

// A best checkpoint whose data is gone is not the same as none.
func TestRestoreBest_DataMissing(t *testing.T) {
	dir := t.TempDir()
	save(t, newStore(nil, dir, nil, 6), state(1, 1), true)
	if err := os.Remove(filepath.Join(dir, stem(1)+dataSuffix)); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreBest(dir); err == nil || errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("got %v", err)
	}
}

// Old checkpoints are deleted, even half-written ones; what others put into the folder is not, and a file that cannot be
// deleted does not end the run.
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
	s := newStore(nil, dir, nil, 6)
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

// What pruning could not do is told, and the run goes on.
func TestCoordinator_PruningFails(t *testing.T) {
	c, err := New(valid(t.TempDir()), make([]float32, 6), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	c.saved(saved{cmd: checkpointCommand{state: state(1, 0)}, pruning: errors.New("busy")})
	if c.finished || c.err != nil {
		t.Errorf("the run ended: %v", c.err)
	}
}

// A last checkpoint that cannot be written does not hide that the run diverged.
func TestCoordinator_DivergedAndNotSaved(t *testing.T) {
	for _, before := range []error{nil, ErrDiverged, ErrInterrupted} {
		cfg := valid(t.TempDir())
		cfg.Disk = fullDisk(10)
		c, err := New(cfg, make([]float32, 6), wire.NewMemory(nil), nil, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		c.finished, c.err = true, before
		c.saver.save(checkpointCommand{state: state(1, 0)})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.saveLast(ctx)
		if !errors.Is(c.err, syscall.ENOSPC) || errors.Is(c.err, ErrDiverged) != (before == ErrDiverged) || errors.Is(c.err, ErrInterrupted) {
			t.Errorf("after %v: got %v", before, c.err)
		}
	}
}

// Folders that are made are synced into the ones above them, and only then.
func TestStore_SyncsNewFolders(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "run", "checkpoints")
	var synced []string
	s := newStore(disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
		if a.Kind == "sync folder" {
			synced = append(synced, a.Path)
		}
		return 0, nil
	}), dir, nil, 6)
	save(t, s, state(1, 0), false)
	if want := []string{top, filepath.Join(top, "run"), dir, dir}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
	synced = nil
	save(t, s, state(2, 0), false)
	if want := []string{dir, dir}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
}
