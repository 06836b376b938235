package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a program prints may come from files that anybody has written: names of columns, reasons, notes. The functions
// below are the only ones that make such text harmless; Table, Facts and Folded call them.

// hostile reports whether a terminal would obey a character, or whether it changes the order of the text: control
// characters, marks of direction, other ends of lines.
func hostile(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Plain returns text from a file as it may be written within a line of a terminal: each hostile character, the end of a
// line too, becomes a replacement character.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if hostile(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Lines is Plain for text of several lines, with tabs. The colour that a logger gives to the level of a line stays,
// and is ended behind the level. Invalid UTF-8 becomes replacement characters.
func Lines(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (hostile(r) || r == utf8.RuneError) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		if n := level(text); n > 0 {
			b.WriteString(text[:n] + ended)
			text = strings.TrimPrefix(text[n:], ended)
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		if hostile(r) && r != '\n' && r != '\t' {
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
		text = text[n:]
	}
	return b.String()
}

// ended ends the colour of a level. Lines writes it itself, because the logger leaves it out where stdout is no
// terminal, whatever it writes to.
const ended = "\x1b[0m"

// level is the length of a level in colour at the beginning of text, as a logger writes it; 0: there is none.
func level(text string) int {
	rest, found := strings.CutPrefix(text, "\x1b[9")
	if !found || len(rest) < 2 || rest[0] < '0' || rest[0] > '7' || rest[1] != 'm' {
		return 0
	}
	for _, word := range []string{"[TRACE]", "[DEBUG]", "[INFO] ", "[WARN] ", "[ERROR]"} {
		if strings.HasPrefix(rest[2:], word) {
			return len(text) - len(rest) + 2 + len(word)
		}
	}
	return 0
}

// JSON is text in JSON, indented by spaces, whose hostile characters are written as escapes. Its value is the same:
// they stand only within strings, where an escape means the character.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if hostile(r) && r != '\n' { // all are below 0x10000
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Raw is an output without anything that is done for people, if out has a method Raw that returns one, or else out
// itself: for what programs read.
func Raw(out io.Writer) io.Writer {
	if w, ok := out.(interface{ Raw() io.Writer }); ok {
		return w.Raw()
	}
	return out
}
