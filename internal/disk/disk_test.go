package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Whatever act fails, the file has the old content or the new one, and what is left under another name does no harm.
func TestReplace_FailsAtEveryAct(t *testing.T) {
	broken := errors.New("broken")
	var acts []string
	for n := 1; ; n++ {
		path := filepath.Join(t.TempDir(), "file")
		if err := Replace(System(), path, write("old")); err != nil {
			t.Fatal(err)
		}
		left, what := n, ""
		d := Faulty(System(), func(a Act) (int, error) {
			if left--; left == 0 {
				what = a.Kind
				return 1, broken
			}
			return 0, nil
		})
		err := Replace(d, path, write("new"))
		if what == "" {
			if err != nil || content(t, path) != "new" {
				t.Errorf("%v", err)
			}
			break
		}
		acts = append(acts, what)
		want := "old"
		if what == "sync folder" { // the new name may be lost with the machine, not with the program
			want = "new"
		}
		if got := content(t, path); !errors.Is(err, broken) || got != want {
			t.Errorf("%s fails: %v, content %q", what, err, got)
		}
		if _, err := os.Stat(path + Suffix); err == nil {
			t.Errorf("%s fails: the other name is left", what)
		}
	}
	if want := []string{"create", "write", "sync", "close", "rename", "sync folder"}; !slices.Equal(acts, want) {
		t.Errorf("acts %v, want %v", acts, want)
	}
}

func TestAppend_CutsWhatIsBeyond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for i, size := range []int64{0, 3, 5, 100} {
		f, err := System().Append(path, size)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(f, i, i, i); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := content(t, path), "0 01 2 2 23 3 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMakeFolder(t *testing.T) {
	top := t.TempDir()
	var synced []string
	d := Faulty(System(), func(a Act) (int, error) {
		if a.Kind == "sync folder" {
			synced = append(synced, a.Path)
		}
		return 0, nil
	})
	path := filepath.Join(top, "a", "b")
	for range 2 {
		if err := MakeFolder(d, path); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{top, filepath.Join(top, "a")}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
	if err := errors.Join(System().Mkdir(path), System().Remove(filepath.Join(path, "none")), System().Remove(path)); err != nil {
		t.Errorf("what is there already, or gone, is no error: %v", err)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(System(), filepath.Join(file, "b")); err == nil {
		t.Error("a folder in a file")
	}
}
