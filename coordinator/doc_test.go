package coordinator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
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

// docs/recovery.md names every event of the log, and docs/operators.md what a worker that is cut off says.
func TestDocs_NameEventsAndRefusals(t *testing.T) {
	guide := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, kind := range []string{
		EventOpen, EventCheckpoint, EventRollback, EventQuarantine, EventContributor, EventDoubt, EventAside, EventRelays,
		EventEnd,
	} {
		if !strings.Contains(guide("recovery.md"), "`"+kind+"`") {
			t.Errorf("recovery.md does not name the event %s", kind)
		}
	}
	said := truth{}.blame(7, &task{round: newRound(wire.Gradient, 8), Case: trust.NewCase(vector.Block{Count: 4}, nil)})
	if part := "differs from what"; !strings.Contains(said, part) || !strings.Contains(guide("operators.md"), part) {
		t.Errorf("%q, or operators.md, lacks %q", said, part)
	}
}
