package paper

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// pageMark is in the style of every page of a report since the first: later reports know their own by it.
const pageMark = "--ink: #1a1a1a; --soft: #555; --line: #d5d5d5; --paper: #fff; --tint: #f4f6f8; --link: #0060a0;"

// Spare returns a usage error if a report in the folder would replace files that no earlier report wrote: index.html,
// report.md, numbers.csv, figures or others that are named. A folder whose index.html is a page of a report may be
// written again.
func Spare(dir string, others ...string) error {
	page, err := store.ReadFile(filepath.Join(dir, "index.html"))
	if err == nil && bytes.Contains(page, []byte(pageMark)) {
		return nil
	}
	for _, name := range append([]string{"index.html", "report.md", "numbers.csv", "figures"}, others...) {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for an earlier report: %w", err)
		}
		if list, err := os.ReadDir(path); info.IsDir() && err == nil && len(list) == 0 { // nothing is lost of it
			continue
		}
		return config.Hint(config.Usagef("--out %s: the report would replace %s, which no earlier report wrote", dir, path),
			"choose another folder, or move %s away", name)
	}
	return nil
}

// begin makes the folder of a report and that of its figures, which it returns. A new report begins with a page that
// says it is not complete, so that Spare knows the folder if the process is killed before the rest is written.
func begin(dir string) (figures string, err error) {
	figures = filepath.Join(dir, "figures")
	if err := os.MkdirAll(figures, 0o755); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	index := filepath.Join(dir, "index.html")
	if _, err := os.Lstat(index); err == nil {
		return figures, nil
	}
	d := &Document{Title: "A report that is not complete", Lead: "The command that writes it did not end. Repeat it."}
	page, _, err := d.Pages()
	if err != nil {
		return "", err
	}
	return figures, store.WriteFile(index, page)
}
