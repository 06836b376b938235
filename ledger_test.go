package switchyard_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLedger_TestsExist: each row of the ledger of bugs names a test, and each test that it names exists.
func TestLedger_TestsExist(t *testing.T) {
	tests := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("docs/results/bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	named, rows := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`"), 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault") {
			continue
		}
		rows++
		names := named.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 4 || len(names) == 0 {
			t.Errorf("a row without a test, or not of four cells: %s", line)
		}
		for _, m := range names {
			if !tests[m[1]] {
				t.Errorf("there is no %s: %s", m[1], line)
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows", rows)
	}
}
