package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// namesOf are the names of the keys of a folder.
func namesOf(t *testing.T, dir string) []string {
	t.Helper()
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range list {
		names = append(names, k.Name)
	}
	return names
}

// known reports whether the broker's list has a key, by its short name.
func known(t *testing.T, dir, short string) bool {
	t.Helper()
	return strings.Contains(contents(t, dir)[Auth], "nkey: "+short)
}

func shortOf(t *testing.T, dir, name string) string {
	t.Helper()
	list, err := List(dir)
	at := slices.IndexFunc(list, func(k Key) bool { return k.Name == name })
	if err != nil || at < 0 {
		t.Fatalf("no key %s in %v, %v", name, list, err)
	}
	return list[at].Short
}

// A key for each worker takes the place of the one for all; what is there is kept, and more can be asked for.
func TestInit_Numbered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys [1]")
	initKeys(t, InitConfig{Dir: dir, Numbered: 11})
	want := []string{"coordinator", "operator", "worker-1", "worker-2", "worker-3", "worker-4", "worker-5", "worker-6", "worker-7", "worker-8", "worker-9", "worker-10", "worker-11"}
	if got := namesOf(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	before := contents(t, dir)
	initKeys(t, InitConfig{Dir: dir})
	if got := namesOf(t, dir); !slices.Equal(got, want) || contents(t, dir)[Auth] != before[Auth] {
		t.Errorf("a second call makes other keys: %q", got)
	}
	initKeys(t, InitConfig{Dir: dir, Numbered: 12, Workers: []string{"lab"}})
	if got := namesOf(t, dir); !slices.Equal(got, append(want, "worker-12", "worker-lab")) {
		t.Errorf("got %q", got)
	}
	if contents(t, dir)["worker-3.nk"] != before["worker-3.nk"] {
		t.Error("a key was replaced")
	}
}

// Keys come, go and are replaced; the broker's list says the same, and the other keys stay.
func TestManage(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 3})
	if err := Add(dir, []string{"lab", "4"}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	one, two, lab := shortOf(t, dir, "worker-1"), shortOf(t, dir, "worker-2"), shortOf(t, dir, "worker-lab")
	for _, name := range []string{"lab", lab, "worker-lab", "worker-lab.nk"} { // all mean the same
		users, _ := (&folder{path: dir}).users()
		if at := find(users, name); at < 0 || users[at].file != "worker-lab.nk" {
			t.Errorf("%s means key %d of %v", name, at, users)
		}
	}
	if err := Revoke(dir, []string{"1", lab}); err != nil {
		t.Fatal(err)
	}
	if err := Rotate(dir, []string{"worker-2", "coordinator"}); err != nil {
		t.Fatal(err)
	}
	if got, want := namesOf(t, dir), []string{"coordinator", "operator", "worker-2", "worker-3", "worker-4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	after := contents(t, dir)
	for name, changed := range map[string]bool{"worker-2.nk": true, CoordinatorKey: true, "worker-3.nk": false, OperatorKey: false} {
		if (before[name] != after[name]) != changed {
			t.Errorf("%s was replaced: %v, want %v", name, !changed, changed)
		}
	}
	for _, short := range []string{one, two, lab} {
		if known(t, dir, short) {
			t.Errorf("the broker still lets %s in", short)
		}
	}
	if !known(t, dir, shortOf(t, dir, "worker-2")) || !known(t, dir, shortOf(t, dir, "worker-3")) {
		t.Error("the broker does not let a key in that is there")
	}
}

func TestManage_Refuses(t *testing.T) {
	dir := t.TempDir()
	if err := Add(dir, []string{"a"}); !errors.Is(err, ErrNoKey) {
		t.Errorf("a folder without keys: got %v", err)
	}
	initKeys(t, InitConfig{Dir: dir, Numbered: 1})
	before := contents(t, dir)
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"a key that is there":     {Add(dir, []string{"new", "1"}), ErrTwice},
		"a name that is none":     {Add(dir, []string{"a/b"}), ErrWorker},
		"a key that is not there": {Revoke(dir, []string{"1", "7"}), ErrNoKey},
		"the coordinator's":       {Revoke(dir, []string{"coordinator"}), ErrNeeded},
		"another rotated":         {Rotate(dir, []string{"7"}), ErrNoKey},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v", name, c.err)
		}
	}
	for name, text := range contents(t, dir) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
}

