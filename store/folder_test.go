package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestRename_SaysWhatItWas(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	create(t, dir, "taken")
	if err := Rename(dir, "a", "b"); !errors.Is(err, ErrHeld) {
		t.Errorf("a run in use: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Rename(dir, "a", "taken"); !errors.Is(err, ErrOccupied) {
		t.Errorf("a taken name: %v", err)
	}
	if err := Rename(dir, "a", "../b"); !errors.Is(err, ErrName) {
		t.Errorf("a bad name: %v", err)
	}
	if err := Rename(dir, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if info, err := Load(dir, "b"); err != nil || info.Name != "b" || info.Was != "a" {
		t.Errorf("got %s, was %q, %v", info.Name, info.Was, err)
	}
	if err := Rename(dir, "a", "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old name: %v", err)
	}
}

// A trial that was renamed, by the command or by hand, is no trial of its sweep any more: it is a run that somebody has
// stopped. Under its name it is one again.
func TestRename_ATrialIsARunOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	for _, state := range []State{Interrupted, Finished} {
		name := "s-" + string(state)
		r, err := Create(dir, Draft{Name: name, Config: []byte("seed: 1\n"), Info: Info{Sweep: "s"}})
		if err == nil {
			err = r.Update(func(i *Info) { i.State = state })
		}
		if err == nil {
			err = r.Close()
		}
		if err == nil {
			err = Rename(dir, name, "own")
		}
		if err != nil {
			t.Fatal(err)
		}
		if info, err := Load(dir, "own"); err != nil || info.Sweep != "" || info.Stopped != (state == Interrupted) || info.Was != name {
			t.Errorf("%+v, %v", info, err)
		}
		if err := os.Rename(filepath.Join(dir, "own"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if info, err := Load(dir, name); err != nil || info.Sweep != "s" || info.Stopped {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

func TestRemove_NotWhatIsInUse(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	if err := Remove(dir, "a"); !errors.Is(err, ErrHeld) {
		t.Errorf("a run in use: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if err := Remove(dir, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
}
