package store

import (
	"errors"
	"os"
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
