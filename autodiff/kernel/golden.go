package kernel

import (
	_ "embed" // the lines below
	"fmt"
	"strings"
)

//go:embed testdata/fingerprint.txt
var goldenLines string

// Golden is the fingerprint that every machine has to have: the one that the tests compare all instruction sets
// with. Its lines are in the order of Fingerprint.
func Golden() []Line {
	var lines []Line
	for text := range strings.Lines(goldenLines) {
		var l Line
		sum, name, _ := strings.Cut(strings.TrimSpace(text), " ")
		if _, err := fmt.Sscanf(sum, "%x", &l.Sum); err != nil {
			panic(err) // the file is compiled in, and a test reads it
		}
		l.Kernel = name
		lines = append(lines, l)
	}
	return lines
}
