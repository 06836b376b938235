package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// returns reads text whose lines end in a carriage return alone.
type returns struct{ r io.Reader }

// Read writes a line feed for every carriage return.
func (t returns) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	for i := range p[:n] {
		if p[i] == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// wholeCharacters is the begin of a text in UTF-8 without the part of a character that may end it.
func wholeCharacters(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				text = text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// decoded reads text in UTF-8 or Windows-1252 as UTF-8. Text that began in ASCII is Windows-1252 from the first byte on
// that is not UTF-8; behind other letters in UTF-8 such a byte is a fault.
type decoded struct {
	r       io.Reader
	western bool // it is Windows-1252
	unicode bool // letters beyond ASCII were in UTF-8
	lines   int  // that ended

	buffer []byte
	part   []byte // of a character, at the end of what was read
	text   []byte // that was decoded, and not passed on
	err    error  // for when text is passed on
}

// Read passes on what was decoded; text is read a block at a time.
func (d *decoded) Read(p []byte) (int, error) {
	for len(d.text) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.text)
	d.text = d.text[n:]
	return n, nil
}

// fill decodes the next block.
func (d *decoded) fill() {
	if d.buffer == nil {
		d.buffer = make([]byte, 1<<14)
	}
	kept := copy(d.buffer, d.part)
	n, err := d.r.Read(d.buffer[kept:])
	block := d.buffer[:kept+n]
	d.err, d.part = err, nil
	if d.western {
		d.text = westernText(nil, block)
		return
	}
	whole := block
	if !errors.Is(err, io.EOF) {
		whole = wholeCharacters(block)
	}
	valid := validText(whole)
	d.text, d.part = whole[:valid], block[len(whole):]
	d.lines += bytes.Count(d.text, []byte("\n"))
	d.unicode = d.unicode || utf8.RuneCount(d.text) < valid
	switch {
	case valid == len(whole):
	case d.unicode:
		place := fmt.Sprintf("line %d", d.lines+1)
		d.err = faultf(place, "save all of the file as UTF-8", "it holds a letter that is not UTF-8, as those before it are")
	default:
		d.western, d.part = true, nil
		d.text = westernText(bytes.Clone(d.text), block[valid:])
	}
}

// validText is how many bytes of a text are UTF-8, from its begin on.
func validText(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// signs are those of Windows-1252, which is Latin-1 with more signs, from 0x80 to 0x9f; five of these bytes are none.
const signs = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"

// westernText appends text in Windows-1252 to some in UTF-8.
func westernText(to, text []byte) []byte {
	table := []rune(signs)
	for _, v := range text {
		if v >= 0x80 && v < 0xa0 {
			to = utf8.AppendRune(to, table[v-0x80])
		} else {
			to = utf8.AppendRune(to, rune(v))
		}
	}
	return to
}
