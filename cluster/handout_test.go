package cluster

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Each role gets its own secrets and no other's, for its owner alone.
func TestHandOut_EachRoleItsOwn(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Readable: true})
	secrets := map[string][]string{
		RoleBroker:      {RouteKey, ServerKey},
		RoleRoute:       {RouteKey},
		RoleCoordinator: {CoordinatorKey, PageToken},
		RoleWorker:      {WorkerKey},
		RoleOperator:    {OperatorKey, PageToken},
		RoleMetrics:     {PageToken},
	}
	for _, role := range Roles() {
		target := filepath.Join(t.TempDir(), role)
		if err := HandOut(dir, role, target); err != nil {
			t.Fatal(err)
		}
		var got []string
		for name, data := range contents(t, target) {
			if want := contents(t, dir)[name]; data != want {
				t.Errorf("%s: %s differs from the original", role, name)
			}
			if !secret(name) {
				continue
			}
			got = append(got, name)
			if info, err := os.Stat(filepath.Join(target, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s has mode %v, %v", role, name, info.Mode(), err)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, secrets[role]) {
			t.Errorf("%s has the secrets %q, want %q", role, got, secrets[role])
		}
	}
}

func TestHandOut_BringsWhatIsNew(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	initKeys(t, InitConfig{Dir: dir})
	if err := HandOut(dir, RoleWorker, target); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, WorkerKey)); err != nil {
		t.Fatal(err)
	}
	if err := HandOut(dir, RoleWorker, target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is missing: got %v", err)
	}
	initKeys(t, InitConfig{Dir: dir})
	if err := HandOut(dir, RoleWorker, target); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, target)[WorkerKey], contents(t, dir)[WorkerKey]; got != want {
		t.Error("the old key was kept")
	}
	if err := HandOut(dir, "guest", target); !errors.Is(err, ErrRole) {
		t.Errorf("an unknown role: got %v", err)
	}
}

// Whatever leads to the folder of the keys, nothing is handed out to it: what a role does not get would be removed.
func TestHandOut_NotToItself(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir})
	if err := Add(dir, []string{"lab"}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for _, target := range []string{dir, link, filepath.Join(dir, "..", filepath.Base(dir))} {
		for _, role := range Roles() {
			if err := HandOut(dir, role, target); !errors.Is(err, ErrSource) {
				t.Errorf("%s to %s: got %v", role, target, err)
			}
		}
	}
	if !maps.Equal(contents(t, dir), before) {
		t.Error("the keys have changed")
	}
}

// TestHandedOut: the folder of each role is one, and neither a whole folder nor one that has lost a key.
func TestHandedOut(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Numbered: 2})
	for role, want := range map[string]int{RoleBroker: 0, RoleCoordinator: 1, RoleOperator: 1, RoleWorker: 2, RoleMetrics: 0, RoleRoute: 0} {
		target := filepath.Join(t.TempDir(), role)
		if err := HandOut(dir, role, target); err != nil {
			t.Fatal(err)
		}
		if keys, ok := HandedOut(target); keys != want || !ok {
			t.Errorf("%s: %d keys, %v", role, keys, ok)
		}
	}
	for range 2 {
		if _, ok := HandedOut(dir); ok {
			t.Error("a whole folder is one of a role")
		}
		if err := os.RemoveAll(filepath.Join(dir, CoordinatorKey)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := HandedOut(t.TempDir()); ok {
		t.Error("an empty folder is one of a role")
	}
}
