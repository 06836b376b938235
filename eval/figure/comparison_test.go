package figure

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestComparison_SaysWhichSeedsCount: where some seeds are not finite, the mean is said to be that of the others.
func TestComparison_SaysWhichSeedsCount(t *testing.T) {
	l := ComparisonLine{Name: "m", X: []float64{1, 2, 3}, Seeds: [][]float64{{1, 2, math.NaN()}, {3, math.Inf(1), math.NaN()}}}
	var rows []string
	for _, r := range (ComparisonPanel{Lines: []ComparisonLine{l}}).table().Rows {
		rows = append(rows, fmt.Sprint(r.Name, r.Values))
	}
	if want := []string{"m[1 2 1 3]", "m, 1 of 2 seeds finite[2 2 2 2]"}; !slices.Equal(rows, want) {
		t.Errorf("%q, want %q", rows, want)
	}
	if list := l.partial(); len(list) != 1 || list[0].x != 2 {
		t.Errorf("marked are %v, want the mean at 2", list)
	}
}

// TestComparison_LongNames: the key has room for the longest name.
func TestComparison_LongNames(t *testing.T) {
	width := func(name string) float64 {
		lines := []ComparisonLine{{Name: name, X: []float64{1, 2}, Seeds: [][]float64{{1, 2}}}}
		return float64(Comparison{Panels: []ComparisonPanel{{Lines: lines}}}.Figure().width)
	}
	const long = "Ours (deterministic, a switch for each agent)"
	panel := width("LSTM") - 132
	if needed := float64(textStyle(textSize, ink).Width(long)); width(long)-panel < float64(columnGap+sampleWidth+sampleGap)+needed {
		t.Errorf("the figure is %.0f points wide, %.0f of them for panels, and the name needs %.0f", width(long), panel, needed)
	}
}
