package store

import (
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
