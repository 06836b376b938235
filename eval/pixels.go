package eval

import (
	"fmt"
	"math"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// PixelHorizon is how many images the protocol Pixels predicts.
const PixelHorizon = 15

// PixelHorizons are the numbers of predicted images of the published figures.
func PixelHorizons() []int { return []int{1, 5, 10, 15} }

// PixelRow is the share of pixels that a predictor gets wrong, from 0 to 1. An element of a list belongs to an
// element of PixelHorizons. Key ends the names of its metrics; the model's is empty.
type PixelRow struct {
	Name, Key string
	Frames    []Estimate // mean over the first n predicted images, at PixelHorizons: the measure of the paper
	Last      []Estimate // in the n-th alone
}

// PixelStrip is one test episode as it was and as it is predicted.
type PixelStrip struct {
	Episode             int         // index among the test episodes
	Seen                []float32   // the last image of the prefix
	Truth, Mean, Single [][]float32 // [PixelHorizon]; probabilities of a pixel, and those along one rollout
	Smoothed            [][]float32 // given the image after the last, too; nil: the family does not smooth
}

// PixelReport is the result of the protocol Pixels. Image is height, width and channels.
type PixelReport struct {
	Task        Task
	Environment string
	Image       [3]int
	Rows        []PixelRow // the model first
	Strips      []PixelStrip
	Notes       []string
}

const (
	pixelStrips = 3   // episodes that are drawn
	lit         = 0.5 // the probability, or the value, above which a pixel is lit
)

// Pixels measures the prediction of binary images: the share of pixels that are wrong when those more likely than
// not are lit (Becker-Ehmck et al. 2019, section "Image ball in a box"). The first images of test episodes are
// filtered, up to 15 that follow predicted. A family that smooths is also shown, for each n, the one image after
// the n that are asked for; as the authors of KVAE do, all up to the sixteenth, which is the same for n = 15; and
// those that are asked for themselves, which is what coding costs. It returns ErrOptions or ErrDims, joined,
// before anything is computed.
func Pixels(f model.Forecaster, env envs.Env, task Task) (PixelReport, error) {
	spec := env.Spec()
	if err := task.validate(f.Dims(), spec); err != nil {
		return PixelReport{}, err
	}
	pictured, ok := env.(envs.Pictured)
	if !ok {
		return PixelReport{}, fmt.Errorf("%w: observations of %s are no images", ErrDims, spec.Name)
	}
	const K = PixelHorizon
	// One image more than is predicted: what smooths is shown it.
	test := task.test(env, task.Prefix+K+1)
	r := PixelReport{
		Task: task, Environment: spec.Name, Image: pictured.Image(),
		Strips: make([]PixelStrip, min(pixelStrips, test.N)),
	}
	start := task.Prefix - 1
	// A row of a tally: the first element counts the episode, element k is the share of wrong pixels in image k.
	byMean, single, static, blank := newTally(test.N, 1+K), newTally(test.N, 1+K), newTally(test.N, 1+K),
		newTally(test.N, 1+K)
	// A blank image: no pixel is lit.
	nothing := make([]float32, test.NX)
	task.forecasts(f, test, K, func(c chunk, a *model.Forecast) {
		for i := range c.n {
			n := c.first + i
			if n < len(r.Strips) {
				r.Strips[n] = PixelStrip{Episode: n, Seen: test.at(n, start)}
			}
			for k := 1; k <= K; k++ {
				at, truth := ((k-1)*c.n+i)*test.NX, test.at(n, start+k)
				mean, path := a.Mean[at:at+test.NX], a.Paths[at:at+test.NX]
				enterPixels(byMean, n, k, truth, mean)
				enterPixels(single, n, k, truth, path)
				enterPixels(static, n, k, truth, test.at(n, start))
				enterPixels(blank, n, k, truth, nothing)
				if n < len(r.Strips) {
					s := &r.Strips[n]
					s.Truth, s.Mean, s.Single = append(s.Truth, truth), append(s.Mean, mean), append(s.Single, path)
				}
			}
		}
	})
	r.Rows = append(r.Rows, pixelRow("model", "", byMean), pixelRow("  one rollout", "one_rollout", single))
	if _, ok := f.(model.Interpolator); ok {
		for _, s := range smoothings {
			r.Rows = append(r.Rows, r.smoothed(f, test, s))
		}
	} else {
		r.Notes = append(r.Notes, "This family of models does not smooth from both sides: nothing is predicted from an "+
			"image after the gap.")
	}
	r.Rows = append(r.Rows, pixelRow("last image seen", "static", static), pixelRow("blank image", "blank", blank))
	return r, nil
}

// enterPixels enters the share of wrong pixels of image k of episode n; the first element counts episodes. The share is
// NaN if a prediction is, which would else be that of a dark pixel, as most are.
func enterPixels(sums *tally, n, k int, truth, predicted []float32) {
	wrong := 0.0
	for i, v := range truth {
		switch p := predicted[i]; {
		case math.IsNaN(float64(p)):
			wrong = math.NaN()
		case (v > lit) != (p > lit):
			wrong++
		}
	}
	sums.row(n)[0] = 1
	sums.row(n)[k] = wrong / float64(len(truth))
}

// pixelRow makes the shares of wrong pixels of a tally, over the first n images and in the n-th, for each of
// PixelHorizons. Of a tally without episodes all is NaN: it gives the names of the metrics.
func pixelRow(name, key string, sums *tally) PixelRow {
	r := PixelRow{Name: name, Key: key}
	for _, n := range PixelHorizons() {
		r.Frames = append(r.Frames, sums.estimate(func(s []float64) float64 { return sum(s[1:1+n]) / s[0] / float64(n) }))
		r.Last = append(r.Last, sums.estimate(func(s []float64) float64 { return s[n] / s[0] }))
	}
	return r
}

// smoothing is what a family that smooths is shown behind the prefix, when n images are asked for: so many images are
// missing, and so many behind those are seen.
type smoothing struct {
	name, key string
	shown     func(n int) (gap, behind int)
}

var smoothings = []smoothing{
	{"  smoothed", "smoothed", func(n int) (gap, behind int) { return n, 1 }},
	{"  smoothed, all behind", "smoothed_all", func(n int) (gap, behind int) { return n, PixelHorizon + 1 - n }},
	{"  all seen", "all_seen", func(int) (gap, behind int) { return 0, PixelHorizon + 1 }},
}

// smoothed asks, for each n, for the n images behind the prefix. Every n is a computation of its own, as what is
// shown depends on it. The strips get the images of the first smoothing, for all PixelHorizon images.
func (r *PixelReport) smoothed(f model.Forecaster, d trials, s smoothing) PixelRow {
	row := PixelRow{Name: s.name, Key: s.key}
	for j, asked := range PixelHorizons() {
		gap, behind := s.shown(asked)
		sums := newTally(d.N, 1+PixelHorizon)
		work := chunks(d.N, r.Task.Prefix-1, r.Task.Prefix-1)
		forEach(f, r.Task.Threads, len(work), func(f model.Forecaster, w int) {
			c := work[w]
			batch := gapped(&d, c, r.Task.Prefix, gap, behind, f.Dims().NU)
			var answer model.Smoothing
			f.(model.Smoother).Smooth(&answer, batch)
			for i := range c.n {
				for k := 1; k <= asked; k++ {
					at := ((r.Task.Prefix-1+k)*c.n + i) * d.NX
					enterPixels(sums, c.first+i, k, d.at(c.first+i, r.Task.Prefix-1+k), answer.Observations[at:at+d.NX])
					if n := c.first + i; n < len(r.Strips) && asked == PixelHorizon && s.key == "smoothed" {
						r.Strips[n].Smoothed = append(r.Strips[n].Smoothed, answer.Observations[at:at+d.NX])
					}
				}
			}
		})
		all := pixelRow("", "", sums)
		row.Frames, row.Last = append(row.Frames, all.Frames[j]), append(row.Last, all.Last[j])
	}
	return row
}

// gapped is a batch of prefix, gap and steps behind it, time-major, with what lies in the gap taken out: zeros
// there, and Seen says so. Controls are the true ones throughout.
func gapped(d *trials, c chunk, prefix, gap, behind, nu int) model.Batch {
	steps := prefix + gap + behind
	b := d.batch(c.first, c.n, 0, steps, nu, true)
	b.Seen = make([]float32, len(b.Observations))
	for t := range steps {
		row := b.Observations[t*c.n*d.NX : (t+1)*c.n*d.NX]
		if t >= prefix && t < prefix+gap {
			clear(row)
			continue
		}
		for i := range row {
			b.Seen[t*c.n*d.NX+i] = 1
		}
	}
	return b
}

// Table shows the shares of wrong pixels. The standard error is shown for the model alone.
func (r PixelReport) Table() Table {
	t := Table{Title: r.Environment + ", share of wrong pixels in n predicted images", Corner: "n", Decimals: 4}
	for _, n := range PixelHorizons() {
		t.Columns = append(t.Columns, strconv.Itoa(n))
	}
	for _, n := range PixelHorizons() {
		t.Columns = append(t.Columns, "n-th "+strconv.Itoa(n))
	}
	for i, p := range r.Rows {
		t.Rows = append(t.Rows, Row{p.Name, append(values(p.Frames), values(p.Last)...)})
		if i == 0 {
			t.Rows = append(t.Rows, Row{"  standard error", append(errorsOf(p.Frames), errorsOf(p.Last)...)})
		}
	}
	t.paper(Paper("pixels", r.Environment))
	t.Notes = append([]string{r.Task.note(), "A pixel is wrong if its probability is on the other side of 1/2. n: mean " +
		"over the n images; n-th: the last of them alone."}, r.Notes...)
	return t
}

// CurveTable holds every number.
func (r PixelReport) CurveTable() Table {
	t := Table{Corner: "predictor", Decimals: 6}
	for _, kind := range []string{"frames", "last"} {
		for _, n := range PixelHorizons() {
			name := fmt.Sprintf("%s_%d", kind, n)
			t.Columns = append(t.Columns, name, name+"_se")
		}
	}
	for _, p := range r.Rows {
		t.Rows = append(t.Rows, Row{suffixed("model", p.Key), append(withErrors(p.Frames...), withErrors(p.Last...)...)})
	}
	return t
}

// PixelMetrics is what Pixels reports, before it is measured. It depends on the model: only some families smooth.
func PixelMetrics(f model.Forecaster, task Task) []Metric {
	r := PixelReport{Task: task}
	keys := []string{"", "one_rollout"}
	if _, ok := f.(model.Interpolator); ok {
		for _, s := range smoothings {
			keys = append(keys, s.key)
		}
	}
	for _, key := range append(keys, "static", "blank") {
		r.Rows = append(r.Rows, pixelRow("", key, newTally(0, 1+PixelHorizon)))
	}
	return r.Report().Metrics
}

// Report returns the figures in the form that scripts read: objects by number of images. Those of the model have
// no suffix.
func (r PixelReport) Report() Report {
	out := Report{Protocol: "pixels", Metrics: r.Task.metrics()}
	var keys []string
	for _, n := range PixelHorizons() {
		keys = append(keys, strconv.Itoa(n))
	}
	add := func(name string, v []float64) { out.Metrics = append(out.Metrics, object(name, "images", keys, v)) }
	for _, p := range r.Rows {
		add(suffixed("error", p.Key), values(p.Frames))
		add(suffixed("standard_error", p.Key), errorsOf(p.Frames))
		add(suffixed("error_last", p.Key), values(p.Last))
		add(suffixed("error_last_standard_error", p.Key), errorsOf(p.Last))
	}
	for _, p := range Paper("pixels", r.Environment) {
		out.Paper = append(out.Paper, object("error_"+p.Key, "images", keys, p.Values))
	}
	return out
}
