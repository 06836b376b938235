package terminal

import (
	"io"
	"strings"
)

// Folded is an output for people. What a terminal would obey does not get there, see Lines. It breaks lines that
// are wider than the terminal, at spaces and with an indent, where the terminal would break them within words. A
// line that begins with two spaces and the name of the program is a command to copy: it goes on behind a backslash.
// It keeps nothing between two calls of Write, so that a line has to come in one piece to be folded.
type Folded struct {
	out     io.Writer
	width   func() int
	program string
}

// Fold returns an output for a terminal of so many columns; 0: no limit. width is called at each Write, as the
// terminal may have changed. program is what a user types to start the program.
func Fold(out io.Writer, width func() int, program string) *Folded {
	return &Folded{out: out, width: width, program: program}
}

// Width is the number of columns; 0: no limit.
func (f *Folded) Width() int { return f.width() }

// Raw is the output that leaves text as it is, for what programs read.
func (f *Folded) Raw() io.Writer { return f.out }

// Write implements io.Writer. A last line without an end is not folded, since the rest of it is still to come. It
// returns len(p) on success, however many bytes were written in the place of p.
func (f *Folded) Write(p []byte) (int, error) {
	width := f.width()
	var b strings.Builder
	for line := range strings.Lines(Lines(string(p))) {
		text, ended := strings.CutSuffix(line, "\n")
		switch {
		case !ended || width < 1:
			b.WriteString(line)
			continue
		// A command to copy.
		case strings.HasPrefix(text, "  "+f.program+" "):
			text = FoldCommand(text, width)
		default:
			text = FoldText(text, width)
		}
		b.WriteString(text + "\n")
	}
	if _, err := io.WriteString(f.out, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
