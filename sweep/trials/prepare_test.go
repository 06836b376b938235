package trials

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep"
)

// TestPrepare_ChangedSpec: a sweep whose file has another meaning is refused with the lines that differ; what means the
// same is accepted.
func TestPrepare_ChangedSpec(t *testing.T) {
	dir := t.TempDir()
	if err := leadSweep(t, dir, smallSweep, 2, 2); !errors.Is(err, sweep.ErrInterrupted) {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"max: 10,", "max: 5,", "- parameters.optim.rate: 1. 0.0001 to 10, log_uniform_values\n+ parameters.optim.rate: 1. 0.0001 to 5"},
		{"method: tpe", "method: random", "- method: tpe\n+ method: random"},
		{"run_cap: 6", "run_cap: 9", "- run_cap: 6\n+ run_cap: 9"},
		{"batch: {value: 8}", "batch: {value: 16}", "-   train.batch: 8\n+   train.batch: 16"},
		{"seed: [1, 2]", "seed: [1, 3]", "+ parameters.seed: seeds 1 3, mean"},
		{"min_iter: 4", "min_iter: 5", ""}, // 12/3 is below 5: no first rung
	} {
		_, err := prepare(t, dir, strings.Replace(smallSweep, c.old, c.new, 1))
		if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.new, err)
		}
	}
	if _, err := prepare(t, dir, "parallel: 3\nkeep: all\n# the same\n"+smallSweep); err != nil {
		t.Errorf("what means the same is refused: %v", err)
	}
}

// journalled writes the journal of a sweep.
func journalled(t *testing.T, f Folder, records ...sweep.Record) {
	t.Helper()
	if err := os.Mkdir(f.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	journal, _, err := sweep.OpenJournal(f.Path(JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(journal.Append(records...), journal.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestPrepare_ExtendedFile: the file of a sweep that was extended may have the cap that it began with, or the new one, also
// where cohorts of the usual size had no room in the first.
func TestPrepare_ExtendedFile(t *testing.T) {
	dir := t.TempDir()
	text := func(trials int) string {
		return fmt.Sprintf("preset: fhn/smoke\nrun_cap: %d\nparameters: {model.hidden: [4, 8]}\n", trials)
	}
	j, err := prepare(t, dir, text(2))
	if err != nil {
		t.Fatal(err)
	}
	journalled(t, j.Folder, sweep.Record{Kind: sweep.KindOpen, Spec: &j.File.Spec}, sweep.Record{Kind: sweep.KindExtend, Trials: 12})
	for trials, refused := range map[int]bool{2: false, 12: false, 11: true} {
		if _, err := prepare(t, dir, text(trials)); errors.Is(err, ErrChanged) != refused || err != nil && !refused {
			t.Errorf("run_cap: %d: got %v", trials, err)
		}
	}
}

// TestPrepare_OlderRelease: a sweep goes on with a release that has one key more, as long as the key does not change what
// runs did before.
func TestPrepare_OlderRelease(t *testing.T) {
	dir := t.TempDir()
	j, err := prepare(t, dir, smallSweep)
	if err != nil {
		t.Fatal(err)
	}
	spec := j.File.Spec
	spec.Base = strings.Replace(spec.Base, "  average: 0\n", "", 1)
	if spec.Base == j.File.Spec.Base {
		t.Fatalf("there is no optim.average in\n%s", spec.Base)
	}
	journalled(t, j.Folder, sweep.Record{Kind: sweep.KindOpen, Spec: &spec})
	if _, err := prepare(t, dir, smallSweep); err != nil {
		t.Error(err)
	}
	averaged := strings.Replace(smallSweep, "train.steps", "optim.average: 0.9\n  train.steps", 1)
	if _, err := prepare(t, dir, averaged); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "+   optim.average: 0.9") {
		t.Errorf("with an average: got %v", err)
	}
}

// TestPrepare_Grid: a combination that is not valid is found before anything begins, and left out where that is asked for.
func TestPrepare_Grid(t *testing.T) {
	const grid = "preset: fhn/smoke\nmethod: grid\nparameters:\n  train.batch: [8, 12]\n  train.shards: [4, 8]\n"
	_, err := prepare(t, t.TempDir(), grid)
	var problems *config.Error
	if !errors.As(err, &problems) || len(problems.Problems) != 1 || !strings.Contains(err.Error(), "train.batch=12 train.shards=8") {
		t.Errorf("got %v", err)
	}
	j, err := prepare(t, t.TempDir(), "invalid: skip\n"+grid)
	if err != nil || !slices.ContainsFunc(j.File.Notes, func(n string) bool { return strings.Contains(n, "1 of 4 combinations") }) {
		t.Errorf("got %v", err)
	}
}
