package config

import (
	"fmt"
	"strings"
)

// Origin says where a setting was written.
type Origin struct {
	Name string // file name, environment variable, "argument …" or "preset …"
	Line int    // from 1; 0 where there are no lines
	Col  int    // from 1

	text string // the whole file, for the excerpt
}

// String is NAME:LINE:COL, as editors and compilers have it, or NAME where there are no lines.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.Name
	}
	return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Col)
}

// fromPreset reports whether a preset set the value, and so no user.
func (o Origin) fromPreset() bool { return strings.HasPrefix(o.Name, presetOrigin) }

// excerpt shows the two lines before the origin and the line of the origin, with a caret below it; empty without a
// text.
func (o Origin) excerpt() string {
	lines := strings.Split(o.text, "\n")
	if o.text == "" || o.Line < 1 || o.Line > len(lines) {
		return ""
	}
	var b strings.Builder
	for n := max(1, o.Line-2); n <= o.Line; n++ {
		fmt.Fprintf(&b, "%6d | %s\n", n, lines[n-1])
	}
	fmt.Fprintf(&b, "       | %s^", strings.Repeat(" ", max(0, o.Col-1)))
	return b.String()
}

// presetOrigin begins the name of an origin that is a preset.
const presetOrigin = "preset "

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Origin  Origin
	Key     string // dotted path as written; empty if the fault has no key
	Message string
	Hint    string // what to write instead; may be empty
}

// String is one line with position, key, message and hint. If the origin is in a file, an excerpt follows.
func (p Problem) String() string {
	var b strings.Builder
	if name := p.Origin.String(); name != "" {
		b.WriteString(name + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	if excerpt := p.Origin.excerpt(); excerpt != "" {
		b.WriteString("\n" + excerpt)
	}
	return b.String()
}

// Error holds everything that is wrong with a configuration: first the problems of each layer, in the order of writing,
// then the problems between keys. It is never empty.
type Error struct {
	Problems []Problem
}

// Error is the problem, if there is one, or else the number of problems and each in lines of its own.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems in the configuration", len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n" + p.String())
	}
	return b.String()
}
