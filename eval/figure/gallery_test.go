package figure_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

var update = flag.Bool("update", false, "write the gallery of figures into docs")

// exhibit is a figure of the gallery, and what draws it.
type exhibit struct {
	name, from string
	figure     figure.Figure
}

// gallery has every figure that the program draws, from invented data.
func gallery(t testing.TB) []exhibit {
	t.Helper()
	data := dataFigures(t)
	m, err := maze.New(maze.A())
	of := func(picture any, env envs.Env) figure.Figure {
		f, ok := figure.Of(eval.Findings{Picture: picture}, env)
		if !ok {
			t.Fatalf("nothing is drawn of %T", picture)
		}
		return f
	}
	if err != nil {
		t.Fatal(err)
	}
	return []exhibit{
		{"fhn", "`eval NAME` of the oscillator", build(t)},
		{"table1", "`eval NAME --protocol table1`, of maze and reacher", of(madeTable1(), nil)},
		{"trajectories", "`eval NAME --protocol trajectories` over time", of(madeTrajectories(nil), nil)},
		{"paths", "`eval NAME --protocol trajectories` of bodies in a plane", of(madeTrajectories([][2]int{{0, 1}}), m)},
		{"velocity", "`eval NAME --protocol velocity`", of(madeVelocity(), nil)},
		{"latent", "`eval NAME --protocol latent`", of(madeLatent(), nil)},
		{"switches", "`eval NAME --protocol switches` of bodies in a plane", of(madeSwitches(), m)},
		{"pixels", "`eval NAME --protocol pixels`", of(madePixels(), nil)},
		{"recordings", "`eval NAME` and `backtest NAME` on recordings", of(madeRecordings(), nil)},
		{"forecast", "`forecast NAME --out F.svg`", madeForecast().Figure()},
		{"segment", "`segment NAME --out F.svg`, beside labels", madeSegments().Figure()},
		{"comparison", "`paper`, models and seeds beside published figures", madeComparison().Figure()},
		{"maze", "`data show` of maze", data["maze"]},
		{"arm", "`data show` of reacher", data["arm"]},
		{"hopper", "`data show` of hopper", data["hopper"]},
		{"images", "`data show` of ball", data["images"]},
		{"recorded", "`data show` of own files", data["own"]},
	}
}

func wave(k int, period, noise float64) float64 {
	return math.Sin(2*math.Pi*float64(k)/period) + noise*math.Sin(12.9898*float64(k))*math.Cos(78.233*float64(k))
}

// rising are n estimates from low on, with a standard error of a tenth.
func rising(n int, low, step float64) []eval.Estimate {
	list := make([]eval.Estimate, n)
	for k := range list {
		v := low * math.Exp(step*float64(k))
		list[k] = eval.Estimate{Value: v, SE: v / 10}
	}
	return list
}

func madeTable1() eval.Table1Report {
	const n = eval.Table1Horizon
	row := func(name, key string, low, step float64) eval.Table1Row {
		e := rising(n, low, step)
		return eval.Table1Row{Name: name, Key: key, Point: e, Mean: e, Sum: e, Ratio: e, RatioCumulative: e, RatioFirst: e}
	}
	return eval.Table1Report{Environment: "maze", Calibration: rising(n, 0.8, 0.03), Rows: []eval.Table1Row{
		row("model", "", 0.0004, 0.25), row("  one rollout", "one_rollout", 0.0007, 0.26), row("linear least squares", "linear", 0.02, 0.2), row("Static", "static", 1, 0),
	}}
}

