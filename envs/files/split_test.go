package files

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
)

// usual divides episodes 80/10/10.
var usual = Fractions{Validation: 0.1, Test: 0.1}

// ramp is a data set of n episodes; episode i has i+2 steps.
func ramp(n int) *Dataset {
	d := &Dataset{}
	d.Spec.Observation = 1
	for i := range n {
		e := Episode{Part: Unassigned}
		e.T = i + 2
		e.Observations = make([]float32, e.T)
		d.Episodes = append(d.Episodes, e)
	}
	return d
}

func TestSplit_IsAPartitionBySeed(t *testing.T) {
	d := ramp(50)
	first, err := d.Split(7, usual)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Training) != 40 || len(first.Validation) != 5 || len(first.Test) != 5 {
		t.Errorf("sizes %d, %d, %d, want 40, 5, 5", len(first.Training), len(first.Validation), len(first.Test))
	}
	all := slices.Concat(first.Training, first.Validation, first.Test)
	slices.Sort(all)
	for i, e := range all {
		if i != e {
			t.Fatalf("episode %d is missing or in two parts: %v", i, all)
		}
	}
	again, _ := d.Split(7, usual)
	other, _ := d.Split(8, usual)
	if !reflect.DeepEqual(first, again) || reflect.DeepEqual(first, other) {
		t.Error("the split is not a function of the seed")
	}
	equal(t, "validation of seed 7", first.Validation, []int{18, 22, 33, 34, 42})
}

func TestSplit_SmallAndWrong(t *testing.T) {
	if s, err := ramp(3).Split(1, usual); err != nil || len(s.Training) != 1 || len(s.Validation) != 1 || len(s.Test) != 1 {
		t.Errorf("three episodes: %+v, %v", s, err)
	}
	if s, err := ramp(1).Split(1, Fractions{}); err != nil || len(s.Training) != 1 {
		t.Errorf("one episode, nothing held out: %+v, %v", s, err)
	}
	if _, err := ramp(2).Split(1, usual); err == nil {
		t.Error("two episodes were divided into three parts")
	}
	for _, f := range []Fractions{{-0.1, 0}, {0.5, 0.5}, {math.NaN(), 0}} {
		if _, err := ramp(9).Split(1, f); err == nil {
			t.Errorf("%+v was accepted", f)
		}
	}
	d := ramp(3)
	d.Episodes[1].Part = Training
	if _, err := d.Split(1, usual); err == nil {
		t.Error("a split of one episode of three was accepted")
	}
}

func TestWindows_EachOnce(t *testing.T) {
	d := ramp(6) // lengths 2 … 7
	w := d.Windows([]int{0, 3, 1, 5}, 3)
	var got [][2]int
	for k := range w.Len() {
		e, first := w.At(k)
		got = append(got, [2]int{e, first})
	}
	want := [][2]int{{3, 0}, {3, 1}, {3, 2}, {1, 0}, {5, 0}, {5, 1}, {5, 2}, {5, 3}, {5, 4}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := d.Windows([]int{0, 5}, 0).Len(); n != 2 {
		t.Errorf("%d whole episodes, want 2", n)
	}
	if n := d.Windows([]int{0}, 3).Len(); n != 0 {
		t.Errorf("%d windows in an episode that is too short", n)
	}
}

func TestNormalisation(t *testing.T) {
	d := readText1(t, "episode,y1,y2,u\n0,1,5,100\n0,3,5,2\n0,,5,4\n1,1000,1000,1000\n1,1000,1000,1000\n")
	n := d.Measure([]int{0})
	// By hand: y1 has 1 and 3, y2 is constant, u has 2 and 4; the control of the first step is none.
	want := Normalisation{Observations: Scale{Mean: []float64{2, 5}, SD: []float64{1, 1}}, Controls: Scale{Mean: []float64{3}, SD: []float64{1}}}
	if !reflect.DeepEqual(n, want) {
		t.Fatalf("Measure = %+v, want %+v", n, want)
	}
	scaled := n.Apply(d)
	equal(t, "observations", scaled.Episodes[0].Observations, []float32{-1, 0, 1, 0, 0, 0})
	equal(t, "controls", scaled.Episodes[0].Controls, []float32{0, -1, 1})
	equal(t, "the original", d.Episodes[0].Observations, []float32{1, 5, 3, 5, 0, 5})
	if back := n.Invert(scaled); !reflect.DeepEqual(back.Episodes, d.Episodes) {
		t.Errorf("Invert gave %+v, want %+v", back.Episodes, d.Episodes)
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := d.ParseNormalisation("n.json", text); err != nil || !reflect.DeepEqual(kept, n) {
		t.Errorf("ParseNormalisation = %+v, %v", kept, err)
	}
	for _, bad := range []string{"", "[]", `{"observations":{"mean":[1],"sd":[1]}}`, `{"controls":{"mean":[1],"sd":[0]}}`} {
		if _, err := d.ParseNormalisation("n.json", []byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// float32 rounding of a large constant must not be taken for a signal.
func TestMeasure_LargeConstant(t *testing.T) {
	d := ramp(1)
	d.Episodes[0].Observations = []float32{1e8, 1e8 + 8}
	if sd := d.Measure([]int{0}).Observations.SD[0]; sd != 1 {
		t.Errorf("deviation %v, want 1", sd)
	}
}

func TestParseNormalisation_LeavesImagesAlone(t *testing.T) {
	d := ramp(1)
	d.Image = [3]int{1, 1, 1}
	if n := d.Measure([]int{0}); !n.Observations.identity() {
		t.Errorf("images are scaled by %+v", n)
	}
	if _, err := d.ParseNormalisation("n.json", []byte(`{"observations":{"mean":[1],"sd":[1]}}`)); err == nil {
		t.Error("a scaling of images was accepted")
	}
}
