package terminal

import (
	"strings"
	"unicode/utf8"
)

// Columns is the width that texts of the program are made for: no line of a help text is longer.
const Columns = 80

// FoldText breaks a line at spaces so that no part is longer than width; width below 1 is no limit. What follows the
// first part is indented to the column behind the first gap of two spaces or more, as in "name   text that goes on",
// else by two spaces more than the line. A word that is longer than width stays whole: it is a path or a hash. Escape
// sequences of colours have no width.
func FoldText(line string, width int) string {
	if width < 1 || length(line) <= width {
		return line
	}
	return fold(line, width, strings.Repeat(" ", hang(line, width)), "")
}

// FoldCommand is FoldText for a command of a shell, whose lines go on behind a backslash, so that they can be
// copied.
func FoldCommand(line string, width int) string {
	if width < 1 || length(line) <= width {
		return line
	}
	return foldWords(line, words(line[indent(line):], true), width, strings.Repeat(" ", indent(line)+2), " \\")
}

// Quoted is a word of a command for a shell, in quotation marks if it needs them.
func Quoted(word string) string {
	if word == "" || strings.ContainsAny(word, " \t*?[]{}()<>|&;$`\"'\\!#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// fold breaks a line at spaces: end is written where a line goes on, hanging before what follows. A break drops the
// spaces at which it is made. Nothing is broken before the first word of a line, so that a long word stands alone.
func fold(line string, width int, hanging, end string) string {
	return foldWords(line, words(line[indent(line):], false), width, hanging, end)
}

// foldWords is fold for a line with these words behind its indent.
func foldWords(line string, list []string, width int, hanging, end string) string {
	var b strings.Builder
	first := indent(line)
	b.WriteString(line[:first])
	column, begun := first, false
	for i, word := range list {
		gap := len(word) - len(strings.TrimLeft(word, " "))
		n := length(word)
		// Every line leaves room for end, the last one too.
		limit := width - length(end)
		if i > 0 && begun && column+n > limit && column > len(hanging) {
			b.WriteString(end + "\n" + hanging)
			word = word[gap:]
			column, n = len(hanging), n-gap
		}
		b.WriteString(word)
		column, begun = column+n, true
	}
	return b.String()
}

// words are the words of a text, each with the spaces before it, so that their sum is the text; spaces at its end
// count as a word. In a command, what a shell takes for one word is one.
func words(text string, command bool) []string {
	var list []string
	for len(text) > 0 {
		begin := len(text) - len(strings.TrimLeft(text, " "))
		end := strings.IndexByte(text[begin:], ' ')
		if command {
			end = shellWord(text[begin:])
		}
		if end < 0 {
			return append(list, text)
		}
		list, text = append(list, text[:begin+end]), text[begin+end:]
	}
	return list
}

// shellWord is the length of the first word of a command: spaces between quotation marks belong to it. Below 0 it is
// all of the text.
func shellWord(text string) int {
	mark := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case mark == 0 && c == ' ':
			return i
		case mark == 0 && (c == '\'' || c == '"'):
			mark = c
		case c == mark:
			mark = 0
		case c == '\\' && mark != '\'':
			i++
		}
	}
	return -1
}

// indent is the number of spaces at the beginning of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// hang is the column to which the rest of a line is indented. A gap in the right half of the width is no column:
// too little would fit beside it.
func hang(line string, width int) int {
	begin := indent(line)
	if at := strings.Index(line[begin:], "  "); at > 0 {
		rest := line[begin+at:]
		if column := length(line[:begin+at]) + indent(rest); column <= width/2 && strings.TrimSpace(rest) != "" {
			return column
		}
	}
	return begin + 2
}

// length is the number of columns of a text, one for each rune, without the escape sequences that change its
// colour.
func length(text string) int {
	if !strings.Contains(text, "\x1b") {
		return utf8.RuneCountInString(text)
	}
	n := 0
	for len(text) > 0 {
		if strings.HasPrefix(text, "\x1b[") {
			if end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' }); end >= 0 {
				text = text[3+end:]
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(text)
		text, n = text[size:], n+1
	}
	return n
}

// Fill sets prose in lines of at most width columns: lines that are not indented are joined to paragraphs and
// broken anew, lines that are indented stay, and are folded where they are longer. Empty lines end a paragraph. A
// line that ends with a colon at the beginning of a paragraph stays alone, as the heading of a list.
func Fill(text string, width int) string {
	var lines, paragraph []string
	// flush breaks the paragraph that has been collected.
	flush := func() {
		if paragraph != nil {
			lines = append(lines, strings.Split(fold(strings.Join(paragraph, " "), width, "", ""), "\n")...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || strings.HasSuffix(line, ":") && paragraph == nil && length(line) <= width:
			flush()
			lines = append(lines, line)
		case line[0] == ' ':
			flush()
			lines = append(lines, FoldText(line, width))
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(lines, "\n")
}

// FoldComments is YAML whose comments are broken so that no line is longer than width; below 1 is no limit. A key and
// its value stay as they are.
func FoldComments(text string, width int) string {
	if width < 1 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		at := comment(line)
		if at < 0 || length(line) <= width {
			continue
		}
		hanging := strings.Repeat(" ", length(line[:at])) + "# "
		parts := strings.Split(fold(line[at+2:], width-len(hanging), "", ""), "\n")
		lines[i] = line[:at+2] + strings.Join(parts, "\n"+hanging)
	}
	return strings.Join(lines, "\n")
}

// comment is where the comment of a line begins, at "# " outside of double quotes; below 0: it has none.
func comment(line string) int {
	quoted, escaped := false, false
	for i, r := range line {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(line[i:], "# ") && (i == 0 || line[i-1] == ' '):
			return i
		}
	}
	return -1
}
