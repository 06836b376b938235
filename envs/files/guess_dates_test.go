package files

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// Dates without separators are dates, also where they could be numbers.
func TestRead_CompactDates(t *testing.T) {
	d := readAs(t, Options{Time: "date", Observe: []string{"co2"}}, "date,co2\n19580329,316\n19580405,317\n19580419,318\n19580426,319\n")
	if d.TimeUnit != "day" || d.Spec.DT != 7 || d.Episodes[0].T != 5 || d.Episodes[0].Mask[2] != 0 {
		t.Errorf("%v %s, %d steps, mask %v; want 7 days and a gap", d.Spec.DT, d.TimeUnit, d.Episodes[0].T, d.Episodes[0].Mask)
	}
}

// Guesses that real tables led astray.
func TestGuess_RealTables(t *testing.T) {
	for _, c := range []guessed{
		{"a column of activity is no recording", "\"\",day,time,temp,activ\n1,346,840,36.1,0\n2,346,850,36.2,0\n3,346,900,36.3,1\n4,346,910,36.2,0\n5,347,0,36.4,1\n6,347,10,36.5,0\n7,347,20,36.6,0\n8,347,30,36.2,0\n", "temp,activ", "day,time", ""},
		{"numbers of rows without a heading", "\"\",height,age,Seed\n1,4.5,3,301\n15,10.8,5,301\n29,28.7,7,301\n2,4.6,3,303\n16,10.9,5,303\n30,29,7,303\n", "height", "age", "Seed"},
		{"dates beside y", "when,y,u\n2024-01-01,1,0\n2024-01-02,2,1\n2024-01-04,3,1\n", "", "when", ""},
		{"times beside y", "time,y\n0.5,1\n1.0,2\n2.0,3\n", "", "time", ""},
		{"shops beside y", "date,shop,y\n2024-01-01,A,1\n2024-01-02,A,2\n2024-01-01,B,3\n2024-01-02,B,4\n", "", "date", "shop"},
		{"dates beside y and episodes", "episode,date,y\n1,2024-01-01,1\n1,2024-01-02,2\n2,2024-01-01,3\n2,2024-01-02,4\n", "y", "date", ""},
		{"the time of the convention", "t,date,y\n0,2024-01-01,1\n1,2024-01-02,2\n", "", "", ""},
		{"a ramp in front is a time", "zeit,wert\n0,1\n0.1,4\n0.2,2\n0.3,5\n", "wert", "zeit", ""},
		{"a ramp alone is observed", "wert\n0\n1\n2\n3\n", "wert", "", ""},
		{"an observation in front that rises unevenly", "weg,kraft\n0,1\n1,4\n2.5,2\n3,5\n", "weg,kraft", "", ""},
		{"a year within firms", "invest,value,firm,year\n1,2.5,GM,1935\n3,4.5,GM,1936\n2,4.6,GM,1937\n5,6.5,US,1935\n6,1.5,US,1936\n7,2.5,US,1937\n", "invest,value", "year", "firm"},
	} {
		c.check(t)
	}
}

// guessed is what is to be guessed of a table.
type guessed struct{ name, text, observe, time, id string }

func (c guessed) check(t *testing.T) {
	t.Helper()
	o, err := Guess([]string{filepath.Join(write(t, map[string]string{"a.csv": c.text}), "a.csv")}, Options{})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if got := strings.Join(o.Observe, ","); got != c.observe || o.Time != c.time || o.ID != c.id {
		t.Errorf("%s: --observe %s --time %s --id %s, want %s, %s, %s", c.name, got, o.Time, o.ID, c.observe, c.time, c.id)
	}
}

// What Restore expects of a series is the series itself, where the expected changes are those that happened; missing
// values are bridged by what was expected.
func TestTransform_Restore(t *testing.T) {
	observed := []float64{2, 4, math.NaN(), 16, 32}
	changes := []float64{math.NaN(), math.Ln2, math.Ln2, math.Ln2, math.Ln2}
	got := Transform{Log: true, Lag: 1}.Restore(changes, observed)
	for i, want := range []float64{2, 4, 8, 16, 32} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Fatalf("restored %v, step %d is to be %v", got, i, want)
		}
	}
	if got := (Transform{Lag: 2}).Before([]float64{1, 2, math.NaN(), 5}); got[0] != 1 || got[1] != 5 {
		t.Errorf("the values before are %v; the missing one is that of two steps before", got)
	}
}

// What is observed may be given, and the time be left to the guess; a time that is given is never replaced.
func TestGuess_OfWhatOptionsLeaveOpen(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "day,clock,at,v\n1,800,2024-01-01,1\n1,810,2024-01-02,2\n1,820,2024-01-03,4\n"}), "a.csv")
	for _, c := range []struct {
		o    Options
		time string
	}{
		{Options{Observe: []string{"v"}}, "at"},
		{Options{Observe: []string{"v"}, Time: "day,clock"}, "day,clock"},
		{Options{Time: "clock"}, "clock"},
	} {
		o, err := Guess([]string{path}, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Time != c.time || o.ID != "" {
			t.Errorf("of %+v: --time %s --id %s, want --time %s", c.o, o.Time, o.ID, c.time)
		}
	}
}

// What is wrong with a table is told with its name, also where the guess finds it first.
func TestGuess_NamesTheFile(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "day,v\n1,2\n1,2,3\n"}), "a.csv")
	if _, err := Guess([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "a.csv: line 3: ") {
		t.Errorf("got %v", err)
	}
}

// TestGuess_HoldsNoMoreThanTheLimit: of wide tables, and of long texts, fewer rows are looked at.
func TestGuess_HoldsNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"1,", strings.Repeat("x", 1024) + ","} {
		text := strings.Repeat("a,", 9) + "t\n" + strings.Repeat(strings.Repeat(cell, 9)+"1\n", 2000)
		in, closing, err := openTable(filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer closing()
		columns, _, err := Options{Limit: 1 << 20}.sample(in, guessRows)
		if rows := len(columns[0].texts); err != nil || rows == 0 || rows*len(text)/2000 > 1<<20 || rows == 2000 {
			t.Errorf("%d rows are held, %v", rows, err)
		}
	}
}
