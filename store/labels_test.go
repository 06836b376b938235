package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestLabels_OfAHeldRun(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, Draft{Name: "a", Config: []byte("seed: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := ReadLabels(dir, "a"); err != nil || !reflect.DeepEqual(l, Labels{}) {
		t.Errorf("a new run has %v, %v", l, err)
	}
	if err := SetLabels(dir, "a", Labels{Tags: []string{"good", " best", "good", ""}, Note: "why", Archived: true}); err != nil {
		t.Fatal(err)
	}
	want := Labels{Tags: []string{"best", "good"}, Note: "why", Archived: true}
	if l, err := ReadLabels(dir, "a"); err != nil || !reflect.DeepEqual(l, want) {
		t.Errorf("got %v, %v", l, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Rename(dir, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if l, err := ReadLabels(dir, "b"); err != nil || !reflect.DeepEqual(l, want) {
		t.Errorf("under its new name: %v, %v", l, err)
	}
}

func TestLabels_Refused(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, Draft{Name: "a", Config: []byte("seed: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []Labels{
		{Tags: []string{"two words"}},
		{Tags: []string{"a=b"}},
		{Tags: []string{strings.Repeat("x", maxTag+1)}},
		{Note: strings.Repeat("x", maxNote+1)},
		{Tags: []string{"caf\xe9"}}, // JSON has no such text: what is read would be another, and three times as long
		{Note: strings.Repeat("\xe9", maxNote)},
		{Tags: strings.Fields(many(maxTags + 1))},
	} {
		if err := SetLabels(dir, "a", l); !errors.Is(err, ErrLabels) {
			t.Errorf("%.80v: %v", l, err)
		}
	}
	if err := SetLabels(dir, "nowhere", Labels{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestLabels_Damaged: whatever SetLabels cannot have written is damaged, and new labels take its place.
func TestLabels_Damaged(t *testing.T) {
	dir := t.TempDir()
	if err := first(nil, dir, "a"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{", "[1]", "null{}", `{"tags":"best"}`, `{"tags":["two words"]}`, `{"note":"` + strings.Repeat("x", maxNote+1) + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "a", LabelsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := ReadLabels(dir, "a"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), LabelsFile) || !reflect.DeepEqual(l, Labels{}) {
			t.Errorf("%.40q: %+v, %v", text, l, err)
		}
		found, err := Damages(dir, "a")
		if err != nil || len(found) != 1 || found[0].File != LabelsFile || found[0].What == "" || found[0].Remedy != relabel {
			t.Errorf("%.40q: damaged are %+v, %v", text, found, err)
		}
		if err := SetLabels(dir, "a", Labels{Note: "new"}); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
		if found, err := Damages(dir, "a"); err != nil || len(found) > 0 {
			t.Errorf("%.40q: after new labels, damaged are %+v, %v", text, found, err)
		}
	}
}

// many are n different words.
func many(n int) string {
	words := ""
	for i := range n {
		words += " " + strings.Repeat("x", i+1)
	}
	return words
}

// TestDamages_TooLarge: what is wrong with a file is said without its path, which the reader knows.
func TestDamages_TooLarge(t *testing.T) {
	dir := t.TempDir()
	if err := first(nil, dir, "a"); err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]int64{infoFile: maxInfo, LabelsFile: maxLabels} {
		if err := os.WriteFile(filepath.Join(dir, "a", name), make([]byte, limit+1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Damages(dir, "a")
	if err != nil || len(found) != 2 {
		t.Fatalf("got %v, %v", found, err)
	}
	for _, d := range found {
		if !strings.HasPrefix(d.What, "the file is too large: ") {
			t.Errorf("%s: %s", d.File, d.What)
		}
	}
	if _, err := Load(dir, "a"); !errors.Is(err, ErrDamaged) || strings.Count(err.Error(), infoFile) != 1 {
		t.Errorf("got %v", err)
	}
}

// TestDamages_OfCheckpoints: nobody is told to remove the note of a rollback, without which void checkpoints count.
func TestDamages_OfCheckpoints(t *testing.T) {
	dir := t.TempDir()
	if err := first(nil, dir, "a"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, remedy string }{
		{"rollback", `{"step":40}`, ""},
		{"rollback", "{", countAgain},
		{"rollback", "", countAgain}, // a folder
		{"term", "", goWithout},
		{"step-0000000001.json", "", anotherOne},
	} {
		path := filepath.Join(dir, "a", Checkpoints, c.name)
		err := os.WriteFile(path, []byte(c.text), 0o644)
		if c.text == "" {
			err = errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := Damages(dir, "a")
		if n := len(found); err != nil || (n == 1) != (c.remedy != "") || n == 1 && found[0].Remedy != c.remedy {
			t.Errorf("%s %q: %v, %v", c.name, c.text, found, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSetLabels_AtTheSameTime: of many who label a run at the same time each succeeds, and whoever looks finds labels.
func TestSetLabels_AtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, Draft{Name: "a", Config: []byte("seed: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range 10 {
				if err := SetLabels(dir, "a", Labels{Tags: []string{fmt.Sprintf("t%d", n)}}); err != nil {
					t.Error(err)
				}
				if _, err := ReadLabels(dir, "a"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
