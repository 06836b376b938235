package figure

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
)

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

// TestPixel_MissingInOneChannel: a pixel of which one colour was not measured has none that is known.
func TestPixel_MissingInOneChannel(t *testing.T) {
	for missing := range 3 {
		e := &files.Episode{Episode: envs.Episode{Observations: []float32{1, 1, 1}}, Mask: []float32{1, 1, 1}}
		e.Observations[missing], e.Mask[missing] = 0, 0
		if got := pixel(e, 0, 3); got != vermilion {
			t.Errorf("without channel %d the pixel is %v", missing, got)
		}
	}
}

// TestFitLabel_LeavesTheData: however long the name of a channel is, its panel has room for the data.
func TestFitLabel_LeavesTheData(t *testing.T) {
	const width, height = 200, 76
	at := draw.New(vgsvg.New(width, height))
	for _, label := range []string{"y", "temperature", "Global active power of the building [kW]", strings.Repeat("ö", 999)} {
		p := newPlot(axis{"step", 0, 1, 5}, axis{label, 0, 1, 4})
		fitLabel(p, at)
		data := p.DataCanvas(at)
		if size := data.Size(); size.Y < height/2 || data.Min.Y < 0 || data.Max.Y > height {
			t.Errorf("%.40s: the data have %v of %d points", label, size.Y, height)
		}
		if got := p.Y.Label.Text; len(label) < 12 && got != label || !strings.HasPrefix(label, got[:1]) || !strings.HasSuffix(label, got[len(got)-1:]) {
			t.Errorf("%.40s is called %s", label, got)
		}
	}
}

// TestTimelines_LongTitles: a title ends where the next one begins.
func TestTimelines_LongTitles(t *testing.T) {
	title := strings.Repeat("measurements/of/a/campaign/", 3) + "1.csv"
	one := Timeline{Title: title, Tracks: []Track{{Name: "y", Truth: []float64{1, 2}}}}
	svg, err := Timelines{Columns: []Timeline{one, one, one}}.Figure().SVG()
	if err != nil {
		t.Fatal(err)
	}
	titles := regexp.MustCompile(`>(measure[^<]*…[^<]*1\.csv)<`).FindAllStringSubmatch(string(svg), -1)
	if len(titles) != 3 || textStyle(titleSize, ink).Width(titles[0][1]) > 3.1*vg.Inch {
		t.Errorf("titles %q", titles)
	}
}

// TestTimelines_HugeConstant: an axis has two ends, however far from zero a constant lies.
func TestTimelines_HugeConstant(t *testing.T) {
	for _, v := range []float64{1e20, -1e20} {
		one := Timeline{Tracks: []Track{{Name: "y", Truth: []float64{v, v}}}}
		svg, err := Timelines{Columns: []Timeline{one}}.Figure().SVG()
		if err != nil || !strings.Contains(string(svg), "e20<") {
			t.Errorf("%v: no mark, %v", v, err)
		}
	}
}

// TestTimelines_StepsBelowEachOther: a step is at the same place in every row, though only the last has marks that may
// stand over its edge.
func TestTimelines_StepsBelowEachOther(t *testing.T) {
	k := Track{Name: "y", Truth: []float64{1, 2}, Start: 2, Mean: make([]float64, 50)}
	one := Timeline{First: 100000, Tracks: []Track{k, k}}
	svg, err := Timelines{Columns: []Timeline{one, one, one}}.Figure().SVG()
	if err != nil {
		t.Fatal(err)
	}
	var at []string // of the dotted lines: a column of two rows after the other
	for _, m := range regexp.MustCompile(`(?s)<path d="M([\d.]+),[^>]*stroke-dasharray:2,2`).FindAllStringSubmatch(string(svg), -1) {
		at = append(at, m[1])
	}
	slices.Sort(at)
	if len(at) != 6 || at[0] != at[1] || at[2] != at[3] || at[4] != at[5] {
		t.Errorf("the dotted lines are at %q", at)
	}
}
