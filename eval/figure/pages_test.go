package figure

import (
	"bytes"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
)

// curveOfDurations are two made-up series of runs.
func curveOfDurations() []DTSeries {
	var list []DTSeries
	for i, name := range []string{"Normal", "Concrete, softmax", "Concrete, sigmoid"} {
		s := DTSeries{Name: name}
		for _, dt := range eval.DTPaperSteps() {
			e := 0.4 * math.Pow(dt, 0.6+0.1*float64(i))
			s.Runs = append(s.Runs, eval.DTReport{DT: dt, Model: eval.Estimate{Value: e, SE: e / 20}, Static: eval.Estimate{Value: 3 * dt}, Ratio: eval.Estimate{Value: e / (3 * dt)}})
		}
		list = append(list, s)
	}
	return list
}

// TestDT_IsDrawn, the same bytes each time, with a row for each run.
func TestDT_IsDrawn(t *testing.T) {
	f := DT(curveOfDurations())
	one, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	two, err := DT(curveOfDurations()).SVG()
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("two drawings differ: %v", err)
	}
	for _, want := range []string{"Normal", "Concrete, sigmoid", "paper: Concrete", "duration of a step (s)", ">0.002<", ">0.1<"} {
		if !bytes.Contains(one, []byte(want)) {
			t.Errorf("%q is missing", want)
		}
	}
	if got := len(f.tables[0].table.Rows); got != 18 {
		t.Errorf("%d rows, want 18", got)
	}
}

// TestDecades_AreLegible: at least two marks, and no more than fit.
func TestDecades_AreLegible(t *testing.T) {
	for _, r := range [][2]float64{{0.9, 1.1}, {0.55, 0.95}, {1e-5, 1}, {0.003, 0.2}, {1e-9, 1e3}} {
		n := len(decades{}.Ticks(math.Log10(r[0]), math.Log10(r[1])))
		if n < 2 || n > 14 {
			t.Errorf("%v: %d marks", r, n)
		}
	}
}

func TestLogRange_LeavesOutWhatHasNoLogarithm(t *testing.T) {
	lo, hi := logRange(1e-6, []point{{1, 0}, {2, math.NaN()}, {3, math.Inf(1)}, {4, 0.1}, {5, 10}})
	if lo > -1 || lo < -1.3 || hi < 1 || hi > 1.3 {
		t.Errorf("got %v to %v, want about −1 to 1", lo, hi)
	}
	if lo, hi = logRange(1e-6, nil); !(lo < hi) {
		t.Errorf("nothing: %v to %v", lo, hi)
	}
}
