package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// clock is a time that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }
func newClock() *clock                   { return &clock{t: time.Unix(1000, 0)} }

func TestScreen_TerminalRepaintsBelowTheLog(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	s := NewScreen(&out, Options{Terminal: true, Now: c.now, Width: func() int { return 12 }})
	s.Status("one")
	s.Status("too soon")
	c.advance(time.Second)
	s.Status("a status too wide")
	fmt.Fprint(s, "log li")
	fmt.Fprint(s, "ne\nnext")
	s.Finish()
	want := "one" + "\r\x1b[K" + "a status t…" + "\r\x1b[K" + "log line\n" + "a status t…" + "\r\x1b[K" + "a status too wide\n"
	if got := out.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestScreen_PlainLinesNowAndThen(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	s := NewScreen(&out, Options{Now: c.now})
	for i := range 12 {
		s.Status(fmt.Sprintf("status %d", i))
		c.advance(time.Second)
	}
	fmt.Fprintln(s, "event")
	s.Finish()
	want := "status 0\nstatus 5\nstatus 10\nevent\nstatus 11\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScreen_Quiet(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, Options{Terminal: true, Quiet: true})
	s.Status("status")
	fmt.Fprintln(s, "warning")
	s.Finish()
	if got := out.String(); got != "warning\n" {
		t.Errorf("got %q", got)
	}
}

func TestScreen_ManyWriters(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, Options{})
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for range 50 {
				fmt.Fprintf(s, "%s\n", strings.Repeat(string(rune('a'+w)), 20))
			}
		})
	}
	all.Wait()
	for line := range strings.Lines(out.String()) {
		if len(line) != 21 || strings.Trim(line, line[:1]) != "\n" {
			t.Fatalf("a mixed line: %q", line)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestScreen_ReportsAFailingOutput(t *testing.T) {
	s := NewScreen(brokenPipe{}, Options{})
	s.Status("x")
	if s.Err() == nil {
		t.Error("no error")
	}
}

func example() Progress {
	return Progress{
		Step: 1200, Steps: 20000, Objective: 1.23456, Terms: []Term{{"rec", -2.5}, {"kl_z", 0.75}},
		Best: 1.5, BestStep: 1000, StepRate: 25, FLOPsPerStep: 3.1e9, Workers: 2, WorkerBytes: 11 << 20,
	}
}

func TestProgress_Line(t *testing.T) {
	want := "step 1,200/20,000  6%  objective 1.235  rec -2.500 kl_z 0.750  best 1.500 @1,000  25.00 step/s  77.50 GFLOP/s  2 workers  11.0 MiB each per step  eta 12m32s"
	if got := example().Line(0); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	waiting := Progress{Steps: 30, Note: "waiting for a worker"}.Line(0)
	if want := "step 0/30  0%  0 workers  waiting for a worker"; waiting != want {
		t.Errorf("got %q, want %q", waiting, want)
	}
}

// TestProgress_Percent is exact: what is done of a hundred steps is so many per cent.
func TestProgress_Percent(t *testing.T) {
	for step := range uint64(101) {
		if line, want := (Progress{Step: step, Steps: 100}).Line(0), fmt.Sprintf("  %d%%  ", step); !strings.Contains(line, want) {
			t.Errorf("step %d: %s", step, line)
		}
	}
}

// TestProgress_TimeLeft: there is none of a run of more years than a duration can have.
func TestProgress_TimeLeft(t *testing.T) {
	for rate, want := range map[float64]string{1e6: "eta 16m40s", .05: "", 1e-300: ""} {
		p := Progress{Steps: 1e9, StepRate: rate}
		if got := p.eta(); got != want {
			t.Errorf("%g steps a second: %q, want %q", rate, got, want)
		}
	}
}

func TestProgress_LineFitsTheWidth(t *testing.T) {
	p := example()
	for width := 200; width > 40; width-- {
		line := p.Line(width)
		if utf8.RuneCountInString(line) >= width {
			t.Errorf("width %d: %d columns: %s", width, utf8.RuneCountInString(line), line)
		}
		if !strings.Contains(line, "step 1,200/20,000") || !strings.Contains(line, "objective") {
			t.Errorf("width %d: the essence is missing: %s", width, line)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0.000"},
		{number(-12.345), "-12.35"},
		{number(1e-5), "1e-05"},
		{number(1234567), "1.235e+06"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m Meter
	at := time.Unix(0, 0)
	if m.Rate() != 0 {
		t.Error("a rate before anything was counted")
	}
	for i := range uint64(4000) {
		m.Add(at, i)
		at = at.Add(10 * time.Millisecond)
	}
	if r := m.Rate(); r < 99 || r > 101 {
		t.Errorf("100 per second measured as %g", r)
	}
	for i := range uint64(400) { // five times slower, for longer than the span
		m.Add(at, 4000+i)
		at = at.Add(100 * time.Millisecond)
	}
	if r := m.Rate(); r < 9.9 || r > 10.1 {
		t.Errorf("10 per second measured as %g", r)
	}
	if len(m.marks) > 2*meterMarks {
		t.Errorf("%d marks are kept", len(m.marks))
	}
}
