package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

var errDead = errors.New("the process was killed")

// dying is a disk on which a process dies at act n: that act, and every later one, leaves nothing. A write leaves its
// first byte. died reports whether it came so far.
func dying(n int) (d disk.Disk, died func() bool) {
	dead := false
	return disk.Faulty(disk.System(), func(disk.Act) (int, error) {
		if n--; n == 0 {
			dead = true
			return 1, errDead
		}
		if dead {
			return 0, errDead
		}
		return 0, nil
	}), func() bool { return dead }
}

// atEveryAct runs act in a new folder and kills it at its first change of the disk, at the second, and so on, until one
// is not killed. After each, check sees what is left.
func atEveryAct(t *testing.T, prepare func(dir string), act func(d disk.Disk, dir string) error, check func(dir, at string)) {
	t.Helper()
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "runs")
		prepare(dir)
		d, died := dying(n)
		err := act(d, dir)
		if !died() {
			if err != nil {
				t.Fatalf("not killed: %v", err)
			}
			if n < 4 {
				t.Fatalf("only %d acts go through the disk", n-1)
			}
			return
		}
		check(dir, fmt.Sprintf("killed at act %d", n))
	}
}

// first makes a run and lets it go.
func first(d disk.Disk, dir, name string) error {
	r, err := Create(dir, Draft{Name: name, Stem: "a", Config: []byte("seed: 1\n"), Normalisation: []byte("{}"), Disk: d})
	if err != nil {
		return err
	}
	return r.Close()
}

// A process that is killed while it makes a run leaves nothing, or a run that goes on. The next one that makes a run
// removes what is left aside.
func TestCreate_KilledAtEveryAct(t *testing.T) {
	born := 0
	atEveryAct(t, func(string) {}, func(d disk.Disk, dir string) error { return first(d, dir, "a") }, func(dir, at string) {
		list, err := List(dir)
		if err != nil || len(list) > 1 {
			t.Fatalf("%s: listed %v, %v", at, list, err)
		}
		if len(list) == 1 {
			born++
			if list[0].State != Lost || list[0].Name != "a" {
				t.Errorf("%s: %+v", at, list[0])
			}
			if config, _, err := Config(dir, "a"); err != nil || string(config) != "seed: 1\n" {
				t.Errorf("%s: configuration %q, %v", at, config, err)
			}
			r, err := Open(dir, "a")
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if err := errors.Join(r.Begin(0), r.Close()); err != nil {
				t.Errorf("%s: it does not go on: %v", at, err)
			}
		} else if err := first(nil, dir, "a"); err != nil {
			t.Errorf("%s: the name is dead: %v", at, err)
		}
		if err := first(nil, dir, "b"); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		left(t, dir, at, "a", "b")
	})
	if born == 0 {
		t.Error("the run was never born")
	}
}

// left checks that a folder of runs holds these runs and nothing else.
func left(t *testing.T, dir, at string, runs ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(runs, " "); got != want {
		t.Errorf("%s: the folder holds %q, want %q", at, got, want)
	}
}

// A run whose removal was killed is there as before, or gone: its name is free, and the rest of it is removed later.
func TestRemove_KilledAtEveryAct(t *testing.T) {
	prepare := func(dir string) {
		if err := first(nil, dir, "a"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a", Checkpoints, "step-1"), []byte("data"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	act := func(d disk.Disk, dir string) error { return remove(d, dir, "a") }
	atEveryAct(t, prepare, act, func(dir, at string) {
		if info, err := Load(dir, "a"); err == nil {
			if _, err := os.Stat(filepath.Join(dir, "a", Checkpoints, "step-1")); err != nil || info.State != Lost {
				t.Errorf("%s: half a run is left: %+v, %v", at, info, err)
			}
			if err := Remove(dir, "a"); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		} else if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", at, err)
		}
		if err := Clear(dir); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		left(t, dir, at)
	})
}

// A renamed run has its old name or its new one.
func TestRename_KilledAtEveryAct(t *testing.T) {
	for n := 1; n <= 2; n++ {
		dir := t.TempDir()
		if err := first(nil, dir, "a"); err != nil {
			t.Fatal(err)
		}
		d, died := dying(n)
		if err := rename(d, dir, "a", "b"); !errors.Is(err, errDead) || !died() {
			t.Fatalf("act %d: %v", n, err)
		}
		if list, err := List(dir); err != nil || len(list) != 1 || list[0].State != Lost || list[0].Name != "ab"[n-1:n] {
			t.Errorf("act %d: %+v, %v", n, list, err)
		}
	}
}

// While a process makes a run, no other makes one of that name, and none takes its folder for a leftover.
func TestCreate_TwoAtATime(t *testing.T) {
	dir := t.TempDir()
	aside := filepath.Join(dir, asideName("a", newSuffix))
	lock, err := makeAside(disk.System(), aside)
	if err != nil {
		t.Fatal(err)
	}
	if err := first(nil, dir, "a"); !errors.Is(err, ErrOccupied) {
		t.Errorf("got %v, want ErrOccupied", err)
	}
	if err := first(nil, dir, "b"); err != nil {
		t.Error(err)
	}
	left(t, dir, "another makes a run", asideName("a", newSuffix), "b")
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first(nil, dir, "a"); err != nil {
		t.Error(err)
	}
	left(t, dir, "it was killed", "a", "b")
}

// TestOpen_AnotherRunMeanwhile: who waits for the lock of a run that is being removed does not hold the run that is there
// afterwards under its name, and which a process works on.
func TestOpen_AnotherRunMeanwhile(t *testing.T) {
	dir := t.TempDir()
	runs := map[string]*Run{}
	for _, name := range []string{"a", "b"} {
		r, err := Create(dir, Draft{Name: name, Config: []byte("seed: 1\n")})
		if err != nil {
			t.Fatal(err)
		}
		runs[name] = r
	}
	ended := make(chan error)
	for _, take := range []func() error{
		func() error {
			r, err := Open(dir, "a")
			if err == nil {
				err = r.Close()
			}
			return err
		},
		func() error { return Remove(dir, "a") },
	} {
		go func() { ended <- take() }()
	}
	time.Sleep(15 * time.Millisecond) // both have opened the lock, and try to take it
	old := filepath.Join(dir, asideName("a", oldSuffix))
	if err := errors.Join(os.Rename(filepath.Join(dir, "a"), old), os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")), runs["a"].Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		// Who comes late, and between the two, finds no run.
		if err := <-ended; !errors.Is(err, ErrHeld) && !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v, want ErrHeld", err)
		}
	}
	if _, err := Load(dir, "a"); err != nil {
		t.Errorf("the run in use is gone: %v", err)
	}
	if err := runs["b"].Close(); err != nil {
		t.Error(err)
	}
}
