package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// commentFilter empties the lines of a CSV file that are comments: the numbers of the others stay. The first line is
// one if it says sep=;. Each read is of one line, so that comments counts those in front of what was read.
type commentFilter struct {
	in    *bufio.Reader
	comma byte
	err   error  // of in, for when rest is read
	rest  []byte // of the line that is being read
	inner bool   // rest goes on behind the begin of a line
	// comment is set within one, and quoted within quotes, where no line is a comment.
	comment, quoted bool
	comments        int
	open            int // bytes of lines within quotes that have not ended
}

func newCommentFilter(r io.Reader, firstLine bool) *commentFilter {
	return &commentFilter{in: bufio.NewReaderSize(r, 1<<16), comment: firstLine, inner: firstLine, comma: ','}
}

func (c *commentFilter) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		part, err := c.in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) { // the line goes on then
			c.err = err
		}
		c.rest = c.keep(part)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// keep is what remains of a line, or of a part of one. Lines within quotes may be no longer than one line: who reads
// them holds all of them.
func (c *commentFilter) keep(part []byte) []byte {
	ended := bytes.HasSuffix(part, []byte("\n"))
	if !c.inner && !c.quoted && c.begins(part) {
		c.comment = true
		c.comments++
	}
	switch {
	case !c.comment:
		c.quoted = c.quoted != (bytes.Count(part, []byte{'"'})%2 == 1)
		if c.open += len(part); !c.quoted {
			c.open = 0
		}
		if c.open > maxLine {
			c.err = faultf("", "close its quotes", "a cell in quotes has more than %d bytes", maxLine)
		}
	case ended:
		part = part[len(part)-1:]
	default:
		part = nil
	}
	c.inner, c.comment = !ended, c.comment && !ended
	return part
}

// begins reports whether a line is a comment: it begins with #, and its first cell is none of the signs for a missing
// value that do, such as #N/A.
func (c *commentFilter) begins(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("#")) {
		return false
	}
	cell := line
	if i := bytes.IndexByte(line, c.comma); i >= 0 {
		cell = line[:i]
	}
	return !missingMark(string(bytes.TrimSpace(cell[:min(len(cell), 64)])))
}
