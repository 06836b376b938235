package figure_test

import (
	"math"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

// drawn is what a protocol found, as vectors.
func drawn(t *testing.T, picture any) string {
	t.Helper()
	f, ok := figure.Of(eval.Findings{Picture: picture}, nil)
	if !ok {
		t.Fatalf("nothing is drawn of %T", picture)
	}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return string(svg)
}

// TestSwitches_OfAModelThatDiverges: a cell whose mean weights are no numbers is drawn as one that nobody was in, and
// the others as ever.
func TestSwitches_OfAModelThatDiverges(t *testing.T) {
	r, want := madeSwitches(), madeSwitches()
	const cell = 2000
	want.Maps[0].Count[cell] = 0
	for i := range 3 {
		r.Maps[0].Mean[3*cell+i], want.Maps[0].Mean[3*cell+i] = math.NaN(), math.NaN()
	}
	if drawn(t, r) != drawn(t, want) {
		t.Error("one cell changes the whole map")
	}
}

// TestLatent_OfAStateThatDiverges: a point that has no place is left out, and the others are drawn as without it.
func TestLatent_OfAStateThatDiverges(t *testing.T) {
	r, want := madeLatent(), madeLatent()
	r.Planes[0].Points[0][1], want.Planes[0].Points = math.NaN(), want.Planes[0].Points[1:]
	if drawn(t, r) != drawn(t, want) {
		t.Error("one point changes the whole plane")
	}
	r.Planes[0].Points = r.Planes[0].Points[:1]
	if svg := drawn(t, r); !strings.Contains(svg, ">0.5</text>") {
		t.Error("without a point that has a place the axes have no marks")
	}
}

// TestLatent_OfSeveralBodies: a line is that of a base system of one of the switches, and says of which.
func TestLatent_OfSeveralBodies(t *testing.T) {
	r := madeLatent()
	if svg := drawn(t, r); !strings.Contains(svg, ">4</text>") || strings.Contains(svg, "numbers: switch") {
		t.Error("the systems of one switch are not numbered")
	}
	r.Systems = 2
	if svg := drawn(t, r); strings.Contains(svg, ">4</text>") || !strings.Contains(svg, ">2, 2</text>") ||
		!strings.Contains(svg, "numbers: switch") {
		t.Error("the figure has a fourth base system, of two")
	}
}

// TestFHN_FanThatDiverges: the axes of a fan are those of the truth where quantiles are no numbers.
func TestFHN_FanThatDiverges(t *testing.T) {
	texts := func(v float64) int {
		path := [][2]float64{{v, v}, {1, 1}}
		return strings.Count(drawn(t, eval.FHNDrawing{
			Report: eval.FHNReport{Options: eval.DefaultFHNOptions()},
			Picture: eval.FHNPicture{
				Fan: eval.FHNFan{
					Start: 1, Levels: []float64{.05, .25, .5, .75, .95}, DT: .1,
					Truth:     [][2]float64{{0, 0}, {1, 1}, {2, 1}, {1, 0}},
					Quantiles: [][][2]float64{path, path, path, path, path},
				},
				Portrait: eval.FHNPortrait{System: newAlmost(t).env},
			},
		}), "<text")
	}
	if got, want := texts(math.NaN()), texts(1); got != want {
		t.Errorf("%d labels and marks, want %d", got, want)
	}
}

// TestRecorded_ErrorsInSmallUnits: errors of currents in amperes have an axis that holds them.
func TestRecorded_ErrorsInSmallUnits(t *testing.T) {
	r := madeRecordings()
	for i := range r.Scores {
		for k := range r.Scores[i].Squared {
			r.Scores[i].Squared[k].Value *= 1e-16
		}
	}
	for k := range r.Horizon {
		for _, e := range []*eval.Estimate{&r.Model[k], &r.Persistence[k], &r.Linear[k]} {
			e.Value, e.SE = e.Value*1e-16, e.SE*1e-16
		}
	}
	if svg := drawn(t, r); !strings.Contains(svg, ">1e−17</text>") {
		t.Error("the axis has no mark at 1e−17")
	}
}
