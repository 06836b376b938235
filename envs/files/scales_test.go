package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// readText reads a data set from the text of a CSV file.
func readText(t *testing.T, text string) *Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Read([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// twoUnits has two recordings of which the second is the first in other units.
func twoUnits(t *testing.T) *Dataset {
	t.Helper()
	var b strings.Builder
	b.WriteString("episode,t,y\n")
	for _, unit := range []float64{1, 1e4} {
		for s := range 40 {
			fmt.Fprintf(&b, "r%g,%d,%.12g\n", unit, s, unit*(7+math.Sin(float64(s))))
		}
	}
	return readText(t, b.String())
}

// TestMeasureEach: recordings that differ in their unit alone are the same data, held-out steps included, and are the
// same as before after the way back. A recording that training does not see is a fault.
func TestMeasureEach(t *testing.T) {
	d := twoUnits(t)
	divided, err := d.SplitByTime(Fractions{Validation: 0.1, Test: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	split, err := divided.Split(1, Fractions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := divided.MeasureEach(split.Training)
	if err != nil {
		t.Fatal(err)
	}
	scaled := n.Apply(divided)
	for i := range 3 {
		one, other := scaled.Episodes[i].Observations, scaled.Episodes[i+3].Observations
		for j := range one {
			if math.Abs(float64(one[j]-other[j])) > 1e-4 || math.Abs(float64(one[j])) > 3 {
				t.Fatalf("part %d, step %d: %v and %v", i, j, one[j], other[j])
			}
		}
	}
	whole := Normalisation{}.Apply(divided)
	for i, e := range n.Invert(scaled).Episodes {
		for j, v := range e.Observations {
			if want := whole.Episodes[i].Observations[j]; math.Abs(float64(v/want-1)) > 1e-6 {
				t.Fatalf("episode %d, step %d: %v, want %v", i, j, v, want)
			}
		}
	}
	if _, err := d.MeasureEach([]int{0}); !errors.Is(err, ErrData) {
		t.Errorf("a recording without training steps: %v", err)
	}
}

// TestNormalisation_OfRecordings: scales of recordings survive JSON, are refused where they do not fit, and are found
// for a recording that training did not see from the steps that are said, and no others.
func TestNormalisation_OfRecordings(t *testing.T) {
	d := twoUnits(t)
	n, err := d.MeasureEach([]int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := d.ParseNormalisation("n.json", text); err != nil || !reflect.DeepEqual(kept, n) {
		t.Errorf("ParseNormalisation = %+v, %v", kept, err)
	}
	if _, err := d.ParseNormalisation("n.json", []byte(`{"recordings":{"r1":{"mean":[0,0],"sd":[1,1]}}}`)); err == nil {
		t.Error("scales of two channels are taken for one")
	}
	other := *d
	other.Episodes = append([]Episode(nil), d.Episodes...)
	other.Episodes[1].Name = "new"
	if err := n.Covers(d); err != nil {
		t.Error(err)
	}
	if err := n.Covers(&other); err == nil {
		t.Error("a recording without a scale is not noticed")
	}
	own, known := n.For(&other, 2).Of("new")
	want := (1e4*7 + 1e4*(7+math.Sin(1))) / 2
	if !known || math.Abs(own.Observations.Mean[0]-want) > 1e-2 {
		t.Errorf("the scale of two steps is %+v, want the mean %g", own.Observations, want)
	}
	if _, known := n.Of("new"); known {
		t.Error("For changes what it is asked of")
	}
	s := Settings{Normalise: EachRecording, Split: "auto", Validation: 0.1, Test: 0.1}
	if divided, err := s.Divided(several(t, 12)); err != nil || len(divided.Episodes) != 36 {
		t.Errorf("recordings with own scales are not divided by time: %v", err)
	}
}

// several has so many recordings, enough to hold out whole ones.
func several(t *testing.T, n int) *Dataset {
	t.Helper()
	var b strings.Builder
	b.WriteString("episode,t,y\n")
	for i := range n {
		for s := range 40 {
			fmt.Fprintf(&b, "r%d,%d,%g\n", i, s, math.Sin(float64(s+i)))
		}
	}
	return readText(t, b.String())
}

// TestMeasureEach_OneNameOneRecording: recordings of two files that have one name would have one scale; a file without
// scales has none, whether its lists are there or not.
func TestMeasureEach_OneNameOneRecording(t *testing.T) {
	t.Parallel()
	text := "episode,y\n1,1\n1,2\n1,4\n"
	dir := write(t, map[string]string{"a.csv": text, "b.csv": text})
	d, err := Read([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.MeasureEach([]int{0, 1}); err == nil || !strings.Contains(err.Error(), "two recordings are called 1: ") {
		t.Errorf("got %v", err)
	}
	n, err := d.ParseNormalisation("n.json", []byte(`{"observations": {"mean": [], "sd": []}, "controls": {"mean": [], "sd": []}}`))
	if err != nil || n.Observations.SD != nil || n.Controls.Mean != nil {
		t.Errorf("got %+v, %v", n, err)
	}
}

// TestMeasureEach_Controls: controls that differ in their unit alone are the same, too; a switch and a level that does
// not vary keep the common scale. A series that training did not see is scaled in the same way.
func TestMeasureEach_Controls(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("episode,t,y,u_heat,u_on,u_level\n")
	for i, unit := range []float64{1, 1e4} {
		for s := range 40 {
			fmt.Fprintf(&b, "r%d,%d,%g,%g,%d,%d\n", i, s, math.Sin(float64(s)), unit*math.Cos(float64(s)), s/(20+15*i), 5+10*i)
		}
	}
	d := readText(t, b.String())
	n, err := d.MeasureEach([]int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	scaled := n.Apply(d)
	same := func(c int) bool {
		for s := 1; s < 40; s++ {
			one, other := scaled.Episodes[0].Controls[3*s+c], scaled.Episodes[1].Controls[3*s+c]
			if math.Abs(float64(one-other)) > 1e-4 || math.Abs(float64(one)) > 3 {
				return false
			}
		}
		return true
	}
	if !same(0) || same(2) {
		t.Errorf("heat and level are the same: %v, %v; want true, false", same(0), same(2))
	}
	for _, name := range []string{"r0", "r1"} {
		own, _ := n.Of(name)
		if c, common := own.Controls, n.Controls; c.SD[1] != common.SD[1] || c.Mean[2] != common.Mean[2] || c.SD[0] == common.SD[0] {
			t.Errorf("%s: %+v, all: %+v", name, c, common)
		}
	}
	var rows, controls [][]float64
	e := &d.Episodes[1]
	for s := range e.T {
		rows = append(rows, []float64{float64(e.Observations[s])})
		controls = append(controls, []float64{float64(e.Controls[3*s]), float64(e.Controls[3*s+1]), float64(e.Controls[3*s+2])})
	}
	want, _ := n.Of("r1")
	if got := n.OfRows(rows, controls); !reflect.DeepEqual(got.Controls, want.Controls) || !got.Fits(1, 3) || got.Fits(2, 3) {
		t.Errorf("another series has %+v, want %+v", got.Controls, want.Controls)
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := d.ParseNormalisation("n.json", text); err != nil || !reflect.DeepEqual(kept, n) {
		t.Errorf("ParseNormalisation = %+v, %v", kept, err)
	}
}

// TestUnsteady: the first channel of which no scale can be measured.
func TestUnsteady(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for want, rows := range map[int][][]float64{
		-1: {{1, 2}, {nan, 3}, {2, nan}}, 0: {{1, 2}, {nan, 3}, {1, 4}}, 1: {{1, nan}, {2, 5}},
	} {
		if got := Unsteady(rows, 2); got != want {
			t.Errorf("%v: channel %d, want %d", rows, got, want)
		}
	}
}

// TestOfRows_FarFromZero: a series that training did not see has the deviation that it varies by, however large its
// values are; one that does not vary has none.
func TestOfRows_FarFromZero(t *testing.T) {
	t.Parallel()
	n := Normalisation{Recordings: map[string]Scale{}}
	for _, offset := range []float64{0, 1e3, 1e8, -1e8, 1e12} {
		var rows [][]float64
		for s := range 40 {
			rows = append(rows, []float64{offset + 4*float64(s%2), offset + 0.1})
		}
		own := n.OfRows(rows, nil).Observations
		if own.SD[0] != 2 || own.Mean[0] != offset+2 || own.SD[1] != ConstantSD || math.Abs(own.Mean[1]-offset-0.1) > 1e-3 {
			t.Errorf("around %g: %+v", offset, own)
		}
	}
}

// TestFor_ConstantBeginning: a recording that training did not see, and that does not vary where it is seen, has the
// usual deviation of those of training, where their channel varies in any.
func TestFor_ConstantBeginning(t *testing.T) {
	t.Parallel()
	n := Normalisation{Recordings: map[string]Scale{
		"a": {Mean: []float64{0, 0}, SD: []float64{30, ConstantSD}}, "b": {Mean: []float64{0, 0}, SD: []float64{ConstantSD, ConstantSD}},
		"c": {Mean: []float64{0, 0}, SD: []float64{20, ConstantSD}}, "d": {Mean: []float64{0, 0}, SD: []float64{5000, ConstantSD}},
	}}
	d := readText(t, "episode,y1,y2\nnew,7,2\nnew,7,2\nnew,7,2\nnew,90,5\n")
	for what, own := range map[string]Scale{
		"in a backtest": n.For(d, 3).Recordings["new"], "in a forecast": n.OfRows([][]float64{{7, 2}, {7, 2}}, nil).Observations,
	} {
		if !slices.Equal(own.Mean, []float64{7, 2}) || !slices.Equal(own.SD, []float64{30, ConstantSD}) {
			t.Errorf("%s: %+v, want the median deviation of training, 30", what, own)
		}
	}
	chance := readText(t, "episode,y1,y2\nnew,9,2\nnew,11,2\nnew,9,2\nnew,11,5\n")
	for what, own := range map[string]Scale{
		"in a backtest": n.For(chance, 2).Recordings["new"], "in a forecast": n.OfRows([][]float64{{9, 2}, {11, 2}}, nil).Observations,
	} {
		if !slices.Equal(own.SD, []float64{1, ConstantSD}) {
			t.Errorf("%s: %+v, want the deviation that was measured, 1", what, own)
		}
	}
	if all := n.For(d, 0).Recordings["new"]; all.SD[0] < 30 || all.SD[0] > 40 {
		t.Errorf("a recording that varies has not its own deviation: %+v", all)
	}
}

// TestMeasureEach_FarFromEachOther: of recordings around values far from each other, each keeps its digits, as a whole,
// in parts and after transforms. The common scale is as if there were none to keep.
func TestMeasureEach_FarFromEachOther(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("episode,t,y,y2\n")
	for i, level := range []float64{1e8, 0, -1e7} {
		for s := range 40 {
			y := fmt.Sprintf("%.12g", level+math.Sin(float64(s)))
			if s == 5 {
				y = ""
			}
			fmt.Fprintf(&b, "r%d,%d,%s,%d\n", i, s, y, s%3)
		}
	}
	for _, transform := range []string{"", "y=diff"} {
		d := readAs(t, Options{Transform: transform}, b.String())
		if v := d.Episodes[0].Value(2); transform == "" && v != 100000000.841 {
			t.Errorf("the value of step 1 is %v", v)
		}
		divided, err := d.SplitByTime(Fractions{Validation: 0.1, Test: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		n, err := divided.MeasureEach([]int{0, 3, 6})
		if err != nil {
			t.Fatal(err)
		}
		other := n
		other.Recordings = map[string]Scale{}
		for _, n := range []Normalisation{n, other} {
			scaled := n.Apply(divided)
			for i := range 9 {
				e, zero := &scaled.Episodes[i], &scaled.Episodes[3+i%3]
				for j, v := range e.Observations {
					if math.Abs(float64(v-zero.Observations[j])) > 0.01 || math.Abs(float64(v)) > 3 || e.Mask[j] == 0 && v != 0 {
						t.Fatalf("%q: part %d, element %d: %v, around zero %v", transform, i, j, v, zero.Observations[j])
					}
				}
			}
		}
		all := d.Measure([]int{0, 1, 2})
		if common := all.Apply(d); transform == "" && common.Episodes[0].Observations[0] != common.Episodes[0].Observations[2] {
			t.Errorf("with the scale of all: %v", common.Episodes[0].Observations[:4])
		}
	}
}
