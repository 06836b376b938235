package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCSV_EncodingOfShortFiles: a text in UTF-8 is read as such wherever its letters stand, also where what is looked at
// ends within one; any other text is Windows-1252.
func TestCSV_EncodingOfShortFiles(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{3, 5000} { // 5,000 are more than is looked at
		for n := range 9 {
			name := strings.Repeat("é", 8) + strings.Repeat("x", n)
			var b strings.Builder
			b.WriteString("y,place\n")
			for range rows {
				fmt.Fprintf(&b, "1,%s\n", name)
			}
			d := readAs(t, Options{ID: "place"}, b.String())
			if got := d.Episodes[0].Name; got != name || len(d.Notes) > 0 {
				t.Errorf("%d rows of %s: read as %s, %q", rows, name, got, d.Notes)
			}
		}
	}
	d := readAs(t, Options{ID: "place"}, "y,place\n1,caf\xe9\n2,caf\xe9\n")
	if got := d.Episodes[0].Name; got != "café" || len(d.Notes) != 1 {
		t.Errorf("Windows-1252: read as %s, %q", got, d.Notes)
	}
	if got := readAs(t, Options{ID: "place"}, "y,place\n1,caf\xe9\n2,caf\xe9").Episodes; len(got) != 1 {
		t.Errorf("a letter of Windows-1252 at the end: %d recordings", len(got))
	}
}

// TestGuess_FirstRowIsMissing: a first row of missing values, as returns and differences have it, is no row of units, and
// nor is one of truth values.
func TestGuess_FirstRowIsMissing(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"NA", "nan", "NULL", "None", "n/a", "?", ".", "", "true"} {
		text := fmt.Sprintf("a,b\n%s,%s\n0.5,-0.25\n1.5,0.75\n0.5,2.5\n", mark, mark)
		path := filepath.Join(write(t, map[string]string{"ret.csv": text}), "ret.csv")
		d, _, err := ReadGuessed([]string{path}, Options{})
		if err != nil {
			t.Errorf("%q: %v", mark, err)
		} else if d.Episodes[0].T != 4 {
			t.Errorf("%q: %d steps, want 4", mark, d.Episodes[0].T)
		}
	}
}

// TestTable_WhatCouldBeObserved: where no column is an observation, the one that is proposed holds numbers.
func TestTable_WhatCouldBeObserved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"Datum,place,speed\n2024-01-01,a,1.5\n2024-01-02,b,2.5\n", "e.g. --observe speed (env.observe)"},
		{"t,note,speed\n0,a,\n1,2,2.5\n2,b,1.5\n", "e.g. --observe speed (env.observe)"},
		{"a;b\nx;1,5\nx;2,5\n", "e.g. --observe b (env.observe)"},
		{"year\n2001\n2002\n", "e.g. --observe year (env.observe)"},
		{"Datum,place\n2024-01-01,a\n2024-01-02,b\n", "no column holds numbers: give one that does"},
		{"t,y\n0,1.5\n1,(2.5)\n", "write a minus in their place"},
		{"t,y\n0,1.5\n1,($2.50)\n", "write a minus in their place"},
		{"Datum,price\n2024-01-01,$50.00\n", `give one that does ("$50.00": leave out what stands beside the number)`},
		{"Datum,volume\n2024-01-01,\"5,012.31\"\n", `("5,012.31": it has commas for thousands: leave them out)`},
		{"Datum,place\n", "there are no rows below the header"},
		{"a title\nt,speed\n0,1\n", "leave out the lines before the names"},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": c.text}), "a.csv")
		if _, err := Read([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestCSV_FirstLineOfColumnNumbers: a first line that counts is taken for names, and a note says so, as it may be a row.
func TestCSV_FirstLineOfColumnNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, observed, want string }{
		{"1,2\n3,4\n5,6\n8,9\n", "2", "the first line (1, 2) is taken for column numbers"},
		{"1,3\n3,4\n5,6\n8,9\n", "column2", "the first line holds numbers, not names"},
		{"a,b\n3,4\n5,6\n8,9\n", "b", ""},
	} {
		said := strings.Join(readAs(t, Options{Observe: []string{c.observed}}, c.text).Notes, "; ")
		if !strings.Contains(said, c.want) || c.want == "" && strings.Contains(said, "first line") {
			t.Errorf("%q: the notes are %q, want %q", c.text, said, c.want)
		}
	}
}

// TestCSV_SignsInQuotes: what stands in a heading within quotes separates no columns.
func TestCSV_SignsInQuotes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"torque; Nm", "torque\tNm", "torque| Nm"} {
		d := readAs(t, Options{Observe: []string{columnName(name, 0)}}, "t,\""+name+"\"\n0,1.5\n1,2.5\n")
		equal(t, name, d.Episodes[0].Observations, []float32{1.5, 2.5})
	}
	d := readAs(t, Options{}, "t;\"y1\"\n0;1,5\n1;2,5\n")
	equal(t, "columns in quotes", d.Episodes[0].Observations, []float32{1.5, 2.5})
}

