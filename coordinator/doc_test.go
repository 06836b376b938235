package coordinator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The picture of each package names each of its files.
func TestDoc_NamesEveryFile(t *testing.T) {
	pages, err := filepath.Glob("*/doc.go")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, path := range append(pages, "doc.go") {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := filepath.Base(f)
			if name != "doc.go" && !strings.HasSuffix(name, "_test.go") && !strings.Contains(string(page), name) {
				t.Errorf("%s does not say what %s is for", path, name)
			}
		}
	}
}