func madeTrajectories(bodies [][2]int) eval.TrajectoryReport {
	r := eval.TrajectoryReport{Environment: "maze", Bodies: bodies, Horizon: 40}
	r.Task.Prefix, r.Task.Samples = 10, 12
	for e := range 2 {
		s := eval.Trajectory{Episode: e + 1}
		at := func(k int, drift float64) []float64 {
			return []float64{0.7 * wave(k+7*e, 44+drift, 0), 0.6 * wave(k+13*e, 31-drift, 0)}
		}
		for k := range r.Task.Prefix + r.Horizon {
			s.Truth = append(s.Truth, at(k, 0))
		}
		for k := range r.Horizon {
			s.Mean = append(s.Mean, at(k+r.Task.Prefix, 0.4))
		}
		for n := range r.Task.Samples {
			var path [][]float64
			for k := range r.Horizon {
				path = append(path, at(k+r.Task.Prefix, 0.4+0.35*(float64(n)-5.5)))
			}
			s.Paths = append(s.Paths, path)
		}
		r.Shown = append(r.Shown, s)
	}
	return r
}

func madeVelocity() eval.VelocityReport {
	r := eval.VelocityReport{Environment: "reacher", ScatterName: "the latent state", Rates: []envs.Column{{Name: "shoulder velocity", Unit: "rad/s"}, {Name: "elbow velocity", Unit: "rad/s"}}}
	r.Probes = []eval.VelocityProbe{{Name: "the latent state", Key: "z", R2: []eval.Estimate{{Value: 0.93}, {Value: 0.81}}}}
	for j := range r.Rates {
		var points [][2]float64
		for k := range 400 {
			v := 3 * wave(k, 37, 0.3)
			points = append(points, [2]float64{v, v + (0.3+0.4*float64(j))*wave(k, 3.1, 1)})
		}
		r.Scatter = append(r.Scatter, points)
	}
	return r
}

func madeLatent() eval.LatentReport {
	r := eval.LatentReport{Environment: "reacher", M: 4, Systems: 4}
	var points [][3]float64
	for k := range 500 {
		points = append(points, [3]float64{wave(k, 41, 0.1), wave(k, 29, 0.1), wave(k, 41, 0)})
	}
	r.Planes = []eval.LatentPlane{{Rate: envs.Column{Name: "elbow velocity", Unit: "rad/s"}, Dimensions: [2]int{2, 5}, Correlations: [2]float64{0.91, -0.2}, Points: points}}
	curve := eval.ActivationCurve{Over: "elbow angle (3 rad)"}
	for bin := range 24 {
		at := -1 + (float64(bin)+0.5)/12
		weights := make([]float64, r.M)
		for i := range weights {
			weights[i] = math.Exp(-8 * math.Pow(at-(float64(i)-1.5)/1.6, 2))
		}
		curve.At, curve.Count, curve.Mean = append(curve.At, at), append(curve.Count, 40), append(curve.Mean, weights)
	}
	r.Curves = []eval.ActivationCurve{curve}
	return r
}

func madeSwitches() eval.SwitchReport {
	const bins = eval.MapBins
	r := eval.SwitchReport{Environment: "maze", M: 3, Systems: 3, Share: rising(3, 0.3, 0)}
	m := eval.SwitchMap{Count: make([]int, bins*bins), Mean: make([]float64, bins*bins*3)}
	for i := range m.Count {
		x, y := float64(i%bins)/bins, float64(i/bins)/bins
		m.Count[i] = 5
		m.Mean[3*i], m.Mean[3*i+1], m.Mean[3*i+2] = x*y, (1-x)*y, 1-y
	}
	r.Maps = []eval.SwitchMap{m}
	return r
}

func madePixels() eval.PixelReport {
	r := eval.PixelReport{Environment: "ball", Image: [3]int{16, 16, 1}}
	picture := func(k int, blur float64) []float32 {
		image := make([]float32, 256)
		for i := range image {
			dx, dy := float64(i%16)-8-5*wave(k, 17, 0), float64(i/16)-8-5*wave(k, 23, 0)
			image[i] = float32(1 / (1 + math.Exp((math.Hypot(dx, dy)-3)/blur)))
		}
		return image
	}
	s := eval.PixelStrip{Episode: 1, Seen: picture(0, 0.1)}
	for k := range eval.PixelHorizon {
		s.Truth, s.Mean, s.Single = append(s.Truth, picture(k+1, 0.1)), append(s.Mean, picture(k+1, 0.1+0.1*float64(k))), append(s.Single, picture(k+1+k/4, 0.1))
	}
	r.Strips = []eval.PixelStrip{s}
	return r
}

