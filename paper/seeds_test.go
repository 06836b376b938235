package paper

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
)

// TestOverSeeds: runs that differ in nothing but their seed are one table, with the mean, its standard error and the
// range of each single number. A seed that is given twice counts once, and a run without a partner has no table.
func TestOverSeeds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs [1]")
	var list []Run
	for i, c := range []struct {
		seed     uint64
		settings []string
		accuracy string
	}{
		{1, []string{"model.switches=3"}, "0.9"},
		{1, []string{"model.switches=4", "seed=1"}, "0.1"},
		{2, []string{"seed=2", "model.switches=3"}, "0.8"},
		{2, []string{"model.switches=3", "seed=2"}, "0.2"},
		{4, []string{"model.switches=3", "seed=4"}, "0.97"},
		{5, []string{"model.switches=3", "seed=5"}, "null"},
	} {
		name := fmt.Sprint("r", i)
		list = append(list, Run{store.Info{Name: name, Preset: "modes", Seed: c.seed}, c.settings})
		tables := filepath.Join(dir, name, "tables")
		if err := os.MkdirAll(tables, 0o755); err != nil {
			t.Fatal(err)
		}
		text := `{"protocol": "segmentation", "metrics": {"accuracy": ` + c.accuracy +
			`, "accuracy_majority_standard_error": 0.1, "recall": {"0": 1}}, "paper": {}}`
		if err := os.WriteFile(filepath.Join(tables, "segmentation.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := overSeeds(dir, list)
	if err != nil || len(s.Blocks) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	table := s.Blocks[0].Table
	want := []string{"segmentation accuracy", "0.890", "0.0493", "0.800", "0.970", "3"}
	if table.Caption != "modes model.switches=3" || len(table.Rows) != 1 || !slices.Equal(table.Rows[0], want) {
		t.Errorf("%q: %q, want %q", table.Caption, table.Rows, want)
	}
	var numbers bytes.Buffer
	w := csv.NewWriter(&numbers)
	if _, err := measured(w, t.TempDir(), filepath.Join(dir, "r5"), "r5"); err != nil {
		t.Error(err)
	}
	if w.Flush(); !strings.Contains(numbers.String(), "r5,segmentation,accuracy,\n") {
		t.Errorf("what is not finite is not empty:\n%s", numbers.String())
	}
	if s, err := overSeeds(dir, list[:2]); err != nil || len(s.Blocks) != 0 {
		t.Errorf("runs that differ in more than a seed: %+v, %v", s, err)
	}
}
