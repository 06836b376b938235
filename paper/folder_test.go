package paper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestSpare_FilesOfTheUser: a folder with files of the names of a report is written only if an earlier report wrote
// them, also one that was killed as soon as it had begun.
func TestSpare_FilesOfTheUser(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.html", "report.md", "numbers.csv", "figures/mine.png", "runs.csv"} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "figures"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("<!DOCTYPE html>mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(name, "/")
		err := Spare(dir, "runs.csv")
		if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), filepath.Join(dir, first)) ||
			!strings.Contains(config.HintOf(err), "move "+first+" away") {
			t.Errorf("%s: %v", name, err)
		}
		if err := Spare(dir); (err == nil) != (name == "runs.csv") {
			t.Errorf("%s, of a report without it: %v", name, err)
		}
	}
	begun := filepath.Join(t.TempDir(), "new")
	if err := Spare(begun); err != nil {
		t.Errorf("no folder: %v", err)
	}
	figures, err := begin(begun)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(figures, "training.svg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{begun, filepath.FromSlash("../docs/results/paper")} {
		if err := Spare(dir, "runs.csv"); err != nil {
			t.Errorf("a folder of a report: %v", err)
		}
	}
}
