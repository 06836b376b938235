package coordinator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The picture of the package names each of its files.
func TestDoc_NamesEveryFile(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f != "doc.go" && !strings.HasSuffix(f, "_test.go") && !strings.Contains(string(page), f) {
			t.Errorf("doc.go does not say what %s is for", f)
		}
	}
}
