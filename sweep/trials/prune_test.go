package trials

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/sweep"
)

// made is a run to make: steps are those of its checkpoints, best the one that is the best; 0: none.
type made struct {
	name, config string
	state        store.State // empty: it goes on
	sweep        string
	steps        []uint64
	best         uint64
	damage       bool // best.json cannot be read
}

// make makes a run in a folder, and returns it held if it goes on.
func (m made) make(t *testing.T, dir string) *store.Run {
	t.Helper()
	r, err := store.Create(dir, store.Draft{Name: m.name, Config: []byte("preset: fhn\n" + m.config), Info: store.Info{Steps: 100, Sweep: m.sweep}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // once more is no harm
	at := filepath.Join(dir, m.name, store.Checkpoints)
	store := &checkpoint.Store{Dir: at}
	for _, step := range m.steps {
		if err := store.Write(&checkpoint.Checkpoint{Run: m.name, Step: step, Theta: []float32{1, 2, 3}}, step == m.best); err != nil {
			t.Fatal(err)
		}
	}
	// The store has removed what a run under way needs no more. A run that was resumed or copied may have it.
	for _, step := range m.steps {
		if _, err := os.Stat(filepath.Join(at, fmt.Sprintf("step-%010d.json", step))); err == nil {
			continue
		}
		older := &checkpoint.Store{Dir: t.TempDir()}
		if err := older.Write(&checkpoint.Checkpoint{Run: m.name, Step: step, Theta: []float32{1, 2, 3}}, false); err != nil {
			t.Fatal(err)
		}
		copyMissing(t, older.Dir, at)
	}
	if m.damage {
		if err := os.WriteFile(filepath.Join(at, "best.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m.state != "" {
		if err := errors.Join(r.End(m.state, ""), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// copyMissing copies the files of checkpoints that a folder lacks.
func copyMissing(t *testing.T, from, to string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(from, "step-*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, path := range list {
		if _, err := os.Stat(filepath.Join(to, filepath.Base(path))); err == nil {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// steps are the checkpoints of a run.
func steps(t *testing.T, dir, name string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, name, store.Checkpoints, "step-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range list {
		all = append(all, strings.TrimLeft(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "step-"), ".json"), "0"))
	}
	return strings.Join(all, " ")
}

// TestFind_Runs: what goes of a run, and which of its checkpoints are left.
func TestFind_Runs(t *testing.T) {
	five := []uint64{10, 20, 30, 40, 50}
	for _, c := range []struct {
		name   string
		runs   []made
		older  time.Duration
		age    time.Duration // of all runs
		spec   string        // of a sweep that is not over
		want   string        // the items
		remain string        // checkpoints of the first run; "gone": the folder is
	}{
		{"the best and the last stay", []made{{name: "a", state: store.Finished, steps: five, best: 20}}, 0, 0, "", "a: older checkpoints", "20 50"},
		{"the last alone stays", []made{{name: "a", state: store.Finished, steps: five}}, 0, 0, "", "a: older checkpoints", "50"},
		{"nothing is left to remove", []made{{name: "a", state: store.Finished, steps: []uint64{50}, best: 50}}, 0, 0, "", "", "50"},
		{"which is the best is not known", []made{{name: "a", state: store.Finished, steps: five, damage: true}}, 0, 0, "", "", "10 20 30 40 50"},
		{"there is no checkpoint", []made{{name: "a", state: store.Finished}}, 0, 0, "", "", ""},
		{"interrupted", []made{{name: "a", state: store.Interrupted, steps: five}}, time.Hour, 2 * time.Hour, "", "", "10 20 30 40 50"},
		{"failed", []made{{name: "a", state: store.Failed, steps: five}}, time.Hour, 2 * time.Hour, "", "", "10 20 30 40 50"},
		{"it goes on", []made{{name: "a", steps: five}}, time.Hour, 2 * time.Hour, "", "", "10 20 30 40 50"},
		{"a run of a sweep", []made{{name: "a", state: store.Finished, sweep: "s", steps: five}}, time.Hour, 2 * time.Hour, "", "", "10 20 30 40 50"},
		{"old", []made{{name: "a", state: store.Finished, steps: five}}, time.Hour, time.Hour, "", "a: whole run", "gone"},
		{"old, without being asked", []made{{name: "a", state: store.Finished, steps: five}}, 0, 1e4 * time.Hour, "", "a: older checkpoints", "50"},
		{"not old enough", []made{{name: "a", state: store.Finished, steps: five}}, time.Hour, 59 * time.Minute, "", "a: older checkpoints", "50"},
		{"named by one that can be resumed", []made{
			{name: "a", state: store.Finished, steps: five},
			{name: "b", state: store.Interrupted, config: "env:\n  normalise: runs/a/normalisation.json\n"},
		}, time.Hour, 2 * time.Hour, "", "a: older checkpoints", "50"},
		{"named in the folder of runs by one that can be resumed", []made{
			{name: "a", state: store.Finished, steps: five},
			{name: "b", state: store.Interrupted, config: "env:\n  normalise: a/normalisation.json\n"},
		}, time.Hour, 2 * time.Hour, "", "a: older checkpoints", "50"},
		{"named there by a path that begins with a point", []made{
			{name: "a", state: store.Finished, steps: five},
			{name: "b", state: store.Interrupted, config: "env:\n  normalise: \"./a/normalisation.json\"\n"},
		}, time.Hour, 2 * time.Hour, "", "a: older checkpoints", "50"},
		{"another folder of that name is named", []made{
			{name: "a", state: store.Finished, steps: five},
			{name: "b", state: store.Interrupted, config: "env:\n  files: data/a/one.csv\n"},
		}, time.Hour, 2 * time.Hour, "", "a: whole run", "gone"},
		{"named by itself", []made{{name: "a", state: store.Finished, steps: five, config: "env:\n  normalise: runs/a/normalisation.json\n"}}, time.Hour, 2 * time.Hour, "", "a: whole run", "gone"},
		{"named by one that is finished", []made{
			{name: "a", state: store.Finished, steps: five},
			{name: "b", state: store.Finished, config: "env:\n  normalise: runs/a/normalisation.json\n"},
		}, time.Hour, 2 * time.Hour, "", "a: whole run, b: whole run", "gone"},
		{"a name that begins alike is named", []made{
			{name: "a", state: store.Finished, steps: five},
			{name: "b", state: store.Interrupted, config: "env:\n  normalise: runs/ab/normalisation.json\n"},
		}, time.Hour, 2 * time.Hour, "", "a: whole run", "gone"},
		{
			"named by a sweep that is not over",
			[]made{{name: "a", state: store.Finished, steps: five}},
			time.Hour, 2 * time.Hour,
			"preset: files\nparameters:\n  env.normalise: runs/a/normalisation.json\n  seed: [1, 2]\n", "a: older checkpoints", "50",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "runs")
			sweeps := filepath.Join(t.TempDir(), "sweeps")
			for _, m := range c.runs {
				m.make(t, dir)
			}
			if c.spec != "" {
				writeSpec(t, sweeps, c.spec)
			}
			items, err := Find(PruneRequest{Runs: dir, Sweeps: sweeps, Older: c.older, Now: time.Now().Add(c.age)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range items {
				got = append(got, i.Run+": "+i.What)
				if i.Bytes <= 0 || i.Why == "" {
					t.Errorf("%+v says neither room nor reason", i)
				}
				if err := i.Remove(); err != nil {
					t.Error(err)
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s goes, want %s", text, c.want)
			}
			left := steps(t, dir, "a")
			if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
				left = "gone"
			}
			if left != c.remain {
				t.Errorf("checkpoints %q are left, want %q", left, c.remain)
			}
			if again, err := Find(PruneRequest{Runs: dir, Sweeps: sweeps, Older: c.older, Now: time.Now().Add(c.age)}); err != nil || len(again) > 0 {
				t.Errorf("a second time there is %v, %v", again, err)
			}
		})
	}
}

// TestFind_DataSets: a data set goes with the last run that names it, and not while a submission may be about to come.
func TestFind_DataSets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	sweeps := filepath.Join(t.TempDir(), "sweeps")
	hash := func(digit string) string { return strings.Repeat(digit, 64) }
	made{name: "a", state: store.Finished, config: "env:\n  hash: " + hash("a") + "\n"}.make(t, dir)
	made{name: "b", state: store.Failed, config: "env:\n  hash: " + hash("b") + "\n"}.make(t, dir)
	writeSpec(t, sweeps, "preset: files\nparameters:\n  env.hash: "+hash("c")+"\n  seed: [1, 2]\n")
	if err := os.MkdirAll(store.DataFolder(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hash("a"), hash("b"), hash("c"), hash("d"), hash("e") + store.Incomplete, "notes.txt"} {
		if err := os.WriteFile(filepath.Join(store.DataFolder(dir), name), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find := func(older, age time.Duration) (items []Item, text string) {
		items, err := Find(PruneRequest{Runs: dir, Sweeps: sweeps, Older: older, Now: time.Now().Add(age)})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			text += fmt.Sprintf("%.1s %s, ", i.Run, i.What)
		}
		return items, text
	}
	if _, text := find(0, 59*time.Minute); text != "" {
		t.Errorf("after a minute less than an hour: %s", text)
	}
	if _, text := find(0, 61*time.Minute); text != "d data set, e data set, " {
		t.Errorf("after an hour: %s", text)
	}
	items, text := find(time.Hour, 61*time.Minute)
	if text != "a whole run, a data set, d data set, e data set, " {
		t.Errorf("with the run: %s", text)
	}
	for _, i := range items {
		if err := i.Remove(); err != nil || i.Bytes == 0 {
			t.Errorf("%+v: %v", i, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(store.DataFolder(dir), "*"))
	if err != nil || len(left) != 3 {
		t.Errorf("there are still %q, %v", left, err)
	}
}

// TestFind_BaseOfASweep: what the configuration names that a sweep searches around stays as long as the sweep is not
// over, also where it is in a file of its own that the spec only names, here or in a submission.
func TestFind_BaseOfASweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	sweeps := filepath.Join(t.TempDir(), "sweeps")
	for _, name := range []string{"a", "b", "c"} {
		made{name: name, state: store.Finished, steps: []uint64{10}}.make(t, dir)
	}
	writeSpec(t, sweeps, "config: base.yaml\nparameters:\n  seed: [1, 2]\n")
	f := Folder{sweeps, "s"}
	journal, _, err := sweep.OpenJournal(f.Path(JournalFile))
	if err == nil {
		err = journal.Append(sweep.Record{Kind: sweep.KindOpen, Spec: &sweep.Spec{Base: "env:\n  normalise: runs/a/normalisation.json\n"}})
	}
	if err == nil {
		err = f.write(sourceFile, func(w io.Writer) error {
			return encode(w, source{Files: map[string]string{"base.yaml": "env:\n  normalise: runs/b/normalisation.json\n"}})
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	find := func() (gone string) {
		items, err := Find(PruneRequest{Runs: dir, Sweeps: sweeps, Older: time.Hour, Now: time.Now().Add(2 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			gone += i.Run
		}
		return gone
	}
	if gone := find(); gone != "c" {
		t.Errorf("%s go while the sweep may need a and b", gone)
	}
	if err := errors.Join(journal.Append(sweep.Record{Kind: sweep.KindDone}), journal.Close()); err != nil {
		t.Fatal(err)
	}
	if gone := find(); len(gone) != 3 {
		t.Errorf("%s go when the sweep is over", gone)
	}
}

// writeSpec makes a sweep that has not begun.
func writeSpec(t *testing.T, sweeps, spec string) {
	t.Helper()
	dir := filepath.Join(sweeps, "s")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, SpecFile), []byte(spec), 0o600), os.WriteFile(filepath.Join(dir, JournalFile), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRemove_ChangedMeanwhile: a run that a process has taken since, and one that goes on again, keep everything.
func TestRemove_ChangedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	made{name: "a", state: store.Finished, steps: []uint64{10, 20, 30}}.make(t, dir)
	items, err := Find(PruneRequest{Runs: dir, Now: time.Now()})
	if err != nil || len(items) != 1 || Sum(items) != items[0].Bytes {
		t.Fatalf("found %v, %v", items, err)
	}
	r, err := store.Open(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := items[0].Remove(); !errors.Is(err, store.ErrHeld) {
		t.Errorf("while it is held: %v", err)
	}
	if err := errors.Join(r.Update(func(i *store.Info) { i.State = store.Interrupted }), r.Close()); err != nil {
		t.Fatal(err)
	}
	if err := items[0].Remove(); !errors.Is(err, ErrPlanChanged) {
		t.Errorf("once it can be resumed: %v", err)
	}
	if left := steps(t, dir, "a"); left != "10 20 30" {
		t.Errorf("left are %s", left)
	}
	if err := store.Remove(dir, "a"); err != nil {
		t.Fatal(err)
	}
	if err := items[0].Remove(); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("once it is gone: %v", err)
	}
}
