package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestCopy: the copy has the files of the run and the one that is added, tells its own name and the first one, and replaces
// a run of its name but for its labels, unless a process works on that.
func TestCopy(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	run, err := Create(dir, Draft{Name: "trial", Config: []byte("a: 1\n"), Info: Info{Sweep: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	hidden := run.Path("figures", ".ipynb_checkpoints") // of who looks at figures
	err = errors.Join(run.Close(), os.Mkdir(hidden, 0o755), os.WriteFile(filepath.Join(hidden, "a.svg"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		err := Copy(filepath.Join(dir, "trial"), kept, "best", "fit.json", []byte(text), func(i *Info) { i.Sweep = "" })
		if err != nil {
			t.Fatal(err)
		}
		info, err := Load(kept, "best")
		if err != nil || info.Name != "best" || info.Was != "trial" || info.Sweep != "" {
			t.Errorf("got %+v, %v", info, err)
		}
		if entries, err := os.ReadDir(filepath.Join(kept, "best", "figures")); err != nil || len(entries) > 0 {
			t.Errorf("hidden files are copied: %v, %v", entries, err)
		}
		for file, want := range map[string]string{"fit.json": text, configFile: "a: 1\n"} {
			if got, err := os.ReadFile(filepath.Join(kept, "best", file)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v", file, got, err)
			}
		}
		if text == "first" {
			if err := SetLabels(kept, "best", Labels{Note: "mine"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if l, err := ReadLabels(kept, "best"); err != nil || l.Note != "mine" {
		t.Errorf("the labels of the replaced run: %+v, %v", l, err)
	}
	held, err := Open(kept, "best")
	if err != nil {
		t.Fatal(err)
	}
	err = Copy(filepath.Join(dir, "trial"), kept, "best", "fit.json", nil, func(*Info) {})
	if !errors.Is(err, ErrHeld) {
		t.Errorf("a run that a process works on: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(kept)
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
