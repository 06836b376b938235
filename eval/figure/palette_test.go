package figure

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// sight is what eyes make of linear red, green and blue: normal ones, and those that lack the cones for long, middle or
// short waves (Machado, Oliveira and Fernandes, 2009).
var sight = map[string][3][3]float64{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"long":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"middle": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"short":  {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// seen is a colour in Oklab, in hundredths, as such eyes see it.
func seen(c color.NRGBA, by [3][3]float64) [3]float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	times := func(m [3][3]float64, v [3]float64) (r [3]float64) {
		for i := range m {
			r[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
		}
		return r
	}
	v := times(by, [3]float64{linear(c.R), linear(c.G), linear(c.B)})
	for i := range v {
		v[i] = min(max(v[i], 0), 1)
	}
	v = times([3][3]float64{
		{0.4122214708, 0.5363325363, 0.0514459929},
		{0.2119034982, 0.6806995451, 0.1073969566},
		{0.0883024619, 0.2817188376, 0.6299787005},
	}, v)
	for i := range v {
		v[i] = math.Cbrt(v[i])
	}
	v = times([3][3]float64{
		{0.2104542553, 0.7936177850, -0.0040720468},
		{1.9779984951, -2.4285922050, 0.4505937099},
		{0.0259040371, 0.7827717662, -0.8086757660},
	}, v)
	return [3]float64{100 * v[0], 100 * v[1], 100 * v[2]}
}

// TestDistinct_ForEveryEye: no two colours look alike. 2 is a difference that is just noticed.
func TestDistinct_ForEveryEye(t *testing.T) {
	if len(distinct) < 10 {
		t.Errorf("%d colours", len(distinct))
	}
	for eye, by := range sight {
		for i, a := range distinct {
			for j, b := range distinct[:i] {
				p, q := seen(a, by), seen(b, by)
				if d := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]); d < 7.5 {
					t.Errorf("%s: colours %d and %d differ by %.1f", eye, i, j, d)
				}
			}
		}
	}
}

// TestColours_AreThoseOfFigures: what the page is given is what figures are drawn with, for any number of regimes.
func TestColours_AreThoseOfFigures(t *testing.T) {
	for _, n := range []int{1, 8, 12} {
		track := Track{Name: "x", Truth: make([]float64, n)}
		line := Timeline{Tracks: []Track{track}}
		for k := range n {
			line.Regimes = append(line.Regimes, k)
		}
		svg, err := Timelines{Columns: []Timeline{line}, Regimes: n}.Figure().SVG()
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range Colours(n) {
			if strings.Count(string(svg), "fill:"+c) < 2 { // in the strip and in the key
				t.Errorf("%d regimes: %s of regime %d is missing", n, c, k+1)
			}
		}
	}
	if many := Colours(20); len(many) != 20 || many[3] == many[4] {
		t.Errorf("got %v", many)
	}
}

// TestTimelines_TruthAboveWhatWasFound: where the true regimes are known, they have a row of their own in the strip.
func TestTimelines_TruthAboveWhatWasFound(t *testing.T) {
	line := Timeline{Tracks: []Track{{Name: "x", Truth: []float64{1, 2, 3}}}, Regimes: []int{0, 0, 1}}
	for _, truth := range [][]int{nil, {0, 1, -1}} {
		line.True = truth
		svg, err := Timelines{Columns: []Timeline{line}, Regimes: 2}.Figure().SVG()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(svg), ">true<"); got != (truth != nil) {
			t.Errorf("truth %v: a row of its own: %t", truth, got)
		}
	}
}

// TestMarks_AsManyColoursAsModes: no two modes of the data look the same, however they are numbered.
func TestMarks_AsManyColoursAsModes(t *testing.T) {
	e := files.Episode{Modes: []int32{0, 8, 16, -1, 3, 8}}
	seen := map[color.Color]int32{}
	for _, m := range marks(&files.Dataset{Episodes: []files.Episode{{}, e}}) {
		for step, mode := range e.Modes {
			c := m.color(&e, step)
			if other, known := seen[c]; known && other != mode {
				t.Errorf("modes %d and %d are %v", other, mode, c)
			}
			seen[c] = mode
		}
	}
	if len(seen) != 5 {
		t.Errorf("5 modes have the colours %v", seen)
	}
}

// TestTimelines_OfBodies: each body has a row of regimes, in the picture and in the table.
func TestTimelines_OfBodies(t *testing.T) {
	line := Timeline{
		Tracks:  []Track{{Name: "x", Truth: []float64{1, 2, 3}}},
		Regimes: []int{0, 0, 1}, Others: [][]int{{1, 2, 2}, {3, 3, 3}},
	}
	f := Timelines{Columns: []Timeline{line}, Regimes: 4}.Figure()
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">body 1<", ">body 2<", ">body 3<"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%s is missing", want)
		}
	}
	for k, c := range Colours(4) {
		if strings.Count(string(svg), "fill:"+c) < 2 { // in the strip and in the key
			t.Errorf("%s of regime %d is missing", c, k+1)
		}
	}
	table := f.tables[0].table
	if last := table.Rows[2].Values; !slices.Equal(table.Columns[len(table.Columns)-2:], []string{"regime_of_body_2", "regime_of_body_3"}) ||
		!slices.Equal(last[len(last)-2:], []float64{2, 3}) {
		t.Errorf("%q: %v", table.Columns, last)
	}
}

// TestTimelines_WithoutChannels: regimes of images have a strip alone, with the title of the series.
func TestTimelines_WithoutChannels(t *testing.T) {
	svg, err := Timelines{Columns: []Timeline{{Title: "film", Regimes: []int{0, 1}, True: []int{0, 0}}}, Regimes: 2}.Figure().SVG()
	if err != nil || !strings.Contains(string(svg), ">film<") || !strings.Contains(string(svg), ">true<") {
		t.Errorf("%.200s, %v", svg, err)
	}
}
