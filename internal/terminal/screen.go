package terminal

import (
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Screen lets log lines and a status share one output. On a terminal the status, of one line or several, stays at the
// end and is repainted there; on other outputs it is a plain line every Interval. A Screen is safe for concurrent use.
type Screen struct {
	// mu guards the rest.
	mu        sync.Mutex
	out       io.Writer
	options   Options
	painted   int       // the last lines of the terminal that are the status
	status    string    // the latest, without line end
	paintedAt time.Time // time of the last painting
	partial   []byte    // the beginning of a line whose end has not arrived
	err       error     // the first failure of out
}

// Options describe the output of a Screen.
type Options struct {
	Terminal bool             // repaint the status in place
	Width    func() int       // columns of the terminal; nil or 0: no limit
	Repaint  time.Duration    // least time between two repaints; 0: 100 ms
	Interval time.Duration    // time between two plain status lines; 0: 5 s
	Now      func() time.Time // nil: time.Now
	Quiet    bool             // no status at all
}

// NewScreen returns a Screen on out.
func NewScreen(out io.Writer, options Options) *Screen {
	if options.Repaint == 0 {
		options.Repaint = 100 * time.Millisecond
	}
	if options.Interval == 0 {
		options.Interval = 5 * time.Second
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Width == nil {
		options.Width = func() int { return 0 }
	}
	return &Screen{out: out, options: options}
}

// Write writes complete lines above the status. It keeps an incomplete line until its end arrives. It implements
// io.Writer for a logger.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = append(s.partial, p...)
	end := lastLine(s.partial)
	if end == 0 {
		return len(p), s.err
	}
	// The status makes room for the lines, and is painted again below them.
	s.erase()
	s.put(string(s.partial[:end]))
	s.partial = append(s.partial[:0], s.partial[end:]...)
	s.paint()
	return len(p), s.err
}

// lastLine is the number of bytes up to the end of the last complete line; 0 if there is none.
func lastLine(p []byte) int { return strings.LastIndexByte(string(p), '\n') + 1 }

// Status sets the status, of one line or several, without a line end. It is painted at once if the last painting is
// old enough; otherwise the next Write, Status or Finish may paint it. No timer does.
func (s *Screen) Status(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = line
	if s.options.Quiet {
		return
	}
	wait := s.options.Interval
	if s.options.Terminal {
		wait = s.options.Repaint
	}
	now := s.options.Now()
	if now.Sub(s.paintedAt) < wait {
		return
	}
	s.paintedAt = now
	if s.options.Terminal {
		s.erase()
		s.paint()
		return
	}
	s.put(line + "\n")
}

// Finish writes the latest status as a last plain line and forgets it. The screen may be used again. A line that
// has not ended is kept.
func (s *Screen) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if s.status != "" && !s.options.Quiet {
		s.put(s.status + "\n")
	}
	s.status = ""
}

// Terminal reports whether the status is repainted in place.
func (s *Screen) Terminal() bool { return s.options.Terminal }

// Width is the number of columns; 0: no limit.
func (s *Screen) Width() int { return s.options.Width() }

// Err is the first error of a write; nil if there was none. Status and Finish return none: nobody could do anything
// about it where they are called.
func (s *Screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// paint writes the status without a line end, each of its lines cut to one column less than the width, so that the
// cursor stays in the line. It is only called where the status is not painted.
func (s *Screen) paint() {
	if !s.options.Terminal || s.options.Quiet || s.status == "" {
		return
	}
	lines := strings.Split(s.status, "\n")
	for i, line := range lines {
		lines[i] = cut(line, s.options.Width()-1)
	}
	s.put(strings.Join(lines, "\n"))
	s.painted = len(lines)
}

// erase empties the lines of the status, and goes to the first of them. It writes past the folding of lines, which
// would replace the escape sequences.
func (s *Screen) erase() {
	if s.painted > 0 {
		s.putTo(Raw(s.out), "\r\x1b[K"+strings.Repeat("\x1b[A\x1b[K", s.painted-1))
		s.painted = 0
	}
}

// put writes text through what out does for people.
func (s *Screen) put(text string) { s.putTo(s.out, text) }

// putTo writes text and keeps the first error.
func (s *Screen) putTo(out io.Writer, text string) {
	if _, err := io.WriteString(out, text); err != nil && s.err == nil {
		s.err = err
	}
}

// cut shortens text to width runes; a width below 1 is no limit.
func cut(text string, width int) string {
	if width < 1 || utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:width-1]) + "…"
}
