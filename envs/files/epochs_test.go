package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// firstEpoch is 14 November 2023, 22:13:20 UTC, a Tuesday.
const firstEpoch = 1700000000

// TestTable_ResampleEpochs: numbers that count from 1970, in whichever unit, are brought to steps of the calendar: from
// midnight on, and of weeks from Monday on.
func TestTable_ResampleEpochs(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]int64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9} {
		var b strings.Builder
		b.WriteString("ts,sales\n")
		means := map[int64][]float64{} // by the day
		for i := range int64(100) {
			at := firstEpoch + i*1800 + i%3*60
			fmt.Fprintf(&b, "%d,%d\n", at*unit, i)
			means[at/86400] = append(means[at/86400], float64(i))
		}
		path := filepath.Join(t.TempDir(), "d.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		d, how, err := ReadGuessed([]string{path}, Options{Resample: "1d"})
		if err != nil || how.Time != "ts" || how.Observe[0] != "sales" {
			t.Errorf("%s: %+v, %v", name, how, err)
			continue
		}
		e := d.Episodes[0]
		for s := range 3 {
			day := int64(firstEpoch/86400 + s)
			sum := 0.0
			for _, v := range means[day] {
				sum += v
			}
			if got, want := e.Observations[s], float32(sum/float64(len(means[day]))); got != want {
				t.Errorf("%s: the mean of day %d is %v, want %v", name, s, got, want)
			}
			if got, want := e.Times.Text(s)[0], fmt.Sprint(day*86400*unit); got != want {
				t.Errorf("%s: day %d begins at %s, want %s", name, s, got, want)
			}
		}
		d = readAs(t, Options{Time: "ts", Observe: []string{"sales"}, Resample: "1w"}, b.String()+fmt.Sprintf("%d,7\n", (firstEpoch+9*86400)*unit))
		if got, want := d.Episodes[0].Times.Text(0)[0], fmt.Sprint((firstEpoch/86400-1)*86400*unit); got != want {
			t.Errorf("%s: the week begins at %s, want Monday, %s", name, got, want)
		}
	}
}

// TestGuess_LargeNumbersAreNoTimes: only a name tells numbers that count from 1970 from others as large.
func TestGuess_LargeNumbersAreNoTimes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"ts": "ts", "created_at": "created_at", "unixtime": "unixtime", "people": "", "sat": ""} {
		var b strings.Builder
		b.WriteString("sales," + name + "\n")
		for i := range 20 {
			fmt.Fprintf(&b, "%d,%d\n", i%7, firstEpoch+3600*i+i*i%5)
		}
		path := filepath.Join(t.TempDir(), "d.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if how, err := Guess([]string{path}, Options{}); err != nil || how.Time != want {
			t.Errorf("%s: the time is %q, %v; want %q", name, how.Time, err, want)
		}
	}
}

// TestRead_ResampledArrays: steps of arrays are averaged as rows of a table are, with what belongs to them.
func TestRead_ResampledArrays(t *testing.T) {
	t.Parallel()
	file := npz(t,
		named{"y", []int{2, 4, 1}, []float64{1, 3, 5, 7, 2, 4, 6, 8}},
		named{"u", []int{2, 4, 1}, []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		named{"z", []int{2, 4}, []float64{0, 1, 1, 2, 0, 0, 1, 1}},
		named{"t", []int{2, 4}, []float64{0.1, 0.4, 1.2, 3.9, 10, 11.2, 11.3, 11.4}},
	)
	d := mustRead(t, Options{Resample: "1"}, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz"))
	e := d.Episodes[0]
	equal(t, "means", e.Observations, []float32{2, 5, 0, 7})
	equal(t, "mask", e.Mask, []float32{1, 1, 0, 1})
	equal(t, "controls hold", e.Controls, []float32{0, 3, 3, 4})
	equal(t, "modes hold", e.Modes, []int32{1, 1, 1, 2})
	if e.T != 4 || d.Spec.DT != 1 || e.Times.Text(4)[0] != "4.1" {
		t.Errorf("%d steps of %v, then %s", e.T, d.Spec.DT, e.Times.Text(4)[0])
	}
	equal(t, "another episode", d.Episodes[1].Observations, []float32{2, 6})
	if !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "episode 0: the even grid has 1 step without a row") }) {
		t.Errorf("notes %v", d.Notes)
	}
}