func madeRecordings() eval.RecordedReport {
	const n = 12
	r := eval.RecordedReport{Horizon: n, Starts: 40, Episodes: 3, Model: rising(n, 0.01, 0.2), Persistence: rising(n, 0.1, 0.2), Linear: rising(n, 0.05, 0.2), OverPersistence: rising(n, 0.1, 0)}
	r.Options.Names, r.Options.DT, r.Options.TimeUnit, r.Options.Samples, r.Options.Prefix = []string{"load", "temperature"}, 1, "hour", 32, 24
	flat := func(v float64) []float64 {
		list := make([]float64, n)
		for k := range list {
			list[k] = v * math.Sqrt(float64(k+1))
		}
		return list
	}
	for i, name := range []string{"model", "persistence", "linear least squares", "seasonal naive"} {
		s := eval.Score{Name: name, MAE: flat(0.1), RMSE: flat(0.1 + 0.08*float64(i)), MASE: flat(1), CRPS: flat(0.1)}
		for _, v := range s.RMSE {
			s.Squared = append(s.Squared, eval.Estimate{Value: v * v, SE: math.NaN()})
		}
		for l := range eval.Levels {
			share := make([]float64, n)
			for k := range share {
				share[k] = eval.Levels[l] - 0.004*float64(k)
			}
			s.Coverage = append(s.Coverage, share)
		}
		r.Scores = append(r.Scores, s)
	}
	for range n {
		r.RMSE = append(r.RMSE, []float64{0.1, 0.2})
	}
	fan := &eval.Fan{Name: "week 12", First: 100, Start: 148, M: 3}
	for k := range 72 {
		fan.Truth = append(fan.Truth, []float64{wave(k, 24, 0.2), wave(k, 40, 0.1)})
		fan.Regimes = append(fan.Regimes, k/9%3)
		if k >= 48 {
			w := 0.06 * math.Sqrt(float64(k-47))
			at := []float64{0.95 * wave(k, 24, 0), wave(k, 40, 0)}
			fan.Mean, fan.Lower, fan.Upper = append(fan.Mean, at), append(fan.Lower, []float64{at[0] - w, at[1] - w}), append(fan.Upper, []float64{at[0] + w, at[1] + w})
		}
	}
	r.Fan = fan
	return r
}

func madeForecast() figure.Timelines {
	k := figure.Track{Name: "load (MW)", Start: 60}
	for i := range 60 {
		k.Truth = append(k.Truth, -6e7+2e6*wave(i, 24, 0.2))
	}
	for i := range 24 {
		v := -6e7 + 2e6*wave(60+i, 24, 0)
		k.Mean, k.Lower, k.Upper = append(k.Mean, v), append(k.Lower, v-1e5*float64(i+1)), append(k.Upper, v+1e5*float64(i+1))
	}
	return figure.Timelines{
		Name: "forecast", Means: "mean of the forecast", Bands: "90 % interval", Columns: []figure.Timeline{{Title: "recording 1", Unit: 1, Of: "hour", Tracks: []figure.Track{k}}},
		Caption: "a recording and what the model expects of the next 24 hours; the forecast knows what is left of the dotted line, and nothing of the weather",
	}
}

func madeSegments() figure.Timelines {
	s := figure.Timeline{Title: "recording 1"}
	k := figure.Track{Name: "x"}
	for i := range 160 {
		regime := i / 32 % 3
		k.Truth = append(k.Truth, float64(regime)+0.3*wave(i, 9, 0.5))
		s.True, s.Regimes = append(s.True, regime), append(s.Regimes, (i+3)/32%3)
	}
	s.Tracks = []figure.Track{k}
	return figure.Timelines{Name: "segment", Columns: []figure.Timeline{s}, Regimes: 3, Caption: "regimes that were found, below those of the labels"}
}

