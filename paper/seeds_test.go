package paper

import (
	"bytes"
	"encoding/csv"
	"errors"
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
		list = append(list, Run{store.Info{Name: name, Preset: "modes", Seed: c.seed, State: store.Finished}, c.settings})
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
	want := []string{"segmentation accuracy", "0.890", "0.0493", "0.800", "0.970", "3 of 4 finite"}
	if table.Caption != "modes model.switches=3" || len(table.Rows) != 1 || !slices.Equal(table.Rows[0], want) {
		t.Errorf("%q: %q, want %q", table.Caption, table.Rows, want)
	}
	// A file of settings, which the words name, has changed between the runs.
	for i, rate := range []string{"1e-3", "1e-3", "1e-3", "1e-3", "1e-2", "1e-2"} {
		text := fmt.Sprintf("seed: %d\noptim:\n  rate: %s\n", i, rate)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("r", i), "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changed, err := overSeeds(dir, list)
	if err != nil || len(changed.Blocks) != 2 || changed.Blocks[0].Table.Rows[0][5] != "2" ||
		changed.Blocks[1].Table.Rows[0][5] != "1 of 2 finite" {
		t.Errorf("%+v, %v", changed, err)
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

// seeded writes runs r0, r1, … of the preset files into a folder: what segmentation found, a configuration and a scaling
// of each. They have the seeds 1, 2, …
func seeded(t *testing.T, dir string, runs [][3]string) []Run {
	t.Helper()
	var list []Run
	for i, r := range runs {
		name := fmt.Sprint("r", i)
		list = append(list, Run{store.Info{Name: name, Preset: "files", Seed: uint64(i + 1), State: store.Finished}, nil})
		for file, text := range map[string]string{
			"tables/segmentation.json": `{"protocol": "segmentation", "metrics": {` + r[0] + `}, "paper": {}}`,
			"config.yaml":              fmt.Sprintf("seed: %d\nenv:\n  %s\n", i+1, r[1]), store.NormalisationFile: r[2],
		} {
			path := filepath.Join(dir, name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return list
}

// TestOverSeeds_NotFinite: seeds that diverged stay in the count, also if one is finite, or none.
func TestOverSeeds_NotFinite(t *testing.T) {
	for values, want := range map[[3]string][]string{
		{"0.9", "null", "null"}:  {"segmentation accuracy", "0.900", "–", "0.900", "0.900", "1 of 3 finite"},
		{"null", "null", "null"}: {"segmentation accuracy", "–", "–", "–", "–", "0 of 3 finite"},
	} {
		dir := t.TempDir()
		var runs [][3]string
		for _, v := range values {
			runs = append(runs, [3]string{`"accuracy": ` + v, "window: 9", "{}"})
		}
		s, err := overSeeds(dir, seeded(t, dir, runs))
		if err != nil || len(s.Blocks) != 1 || !slices.Equal(s.Blocks[0].Table.Rows[0], want) {
			t.Errorf("%q: %+v, %v, want %q", values, s, err, want)
		}
	}
}

// TestOverSeeds_OtherData: runs on data that changed between the seeds are not averaged, unless the seed draws which
// recordings are held out, and with them the hash.
func TestOverSeeds_OtherData(t *testing.T) {
	for scale, want := range map[string]int{`{"divided": true}`: 0, `{"divided": false}`: 0, `{}`: 1} {
		dir := t.TempDir()
		s, err := overSeeds(dir, seeded(t, dir, [][3]string{
			{`"accuracy": 0.9`, "hash: a", scale}, {`"accuracy": 0.8`, "hash: b", scale},
		}))
		if err != nil || len(s.Blocks) != want {
			t.Errorf("%s: %d tables (%v), want %d", scale, len(s.Blocks), err, want)
		}
	}
}

// TestOverSeeds_Unfinished: what was measured of runs on their way is no part of the spread of those that have ended, and
// the other way round.
func TestOverSeeds_Unfinished(t *testing.T) {
	dir := t.TempDir()
	var runs [][3]string
	for _, accuracy := range []float64{0.9, 0.8, 0.1, 0.2, 0.3} {
		runs = append(runs, [3]string{fmt.Sprintf(`"accuracy": %v`, accuracy), "window: 9", "{}"})
	}
	list := seeded(t, dir, runs)
	for i, state := range []store.State{store.Interrupted, store.Running, store.Lost} {
		list[2+i].Info.State = state
	}
	s, err := overSeeds(dir, list)
	if err != nil || len(s.Blocks) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, want := range []struct{ caption, mean string }{{"files", "0.850"}, {"files, not finished", "0.200"}} {
		if table := s.Blocks[i].Table; table.Caption != want.caption || table.Rows[0][1] != want.mean {
			t.Errorf("%q: %q, want %+v", table.Caption, table.Rows[0], want)
		}
	}
}

// TestOverSeeds_OtherQuestion: numbers of another number of episodes are no numbers of another seed, and what was
// measured is no metric.
func TestOverSeeds_OtherQuestion(t *testing.T) {
	dir := t.TempDir()
	found := `"step": 3, "steps": 40, "episodes": %d, "accuracy": %v`
	var runs [][3]string
	for i, accuracy := range []float64{0.9, 0.1, 0.8, 0.2, 0.5} {
		runs = append(runs, [3]string{fmt.Sprintf(found, []int{100, 8, 100, 8, 9}[i], accuracy), "window: 9", "{}"})
	}
	s, err := overSeeds(dir, seeded(t, dir, runs))
	if err != nil || len(s.Blocks) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	var rows []string
	for _, row := range s.Blocks[0].Table.Rows {
		rows = append(rows, row[0]+" "+row[1])
	}
	want := []string{"segmentation (episodes 100) accuracy 0.850", "segmentation (episodes 8) accuracy 0.150"}
	if !slices.Equal(rows, want) {
		t.Errorf("%q, want %q", rows, want)
	}
}
