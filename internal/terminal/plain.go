package terminal

import (
	"strings"
	"unicode"
)

// Plain returns text from a file as it may be written to a terminal: what a terminal would obey or what would change
// the order of the text (control characters, marks of direction) becomes a replacement character.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