// A key is meant by its own name first, and by that without what all have only then: "worker-zeus" is what the list
// calls worker-zeus.nk.
func TestManage_ItsOwnNameFirst(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Workers: []string{"zeus", "worker-zeus"}})
	if err := Revoke(dir, []string{"worker-zeus"}); err != nil {
		t.Fatal(err)
	}
	if got, want := namesOf(t, dir), []string{"coordinator", "operator", "worker", "worker-worker-zeus"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What an interrupted call left undone is done by the next: a key without its line, and a line without its key.
func TestManage_FinishesWhatWasInterrupted(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 2})
	gone := shortOf(t, dir, "worker-1")
	if err := os.Remove(filepath.Join(dir, "worker-1.nk")); err != nil {
		t.Fatal(err)
	}
	if err := Revoke(dir, []string{"1"}); !errors.Is(err, ErrNoKey) || known(t, dir, gone) {
		t.Errorf("%v; the broker knows it: %v", err, known(t, dir, gone))
	}
}

func TestNoteSeen(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 2})
	users, err := (&folder{path: dir}).users()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, u := range users[2:] {
		if err := NoteSeen(dir, []string{u.public}, at.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil || !list[0].Seen.IsZero() || !list[2].Seen.Equal(at) || !list[3].Seen.Equal(at.Add(time.Hour)) || list[2].Created.IsZero() {
		t.Errorf("got %+v, %v", list, err)
	}
	for _, damaged := range []string{"null", "[]", "{"} {
		if err := os.WriteFile(filepath.Join(dir, seenFile), []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := NoteSeen(dir, []string{users[2].public}, at); err != nil {
			t.Errorf("after %s: %v", damaged, err)
		}
	}
}

// Each process takes another key; when there is none left, that is said; one that is released can be taken again, and
// one that is replaced meanwhile cannot.
func TestTake(t *testing.T) {
	dir, volume := t.TempDir(), t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 3, Workers: []string{"lab"}})
	if err := HandOut(dir, RoleWorker, volume); err != nil {
		t.Fatal(err)
	}
	if _, ok := contents(t, volume)["worker-lab.nk"]; ok {
		t.Error("the key of another machine was handed out")
	}
	var release []func()
	for _, want := range []string{"worker-1.nk", "worker-2.nk", "worker-3.nk"} {
		file, done, err := Take(volume)
		if err != nil || filepath.Base(file) != want {
			t.Fatalf("took %s, %v, want %s", file, err, want)
		}
		release = append(release, done)
	}
	if _, _, err := Take(volume); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "3 in "+volume) {
		t.Errorf("a fourth process: got %v", err)
	}
	if err := Rotate(dir, []string{"2"}); err != nil {
		t.Fatal(err)
	}
	if err := HandOut(dir, RoleWorker, volume); err != nil {
		t.Fatal(err)
	}
	if file, _, err := Take(volume); !errors.Is(err, ErrTaken) {
		t.Errorf("a key that was replaced and is in use was taken: %s, %v", file, err)
	}
	release[1]()
	file, done, err := Take(volume)
	if err != nil || filepath.Base(file) != "worker-2.nk" {
		t.Fatalf("took %s, %v", file, err)
	}
	done()
	if err := Revoke(dir, []string{"3"}); err != nil {
		t.Fatal(err)
	}
	if err := HandOut(dir, RoleWorker, volume); err != nil {
		t.Fatal(err)
	}
	if _, ok := contents(t, volume)["worker-3.nk"]; ok {
		t.Error("a revoked key is still handed out")
	}
}

// A key that is replaced while a process has it is still taken, also in the folder in which it was made.
func TestTake_WhileKeysAreReplaced(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 2})
	_, done, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer done() // a file that nothing refers to is closed, and its lock is gone
	if err := Rotate(dir, []string{"1"}); err != nil {
		t.Fatal(err)
	}
	if file, _, err := Take(dir); err != nil || filepath.Base(file) != "worker-2.nk" {
		t.Errorf("took %s, %v, want worker-2.nk", file, err)
	}
}

// Where no file can be made, as in a folder of secrets that is mounted, the keys themselves are locked.
func TestTake_WhereNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 2})
	for _, want := range []string{"worker-1.nk", "worker-2.nk"} {
		// A folder in the place of the lock stands for what cannot be made: root can write everywhere.
		if err := os.Mkdir(filepath.Join(dir, strings.TrimSuffix(want, extension)+lockExtension), 0o700); err != nil {
			t.Fatal(err)
		}
		file, done, err := Take(dir)
		if err != nil || filepath.Base(file) != want {
			t.Fatalf("took %s, %v, want %s", file, err, want)
		}
		defer done()
	}
	if _, _, err := Take(dir); !errors.Is(err, ErrTaken) {
		t.Errorf("a third process: got %v", err)
	}
}

func TestTake_OneForAll(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Take(dir); !errors.Is(err, ErrNoWorkerKey) {
		t.Errorf("an empty folder: got %v", err)
	}
	initKeys(t, InitConfig{Dir: dir})
	for range 2 {
		if file, _, err := Take(dir); err != nil || filepath.Base(file) != WorkerKey {
			t.Errorf("took %s, %v", file, err)
		}
	}
}
