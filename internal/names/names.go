// Package names says what runs and workers may be called: names that are safe as a folder on every system, as an argument
// of a command and as one token of a message subject; and which of several was meant by a word that is none of them. It does
// not know what is called so.
package names

import (
	"fmt"
	"strings"
)

// Max is the number of bytes that a name may have.
const Max = 64

// Check returns what is wrong with the name of a worker: it has 1 to Max letters, digits, '-' and '_'.
func Check(name string) error {
	if name == "" || len(name) > Max {
		return fmt.Errorf("%q has %d characters, want 1 to %d", name, len(name), Max)
	}
	odd := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
	if odd >= 0 {
		return fmt.Errorf("%q: only letters, digits, '-' and '_' are allowed", name)
	}
	return nil
}

// CheckRun is Check for the name of a run, which does not begin with '-': it would look like a flag.
func CheckRun(name string) error {
	if err := Check(name); err != nil {
		return err
	}
	if name[0] == '-' {
		return fmt.Errorf("%q: it begins with '-'", name)
	}
	return nil
}
