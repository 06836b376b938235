package files

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSummarise_Remarks: a mark for missing values, a common value and recordings of other scales are said; a series that
// reaches such a number by itself, and recordings of like scales, are not.
func TestSummarise_Remarks(t *testing.T) {
	notes := func(row func(recording, t int) float64) string {
		var b strings.Builder
		b.WriteString("episode,t,y\n")
		for i := range 3 {
			for s := range 40 {
				fmt.Fprintf(&b, "%d,%d,%g\n", i, s, row(i, s))
			}
		}
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Read([]string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Summarise()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(s.Notes, "\n")
	}
	wave := func(_, s int) float64 { return 10 + math.Sin(float64(s)) }
	for _, c := range []struct {
		name, want string
		row        func(recording, t int) float64
	}{
		{"like scales", "", wave},
		{"a mark", "-9,999 occurs 6 times", func(i, s int) float64 {
			if s%20 == 7 {
				return -9999
			}
			return wave(i, s)
		}},
		{"a ramp to a mark", "", func(_, s int) float64 { return 9999 - float64(39-s) }},
		{"mostly zeros", "60 % of the values are 0: a regime", func(i, s int) float64 {
			if s%5 < 3 {
				return 0
			}
			return wave(i, s)
		}},
		{"five levels", "", func(_, s int) float64 { return float64(s % 5) }},
		{"other scales", "recordings differ in scale", func(i, s int) float64 { return wave(i, s) * math.Pow(100, float64(i)) }},
	} {
		if got := notes(c.row); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRead_AValueThatDrownsAllOthers is refused with its place; with a logarithm, and where it is one of a wide range, it
// is not.
func TestRead_AValueThatDrownsAllOthers(t *testing.T) {
	t.Parallel()
	rows := func(value string) string {
		text := "t,y\n"
		for i := range 20 {
			text += itoa(i) + "," + itoa(i%3+1) + "\n"
		}
		return text + "20," + value + "\n21,2\n"
	}
	for _, value := range []string{"1e38", "-1e30", "1e9"} {
		path := write(t, map[string]string{"a.csv": rows(value)})
		if _, err := Read([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "lines 2 to 23: y1: ") || !strings.Contains(err.Error(), "occurs 1 time") {
			t.Errorf("%s: got %v", value, err)
		}
	}
	readAs(t, Options{Transform: "log"}, rows("1e30"))
	readAs(t, Options{}, rows("1e7"))
	levels := "t,y\n"
	for i := range 40 { // two levels, with the dust of a rounding
		levels += itoa(i) + "," + []string{"0", "1", "5.55e-17", "1"}[i%4] + "\n"
	}
	readAs(t, Options{}, levels)
}
