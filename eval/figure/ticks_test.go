package figure

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

func labelsOf(marks []plot.Tick) []string {
	var list []string
	for _, m := range marks {
		list = append(list, m.Label)
	}
	return list
}

// TestTicks_OfOneKind: an axis has at least two marks, and all its labels are written alike.
func TestTicks_OfOneKind(t *testing.T) {
	for _, c := range []struct {
		marks []plot.Tick
		want  []string
	}{
		{ticks(5).Ticks(0, 1), []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{ticks(1).Ticks(0.2, 1.4), []string{"0.5", "1.0"}},
		{ticks(2).Ticks(-6.4e7, -5.8e7), []string{"−6.4e7", "−6.2e7", "−6.0e7", "−5.8e7"}},
		{ticks(2).Ticks(0, 4e-5), []string{"0", "2e−5", "4e−5"}},
		{decades{}.Ticks(-5, -3.5), []string{"0.00001", "0.00002", "0.00005", "0.0001", "0.0002"}},
		{decades{}.Ticks(-7, -4), []string{"1e−7", "2e−7", "5e−7", "1e−6", "2e−6", "5e−6", "1e−5", "2e−5", "5e−5", "1e−4"}},
		{decades{}.Ticks(-2, 0), []string{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"}},
		{ticks(5).Ticks(1, 1), nil},
		// Ranges of one or two units in the last place, of large numbers and of the smallest.
		{ticks(5).Ticks(0.3, 0.30000000000000004), nil},
		{ticks(5).Ticks(1e300, math.Nextafter(1e300, 2e300)), nil},
		{ticks(5).Ticks(0, math.SmallestNonzeroFloat64), nil},
	} {
		if got := labelsOf(c.marks); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestLines_FitTheirWidth: a caption is broken between words, and none is lost.
func TestLines_FitTheirWidth(t *testing.T) {
	words := "a recording and what the model expects of the next hours, which knows nothing of the weather"
	list := lines(words, 160)
	if len(list) < 2 {
		t.Errorf("%q is not broken", list)
	}
	joined := ""
	for _, l := range list {
		joined += " " + l
		if w := textStyle(textSize, ink).Width(l); w > 160 {
			t.Errorf("%q is %v wide", l, w)
		}
	}
	if joined[1:] != words {
		t.Errorf("got %q", joined[1:])
	}
	c := draw.New(vgsvg.New(176, 100))
	if h := captionHeight(c, words); h < vg.Length(len(list))*rowHeight {
		t.Errorf("%d lines in %v", len(list), h)
	}
}

func TestLetter_OfAPanelAlone(t *testing.T) {
	if letter(0, 1) != "" || letter(0, 2) != "a" || letter(1, 2) != "b" {
		t.Errorf("got %q, %q", letter(0, 1), letter(1, 2))
	}
}

// TestPlainUnit: a coordinate in multiples of a unit is drawn in the unit.
func TestPlainUnit(t *testing.T) {
	for label, want := range map[string]string{"elbow angle (3 rad)": "elbow angle (rad)", "θ (rad)": "θ (rad)", "x": "x"} {
		factor, got := plainUnit(label)
		if got != want || (factor == 3) != (label != want) {
			t.Errorf("%s: %v %s", label, factor, got)
		}
	}
}
