package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func create(t *testing.T, dir, name string) *Run {
	t.Helper()
	r, err := Create(dir, Draft{
		Name: name, Stem: "fhn-concrete", Config: []byte("seed: 1\n"), Overrides: []string{"fhn", "optim.rate=1e-3"},
		Info: Info{Preset: "fhn", Seed: 1, Steps: 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestCreate_FillsTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	r := create(t, dir, "first")
	for path, want := range map[string]string{"config.yaml": "seed: 1\n", "overrides.txt": "fhn\noptim.rate=1e-3\n"} {
		if got, err := os.ReadFile(r.Path(path)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
		}
	}
	for _, sub := range []string{"checkpoints", "figures", "tables"} {
		if info, err := os.Stat(r.Path(sub)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", sub, err)
		}
	}
	info, err := Load(dir, "first")
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "first" || info.State != Running || info.PID != os.Getpid() || info.Seed != 1 || info.Started.IsZero() {
		t.Errorf("run.json holds %+v", info)
	}
}

func TestCreate_NamesAreCountedPerStem(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"fhn-concrete-1", "fhn-concrete-2"} {
		if got := create(t, dir, "").Name(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCreate_Refuses(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, "taken")
	for name, want := range map[string]error{"taken": ErrOccupied, "a/b": ErrName, "..": ErrName, ".hidden": ErrName, "-v": ErrName, "a.b": ErrName} {
		if _, err := Create(dir, Draft{Name: name, Stem: "x"}); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
}

// TestCreate_TakesOverWhatWasNeverBorn: a process that was killed while it made the folder of a run leaves the name
// free.
func TestCreate_TakesOverWhatWasNeverBorn(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		free  bool
	}{
		"only the folder":           {nil, true},
		"the lock":                  {[]string{"lock"}, true},
		"all but run.json":          {[]string{"lock", "checkpoints/", "figures/", "tables/", "config.yaml", "overrides.txt", "run.json.tmp"}, true},
		"an older release":          {[]string{"lock", "config.yaml", "overrides.txt", ".run.json.123"}, true},
		"somebody's files":          {[]string{"notes.txt"}, false},
		"a configuration of theirs": {[]string{"config.yaml"}, false},
		"something hidden":          {[]string{"lock", ".git/"}, false},
		"a checkpoint":              {[]string{"lock", "checkpoints/", "checkpoints/step-0000000001.json"}, false},
		"a run":                     {[]string{"lock", "config.yaml", "run.json"}, false},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range test.files {
			path := filepath.Join(dir, "x", file)
			var err error
			if strings.HasSuffix(file, "/") {
				err = os.Mkdir(path, 0o755)
			} else {
				err = os.WriteFile(path, nil, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r, err := Create(dir, Draft{Name: "x"})
		if test.free {
			if err != nil || r.Info().State != Running {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, ErrOccupied) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, file := range test.files {
			if _, err := os.Stat(filepath.Join(dir, "x", file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestOpen_OneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	if _, err := Open(dir, "a"); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "process") {
		t.Errorf("got %v, want ErrHeld with the process", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_NoSuchRun(t *testing.T) {
	if _, err := Open(t.TempDir(), "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if _, err := Peek(t.TempDir(), "a"); !errors.Is(err, ErrNotFound) { // the folder is removed at this moment
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestOpen_DamagedInfo(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.Path("run.json"), []byte("{\"name\": "), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "a"); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
	if list, err := List(dir); err != nil || len(list) != 1 || list[0].State != Damaged || list[0].Name != "a" {
		t.Errorf("listed %v, %v", list, err)
	}
}

func TestLoad_KilledRunIsLost(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	if info, err := Load(dir, "a"); err != nil || info.State != Running {
		t.Errorf("held: got %s, %v", info.State, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := Load(dir, "a"); err != nil || info.State != Lost {
		t.Errorf("let go: got %s, %v", info.State, err)
	}
}

func TestEnd_StatesSurvive(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	err := r.Update(func(i *Info) { i.Step, i.ParametersSHA256, i.Metrics = 13, "ab", Values{"loss": 1.5} })
	if err := errors.Join(err, r.End(Interrupted, "Ctrl-C")); err != nil {
		t.Fatal(err)
	}
	info, err := Load(dir, "a")
	if err != nil || info.State != Interrupted || info.Step != 13 || info.ParametersSHA256 != "ab" || info.ExitReason != "Ctrl-C" || info.Metrics["loss"] != 1.5 {
		t.Errorf("got %+v, %v", info, err)
	}
	if left, err := filepath.Glob(r.Path(".*")); err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

func TestList_LatestFirst(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"b", "a", "c"} {
		r := create(t, dir, name)
		if err := r.Update(func(info *Info) { info.Started = time.Unix(int64(i), 0) }); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil || len(list) != 3 || list[0].Name != "c" || list[2].Name != "b" {
		t.Errorf("got %v, %v", list, err)
	}
	if list, err := List(filepath.Join(dir, "none")); err != nil || list != nil {
		t.Errorf("a missing folder: got %v, %v", list, err)
	}
}

// TestLoad_ARunThatEndsMeanwhile: who reads run.json just before the process of a run writes how it ended, and looks
// for the lock just after that, does not take the run for one whose process was killed.
func TestLoad_ARunThatEndsMeanwhile(t *testing.T) {
	r := create(t, t.TempDir(), "a")
	info, err := load(r.Folder(), func(string) bool {
		if err := errors.Join(r.End(Finished, ""), r.Close()); err != nil {
			t.Error(err)
		}
		return false
	})
	if err != nil || info.State != Finished {
		t.Errorf("got %q, %v", info.State, err)
	}
}
