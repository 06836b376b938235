package figure

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
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

// TestComparison_ManyNames: the key has room for all of them, and explains no bands where there are none.
func TestComparison_ManyNames(t *testing.T) {
	var lines []ComparisonLine
	for i := range 40 {
		lines = append(lines, ComparisonLine{Name: fmt.Sprint("run", i), X: []float64{1, 2}, Seeds: [][]float64{{1, 2}}})
	}
	svg, err := Comparison{Panels: []ComparisonPanel{{Lines: lines}}}.Figure().SVG()
	if err != nil || strings.Contains(string(svg), "seeds") {
		t.Errorf("a key of seeds, %v", err)
	}
	last := regexp.MustCompile(`<text x="[^"]*" y="([-\d.]+)"[^>]*>run39<`).FindSubmatch(svg)
	if last == nil || !strings.HasPrefix(string(last[1]), "-") { // y grows downwards from the lower edge
		t.Errorf("the last name stands at %q, below the page", last)
	}
}

// TestComparison_AxesOfFewValues: a loss that was measured once, after update 60, does not stand between 59.999 and
// 60.001, and small values fill their axis.
func TestComparison_AxesOfFewValues(t *testing.T) {
	p := ComparisonPanel{}
	for _, v := range []float64{60, 1e20, 0} {
		x, _ := p.axes([][]point{{{v, 1}}})
		if x.min > v-0.5 || x.max < v+0.5 || x.max-x.min > 2*max(v, 1) {
			t.Errorf("the axis of %v reaches from %v to %v", v, x.min, x.max)
		}
	}
	for _, tick := range ticks(6).Ticks(30, 90) {
		if strings.Contains(tick.Label, ".") {
			t.Errorf("update %s", tick.Label)
		}
	}
	if _, y := p.axes([][]point{{{1, 1e-6}, {2, 3e-6}}}); y.max-y.min > 3e-6 {
		t.Errorf("1e-6 to 3e-6 stand on an axis from %v to %v", y.min, y.max)
	}
	p.LogX = true
	if x, _ := p.axes([][]point{{{0.02, 1}}}); x.max-x.min < 0.5 || x.max-x.min > 1 {
		t.Errorf("one duration: decades from %v to %v", x.min, x.max)
	}
}
