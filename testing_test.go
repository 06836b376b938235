package switchyard_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// mutation is a block of .ci/mutations.txt.
type mutation map[string]string

// row is its row in the table of docs/testing.md.
func (m mutation) row() string {
	by := strings.Join(strings.Fields(m["tests"]), ", ")
	if m["stage"] == "long" {
		by += " (long)"
	}
	return fmt.Sprintf("| %s | %s | %s: %s |\n", m["id"], m["broken"], m["package"], by)
}

// mutations reads .ci/mutations.txt.
func mutations(t *testing.T) []mutation {
	t.Helper()
	text, err := os.ReadFile(".ci/mutations.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []mutation
	for block := range strings.SplitSeq(string(text), "\n\n") {
		m := mutation{}
		for line := range strings.Lines(block) {
			if key, value, _ := strings.Cut(line, ":"); !strings.HasPrefix(line, "#") {
				m[key] = strings.TrimSpace(value)
			}
		}
		if len(m) > 0 {
			list = append(list, m)
		}
	}
	return list
}

// TestMutations_FitTheTree: each mutation of .ci/mutations.txt can be made, the tests that it names exist in its stage,
// and docs/testing.md shows it. That they are caught is what .ci/mutate tries.
func TestMutations_FitTheTree(t *testing.T) {
	page, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Mutations\n")
	section, _, _ = strings.Cut(section, "\n## ")
	list, stages, known := mutations(t), map[string]int{}, map[string]bool{}
	for _, m := range list {
		id := m["id"]
		if id == "" || known[id] {
			t.Errorf("the id %q is there twice, or none", id)
		}
		known[id] = true
		stages[m["stage"]]++
		fits(t, m)
		if strings.Count(section, m.row()) != 1 {
			t.Errorf("docs/testing.md has not the row\n%s", m.row())
		}
	}
	if plain, long := stages["test"], stages["long"]; len(list) < 25 || plain < 20 || plain+long != len(list) {
		t.Errorf("%d mutations, %d of them of the stage test and %d of long: want 25, and 20 of test", len(list), plain, long)
	}
	if rows := strings.Count(section, "\n| ") - 1; rows != len(list) {
		t.Errorf("docs/testing.md has %d rows for %d mutations", rows, len(list))
	}
}

// fits checks that a mutation changes its file, and that its tests exist.
func fits(t *testing.T, m mutation) {
	t.Helper()
	text, err := os.ReadFile(m["file"])
	if err != nil {
		t.Errorf("%s: %v", m["id"], err)
	}
	if n := strings.Count(string(text), m["from"]); n != 1 || m["from"] == m["to"] {
		t.Errorf("%s: %s has %q %d times, want once, and %q in its place", m["id"], m["file"], m["from"], n, m["to"])
	}
	tests := declaredTests(t, m["package"])
	for _, name := range strings.Fields(m["tests"]) {
		if long, found := tests[name]; !found || long && m["stage"] != "long" {
			t.Errorf("%s: %s has no test %s in the stage %s", m["id"], m["package"], name, m["stage"])
		}
	}
	if m["tests"] == "" || len(m) != 8 {
		t.Errorf("%s: no test is named, or it has other keys than a mutation has: %v", m["id"], m)
	}
}
