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
	for _, c := range []struct{ name, text, observe, time, id string }{
		{"a column of activity is no recording", "\"\",day,time,temp,activ\n1,346,840,36.1,0\n2,346,850,36.2,0\n3,346,900,36.3,1\n4,346,910,36.2,0\n5,347,0,36.4,1\n6,347,10,36.5,0\n7,347,20,36.6,0\n8,347,30,36.2,0\n", "temp,activ", "", ""},
		{"numbers of rows without a heading", "\"\",height,age,Seed\n1,4.5,3,301\n15,10.8,5,301\n29,28.7,7,301\n2,4.6,3,303\n16,10.9,5,303\n30,29,7,303\n", "height", "age", "Seed"},
		{"a year within firms", "invest,value,firm,year\n1,2.5,GM,1935\n3,4.5,GM,1936\n2,4.6,GM,1937\n5,6.5,US,1935\n6,1.5,US,1936\n7,2.5,US,1937\n", "invest,value", "year", "firm"},
	} {
		o, err := Guess([]string{filepath.Join(write(t, map[string]string{"a.csv": c.text}), "a.csv")}, Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := strings.Join(o.Observe, ","); got != c.observe || o.Time != c.time || o.ID != c.id {
			t.Errorf("%s: --observe %s --time %s --id %s, want %s, %s, %s", c.name, got, o.Time, o.ID, c.observe, c.time, c.id)
		}
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
