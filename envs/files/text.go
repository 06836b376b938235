package files

import (
	"bytes"
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

// western reads text in Windows-1252, which is Latin-1 with more signs, as UTF-8.
type western struct{ r io.Reader }

// signs are those of Windows-1252 from 0x80 to 0x9f; five of these bytes are none.
const signs = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"

// Read refuses a p that may not hold a single character. A byte becomes up to three bytes, so it reads a quarter of
// what p holds.
func (t western) Read(p []byte) (int, error) {
	if len(p) < utf8.UTFMax {
		return 0, io.ErrShortBuffer
	}
	raw := make([]byte, len(p)/utf8.UTFMax)
	n, err := t.r.Read(raw)
	table := []rune(signs)
	var b bytes.Buffer
	for _, v := range raw[:n] {
		if v >= 0x80 && v < 0xa0 {
			b.WriteRune(table[v-0x80])
		} else {
			b.WriteRune(rune(v))
		}
	}
	return copy(p, b.Bytes()), err
}