func madeComparison() figure.Comparison {
	x := []float64{1, 5, 10, 20, 30}
	line := func(name string, of float64) figure.ComparisonLine {
		l := figure.ComparisonLine{Name: name, X: x}
		for seed := range 3 {
			var values []float64
			for i := range x {
				values = append(values, of*math.Pow(1.6+0.1*float64(seed), float64(i)))
			}
			l.Seeds = append(l.Seeds, values)
		}
		return l
	}
	ours := line("model", 2e-5)
	ours.Paper = eval.Published{At: x, Values: []float64{4e-5, 6e-5, 1e-4, 2e-4, 4e-4}}
	return figure.Comparison{Name: "comparison", Panels: []figure.ComparisonPanel{{
		Name: "error", Title: "Error over the horizon", X: "horizon k (steps)", Y: "squared error", LogY: true,
		Lines: []figure.ComparisonLine{ours, line("linear", 2e-3)},
	}}}
}

// galleryFolder is where the pictures of the gallery lie.
const galleryFolder = "../../docs/gallery"

// TestGallery draws every figure as vectors. With -update it writes docs/gallery.md and its pictures.
func TestGallery(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# Every figure\n\nEvery figure that Switchyard draws, from invented data. Each is written as PNG and SVG, with its numbers as CSV.\n" +
		"To make this page and its pictures again:\n\n```\ngo test ./eval/figure -run TestGallery -update\n```\n")
	for _, e := range gallery(t) {
		svg, err := e.figure.SVG()
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		judge(t, e.name, string(svg))
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n![%s](gallery/%s.svg)\n", strings.ToUpper(e.name[:1])+e.name[1:], e.from, e.name, e.name)
		if !*update {
			if _, err := os.Stat(filepath.Join(galleryFolder, e.name+".svg")); err != nil {
				t.Errorf("the gallery lacks %s: run this test with -update", e.name)
			}
			continue
		}
		if err := os.MkdirAll(galleryFolder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(galleryFolder, e.name+".svg"), svg, 0o644); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("FIGURE_DIR"); dir != "" {
			png, err := e.figure.PNG()
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, e.name+".png"), png, 0o644)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	path := filepath.Join(filepath.Dir(galleryFolder), "gallery.md")
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, page.Bytes()) {
		t.Errorf("%s is another one (%v): run this test with -update", path, err)
	}
}

var (
	svgSize = regexp.MustCompile(`viewBox="0 0 ([\d.]+) ([\d.]+)"`)
	svgText = regexp.MustCompile(`(?s)<text x="([-\d.]+)"[^>]*style="([^"]*)font-size:([\d.]+)px[^"]*"[^>]*>([^<]*)</text>`)
)

// judge finds texts that reach beyond the right edge of a page, and numbers that are written badly.
func judge(t *testing.T, name, svg string) {
	t.Helper()
	var width float64
	if size := svgSize.FindStringSubmatch(svg); size != nil {
		fmt.Sscan(size[1], &width)
	}
	for _, m := range svgText.FindAllStringSubmatch(svg, -1) {
		var x, size float64
		fmt.Sscan(m[1], &x)
		fmt.Sscan(m[3], &size)
		if words := m[4]; x >= 0 && x+0.43*size*float64(len([]rune(words))) > width {
			t.Errorf("%s: %q begins at %.0f and does not fit into %.0f", name, words, x, width)
		}
		if regexp.MustCompile(`\de[-+]?0|[1-9]\d{6,}|\(\d+ rad\)`).MatchString(m[4]) {
			t.Errorf("%s: the text %q", name, m[4])
		}
	}
}
