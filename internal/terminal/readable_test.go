package terminal

import (
	"bytes"
	"testing"
	"time"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Group(0), "0"},
		{Group(999), "999"},
		{Group(1000), "1,000"},
		{Group(1234567), "1,234,567"},
		{Bytes(512), "512 B"},
		{Bytes(1536), "1.5 KiB"},
		{Bytes(5 << 20), "5.0 MiB"},
		{Bytes(3 << 40), "3.0 TiB"},
		{Short(7 * time.Second), "7s"},
		{Short(65 * time.Second), "1m05s"},
		{Short(3*time.Hour + 7*time.Minute), "3h07m"},
		{Short(52 * time.Hour), "2d04h"},
		{Digits(1180), "1,180"},
		{Digits(1.18), "1.18"},
		{Digits(0.01234), "0.0123"},
		{Digits(2), "2"},
		{Digits(0), "0"},
		{Digits(123456), "123,456"},
		{Digits(-1180.4), "-1,180"},
		{Digits(999.9), "1,000"},
		{Digits(1e12), "1e+12"},
		{Number(1234567.8, 5), "1,234,568"},
		{Number(-0.00012345, 2), "-0.00012"},
		{Number(0.5, 5), "0.5"},
		{Count(1, "worker"), "1 worker"},
		{Count(0, "worker"), "0 workers"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := NewTable("horizon", "R²", "paper")
	table.Row("1", "0.9995", ".999")
	table.Row("30", "0.95", ".956")
	if _, err := table.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	want := "horizon      R²  paper\n----------------------\n1        0.9995   .999\n30         0.95   .956\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// narrow is an output of so many columns.
type narrow struct {
	bytes.Buffer
	width int
}

func (n *narrow) Width() int { return n.width }

// TestTable_Fits: texts are folded, many columns are written in parts, and the last part is not lost.
func TestTable_Fits(t *testing.T) {
	out := &narrow{width: 30}
	table := NewTable("name", "what it is", "n").Left(1)
	table.Row("a", "a text of some words that goes on", "1")
	table.Row("b", "short", "22")
	if _, err := table.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	want := "name  what it is             n\n------------------------------\na     a text of some words   1\n      that goes on\nb     short                 22\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	out.Reset()
	wide := NewTable("k", "alpha", "beta", "gamma", "delta", "epsilon")
	wide.Row("1", "1.0000", "2.0000", "3.0000", "4.0000", "5.0000")
	if _, err := wide.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	want = "k   alpha    beta   gamma\n-------------------------\n1  1.0000  2.0000  3.0000\n\nk   delta  epsilon\n------------------\n1  4.0000   5.0000\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FoldText("short", 10), "short"},
		{FoldText("run       a text that is too long", 24), "run       a text that is\n          too long"},
		{FoldText("one two three four", 9), "one two\n  three\n  four"},
		{FoldText("  /a/path/that/has/no/space", 10), "  /a/path/that/has/no/space"},
		{FoldText("\x1b[32mgreen\x1b[0m text", 10), "\x1b[32mgreen\x1b[0m text"},
		{FoldCommand("  program train fhn --name some", 20), "  program train \\\n    fhn --name \\\n    some"},
		{FoldCommand("  program show --dir 'my own runs' x", 20), "  program show \\\n    --dir \\\n    'my own runs' \\\n    x"},
		{FoldComments("a: 1\nkey: \"# x\" # one two three\n", 20), "a: 1\nkey: \"# x\" # one two\n           # three\n"},
		{FoldComments(`key: "\"one # two\", C:\\" # three four`, 24), `key: "\"one # two\", C:\\" # three` + "\n                           # four"},
		{Fill("A line\nthat goes on.\n\n  kept as it is\nand on", 12), "A line that\ngoes on.\n\n  kept as it\n    is\nand on"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
