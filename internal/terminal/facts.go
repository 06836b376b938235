package terminal

import (
	"fmt"
	"io"
	"strings"
)

// Fact is a line of a description: a name, which is empty where the fact before goes on, and a text.
type Fact [2]string

// Facts describe something to people, or to programs.
type Facts []Fact

// Map is the facts by their names, for programs: blanks in a name become _, and the texts of facts that go on, or
// that have the same name, are joined by "; ".
func (f Facts) Map() map[string]string {
	texts := map[string]string{}
	name := ""
	for _, fact := range f {
		if fact[0] != "" { // else it goes on with the one before
			name = strings.ReplaceAll(fact[0], " ", "_")
		}
		texts[name] = strings.TrimPrefix(texts[name]+"; "+fact[1], "; ")
	}
	return texts
}

// Write writes one line per fact, the texts below each other where names have at most nine characters. Facts may
// come from files: what a terminal would obey does not get there.
func (f Facts) Write(w io.Writer) error {
	var b strings.Builder
	for _, fact := range f {
		fmt.Fprintf(&b, "%-9s %s\n", Plain(fact[0]), Plain(fact[1]))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}