// TestCSV_SeparatorInAFirstLine: a line sep= says which sign separates columns, be it a tab, whatever stands in the names.
func TestCSV_SeparatorInAFirstLine(t *testing.T) {
	t.Parallel()
	for _, sign := range []string{";", "|", "\t", ":"} {
		for _, line := range []string{"sep=" + sign + "\n", "\"sep=" + sign + "\"\r\n", "SEP=" + sign + "\r\n"} {
			d := readAs(t, Options{Observe: []string{"a b"}}, line+"t"+sign+"a,b"+sign+"c\n0"+sign+sign+"1.5\n1"+sign+"2.5"+sign+"3\n")
			equal(t, line, d.Episodes[0].Observations, []float32{0, 2.5})
			equal(t, line, d.Episodes[0].Mask, []float32{0, 1})
		}
	}
}

// TestCSV_DecimalCommasOfTimes: times may have the decimal commas that all numbers of a file have.
func TestCSV_DecimalCommasOfTimes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"t", "time", "Zeit"} {
		path := filepath.Join(t.TempDir(), "a.csv")
		text := name + ";Druck\n0,0;1,5\n0,1;2,5\n0,2;1,5\n0,3;3,5\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, how, err := ReadGuessed([]string{path}, Options{})
		if err != nil || d.Spec.DT != 0.1 || d.Spec.Observation != 1 {
			t.Errorf("%s: %+v is observed, %v", name, how, err)
			continue
		}
		e := d.Episodes[0]
		equal(t, name, e.Observations, []float32{1.5, 2.5, 1.5, 3.5})
		if step, err := stepAt(e.Times, "0,3"); step != 3 || err != nil || e.Times.Text(5)[0] != "0.5" {
			t.Errorf("%s: 0,3 is step %d, %v, and step 5 is at %s", name, step, err, e.Times.Text(5))
		}
	}
}

// TestCSV_QuotesThatNeverEnd: a cell in quotes is refused before it takes more memory than a line may.
func TestCSV_QuotesThatNeverEnd(t *testing.T) {
	t.Parallel()
	text := "t,y\n0,1\n1,\"" + strings.Repeat(strings.Repeat(" ", 99)+"\n", 10*maxLine/100) + "\"\n"
	path := filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv")
	if _, err := Read([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "in quotes") {
		t.Errorf("got %v", err)
	}
	text = "t,y,note\n" + strings.Repeat("0,1,\"two\nlines\"\n1,2,\"# none\"\n", maxLine/30)
	if d := readAs(t, Options{Time: NoTime, Observe: []string{"y"}}, text); d.Episodes[0].T < maxLine/30 {
		t.Errorf("short cells in quotes: %d steps", d.Episodes[0].T)
	}
}

// TestCSV_EncodingBehindTheBegin: a letter far behind what is looked at says that a text is Windows-1252, if all before
// it is ASCII. Behind letters in UTF-8 it is a fault.
func TestCSV_EncodingBehindTheBegin(t *testing.T) {
	t.Parallel()
	plain := strings.Repeat("1,X\n", 40_000)
	d := readAs(t, Options{ID: "place"}, "y,place\n"+plain+"1,X\xe8\n2,X\xe8\n1,X\xe9\n2,X\xe9")
	var names []string
	for i := range d.Episodes {
		names = append(names, d.Episodes[i].Name)
	}
	equal(t, "names", names, []string{"X", "Xè", "Xé"})
	equal(t, "notes", d.Notes, []string{"the text is not UTF-8: it is read as Windows-1252"})
	// Lines that end in a carriage return alone are counted, too.
	for _, text := range []string{
		"y,place\n1,é\n" + plain + "1,X\xe8\n", "\ufeffy,place\n1,X\n" + plain + "1,X\xe8\n", "y,place\n1,é\n" + plain + "1,X\xe8",
		strings.ReplaceAll("y,place\n1,é\n"+plain+"1,X\xe8\n", "\n", "\r"),
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv")
		if _, err := Read([]string{path}, Options{ID: "place"}); err == nil || !strings.Contains(err.Error(), "line 40003: ") {
			t.Errorf("%.12q: got %v, want a fault in line 40003", text, err)
		}
	}
}

// TestCSV_LongLinesInWindows1252: a line is read in whatever pieces it comes.
func TestCSV_LongLinesInWindows1252(t *testing.T) {
	t.Parallel()
	note := strings.Repeat("\xe8", 200_000)
	d := readAs(t, Options{Observe: []string{"y"}}, "y,note\n1,"+note+"\n2,"+note+"\n")
	equal(t, "observations", d.Episodes[0].Observations, []float32{1, 2})
}
