package store

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

func TestSettings_ReadsEveryKey(t *testing.T) {
	text := "# a comment\npreset: fhn\nseed: 7\nenv:\n  kind: files # recorded\n  files: [a.csv, \"b c.csv\"]\nmodel:\n" +
		"  deep:\n    name: \"x: #y\"\n  factors: \"\"\noptim:\n  rate: 1e-05\n"
	want := []config.Value{
		{Key: "preset", Text: "fhn"},
		{Key: "seed", Text: "7"},
		{Key: "env.kind", Text: "files"},
		{Key: "env.files", Text: "[a.csv, b c.csv]"},
		{Key: "model.deep.name", Text: "x: #y"},
		{Key: "model.factors", Text: ""},
		{Key: "optim.rate", Text: "1e-05"},
	}
	dir := t.TempDir()
	r, err := Create(dir, Draft{Name: "a", Config: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Settings(dir, "a"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
}

// TestOverrides_WithoutTheFile: a run goes on without it, and so does what is asked of the run.
func TestOverrides_WithoutTheFile(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, Draft{Name: "a", Config: []byte("seed: 1\n"), Overrides: []string{"seed=1", "env.files=my data.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := Overrides(dir, "a"); err != nil || !slices.Equal(list, []string{"seed=1", "env.files=my data.csv"}) {
		t.Errorf("got %q, %v", list, err)
	}
	if err := errors.Join(os.Remove(r.Path(overridesFile)), r.Close()); err != nil {
		t.Fatal(err)
	}
	if list, err := Overrides(dir, "a"); err != nil || len(list) > 0 {
		t.Errorf("without the file: %q, %v", list, err)
	}
}
