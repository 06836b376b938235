package setting

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Max is the greatest length of a name, in bytes.
const Max = 64

// Check returns what is wrong with the name of a worker. It needs 1 to Max letters, digits, '-' and '_': such a
// name is one word on a command line, in a path and in the subject of a message.
func Check(name string) error {
	if name == "" || len(name) > Max {
		return fmt.Errorf("%q has %d characters, want 1 to %d", name, len(name), Max)
	}
	invalid := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
	if invalid >= 0 {
		return fmt.Errorf("%q: only letters, digits, '-' and '_' are allowed", name)
	}
	return nil
}

// CheckRun is Check for the name of a run. It must not begin with '-', or it would look like a flag.
func CheckRun(name string) error {
	if err := Check(name); err != nil {
		if last := filepath.Base(name); last != name && Check(last) == nil {
			return fmt.Errorf("%q is a path: the name is its last part, %s", name, last)
		}
		return err
	}
	if name[0] == '-' {
		return fmt.Errorf("%q: it begins with '-'", name)
	}
	return nil
}
