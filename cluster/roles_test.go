package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/wire"
)

// TestRoles_AreInTheTable: docs/security.md names every subject that a role may use, and says that all else is denied.
func TestRoles_AreInTheTable(t *testing.T) {
	seed, err := newSeed()
	if err != nil {
		t.Fatal(err)
	}
	public, err := publicKey("a.nk", seed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	row := func(name string) []string {
		for line := range strings.Lines(string(text)) {
			if cells := strings.Split(line, "|"); len(cells) == 5 && strings.TrimSpace(cells[1]) == name {
				return cells[2:4]
			}
		}
		t.Fatalf("there is no row %s", name)
		return nil
	}
	worker := row("worker")
	for name, r := range map[string]role{
		"coordinator": coordinatorRole(public), "worker": workerRole(public), "operator": operatorRole(),
	} {
		for i, subjects := range [][]string{r.publish, r.subscribe} {
			cell := row(name)[i]
			if strings.Contains(cell, "as a worker") {
				cell += worker[i]
			}
			for _, s := range subjects {
				s = "`" + strings.ReplaceAll(s, wire.KeyName(public), "KEY") + "`"
				if !strings.Contains(cell, s) {
					t.Errorf("%s: the table lacks %s", name, s)
				}
			}
		}
	}
}
