package browser

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/web"
)

// landscape is a sweep of so many trials over eight parameters of every form, one of them conditional, whose results are a
// function of the settings. A few trials diverge or fail; the best two are confirmed with fresh seeds.
func landscape(t *testing.T, trials int) *sweep.Report {
	t.Helper()
	spec := &sweep.Spec{
		Base: "preset fhn", Method: sweep.Random, Seed: 3, Trials: trials,
		Metrics: []sweep.Metric{{Name: "best_validation_elbo", Goal: sweep.Maximize}},
		Parameters: []sweep.Parameter{
			{Key: "optim.rate", Distribution: sweep.LogUniform, Min: 1e-4, Max: 1e-1},
			{Key: "optim.clip_factor", Distribution: sweep.Uniform, Min: 1, Max: 5},
			{Key: "optim.schedule", Distribution: sweep.Categorical, Values: []string{"exponential", "cosine"}},
			{Key: "model.hidden", Distribution: sweep.IntUniform, Min: 8, Max: 128},
			{Key: "model.switching", Distribution: sweep.Categorical, Values: []string{"concrete", "normal", "deterministic"}},
			{Key: "anneal.every", Distribution: sweep.IntUniform, Min: 5, Max: 100, When: []sweep.Condition{{Key: "model.switching", Values: []string{"concrete"}}}},
			{Key: "anneal.kl_switch", Distribution: sweep.LogUniform, Min: 0.03, Max: 1},
			{Key: "train.batch", Distribution: sweep.Categorical, Values: []string{"8", "16", "32", "64"}},
		},
		Replicates: sweep.Replicates{Key: "seed", Seeds: []uint64{1}, Aggregate: sweep.Mean},
		Stop:       sweep.Stop{Type: sweep.Halving, Rungs: []uint64{300, 900, 2700}, Eta: 3, Cohort: 9},
		Confirm:    sweep.Confirm{Top: 2, Seeds: 3},
	}
	dir := t.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "sweep-*"); err == nil { // thousands of records are not waited for there
		dir = memory
		defer os.RemoveAll(memory)
	}
	journal, records, err := sweep.OpenJournal(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	e, err := sweep.NewEngine(spec, journal, records, slope{spec}, sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.State().Report("rates", func(trial, replicate, _ int) string { return fmt.Sprintf("rates-%04d-%d", trial, replicate) })
}

// slope is the runner of a landscape.
type slope struct{ spec *sweep.Spec }

func (s slope) Check(sweep.Settings) ([]uint64, error) { return s.spec.Stop.Rungs, nil }
func (s slope) Capacity() int                          { return 4 }
func (s slope) Drop(int, int, int)                     {}

func (s slope) Lead(_ context.Context, l sweep.Leg) (sweep.Result, error) {
	number := func(key string) float64 {
		text, _ := l.Settings.Get(key)
		v, _ := strconv.ParseFloat(text, 64)
		return v
	}
	rate := math.Log10(number("optim.rate"))
	if rate > -1.1 {
		return sweep.Result{}, fmt.Errorf("%w: at update 17", sweep.ErrDiverged)
	}
	if number("model.hidden") == 77 {
		return sweep.Result{}, fmt.Errorf("the disk is full: %s", "runs/rates")
	}
	v := 8 - 3*math.Abs(rate+2.3) - 900/float64(l.Step+90) - math.Abs(number("optim.clip_factor")-3)/4 + number("model.hidden")/90
	if kind, _ := l.Settings.Get("model.switching"); kind == "normal" {
		v += 1.5
	}
	noise := math.Sin(float64(l.Trial)*12.9898+number("seed")*78.233) * 0.6
	return sweep.Result{Step: l.Step, Values: map[string]float64{"best_validation_elbo": v + noise}, Hash: "0", Seconds: float64(l.Step) / 150}, nil
}

// shelf shows one sweep.
func shelf(r *sweep.Report) *web.Sweeps {
	return &web.Sweeps{
		List: func() any {
			return []map[string]any{{"name": r.Name, "state": r.State, "trials": len(r.Trials), "run_cap": r.Cap, "metric": r.Metrics[0].Name, "began": r.Began}}
		},
		Show: func(name string) (any, error) {
			if name != r.Name {
				return nil, fs.ErrNotExist
			}
			return r, nil
		},
	}
}

// drawn is true when a sweep is there.
const drawn = "document.querySelectorAll('#sweep svg .line').length > 0 && document.querySelectorAll('#sweep tbody tr').length > 0"

// TestSweepLooks: the page's view of a sweep and its file from a disk, of 30 and of 1,000 trials, at three widths in both
// schemes. Nothing is wider than the window, small or faint; texts of a chart do not lie on each other.
func TestSweepLooks(t *testing.T) {
	for _, trials := range []int{30, 1000} {
		report := landscape(t, trials)
		file := filepath.Join(t.TempDir(), "index.html")
		text, err := web.SweepFile(report.Name, report)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, "", shelf(report))
		for _, width := range []int{360, 800, 1440} {
			for _, dark := range []bool{false, true} {
				scheme := map[bool]string{false: "light", true: "dark"}[dark]
				t.Run(fmt.Sprintf("%d-%d-%s", trials, width, scheme), func(t *testing.T) {
					p := open(t, b.url+"sweeps.html#/rates", width, 900, dark)
					p.await(drawn)
					p.sound("the page")
					p.picture(fmt.Sprintf("sweep-%d-%d-%s", trials, width, scheme))
					p.still()
					if dark {
						return
					}
					p = open(t, "file://"+file, width, 900, dark)
					p.await(drawn)
					p.sound("the file")
					p.picture(fmt.Sprintf("sweepfile-%d-%d", trials, width))
					p.still()
					if width == 360 {
						p = open(t, b.url+"sweeps.html", width, 900, dark)
						p.await("document.querySelector('td a')")
						p.sound("the list")
						p.picture("sweeps-360")
						p.still()
					}
				})
			}
		}
	}
}

// still: no chart is to be scrolled sideways, and in a narrow window no table either.
func (p *tab) still() {
	p.t.Helper()
	if wide := js[[]string](p, "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth && (innerWidth <= 720 || !e.querySelector('table'))).map((e) => e.closest('section').innerText.slice(0, 40))"); len(wide) > 0 {
		p.t.Errorf("wider than their place: %q", wide)
	}
}

// overlaps finds texts of one chart that lie on each other.
const overlaps = `[...document.querySelectorAll('#sweep svg')].flatMap((svg) => {
  const texts = [...svg.querySelectorAll('text')].map((e) => ({ e, r: e.getBoundingClientRect() })).filter(({ r }) => r.width > 0);
  const found = [];
  texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
    const w = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left), h = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
    if (w > 1 && h > 3) found.push((svg.closest('section')?.querySelector('h2')?.textContent ?? '') + ': ' + a.e.textContent + ' / ' + b.e.textContent);
  }));
  return found;
})`

// TestSweepUse: what one does with a thousand trials: sort, filter, brush, choose one, take it all back.
func TestSweepUse(t *testing.T) {
	b := newBench(t, "", shelf(landscape(t, 1000)))
	began := time.Now()
	p := open(t, b.url+"sweeps.html#/rates", 1440, 900, false)
	p.await(drawn)
	t.Logf("first look, with a new tab: %v", time.Since(began).Round(time.Millisecond))
	t.Logf("first contentful paint %.0f ms, all charts %.0f ms", js[float64](p, firstPaint), js[float64](p, "performance.now()"))
	timed := func(what, act, until string) {
		t.Helper()
		took := js[float64](p, fmt.Sprintf("(() => { const t = performance.now(); %s; document.body.getBoundingClientRect(); return performance.now() - t; })()", act))
		t.Logf("%s: %.0f ms", what, took)
		p.await(until)
	}
	rows := "document.querySelectorAll('#sweep tbody tr')"
	timed("sort by rate", "document.getElementById('sort-optim.rate').click()", "document.querySelector('th[aria-sort] button').textContent.includes('optim.rate')")
	rates := js[[]float64](p, "[..."+rows+"].map((tr) => Number(tr.querySelector('[data-label=\"optim.rate\"]').textContent))")
	for i := range rates[1:] {
		if rates[i] > rates[i+1] {
			t.Fatalf("rate %g stands before %g", rates[i], rates[i+1])
		}
	}
	timed("the other way round", "document.getElementById('sort-optim.rate').click()", "document.querySelector('th[aria-sort=descending]')")
	js[bool](p, "(document.getElementById('filter').focus(), true)")
	timed("filter", "{ const f = document.getElementById('filter'); f.value = 'normal batch=8'; f.dispatchEvent(new Event('input')); }", "document.querySelector('.tools h2').textContent.match(/^\\d\\d of 1002/)")
	if id := js[string](p, "document.activeElement.id"); id != "filter" {
		t.Errorf("after a letter the focus is on %q", id)
	}
	p.await("document.querySelectorAll('#sweep .line.out').length > 0")
	if n := js[int](p, "(document.getElementById('clear').click(), document.querySelectorAll('#sweep .line.out').length)"); n > 0 { // a chart that is drawn later loses a drag
		t.Errorf("all trials are shown, and %d lines are still pale", n)
	}
	timed("show all", "", "document.querySelector('.tools h2').textContent.startsWith('1002 of')")

	js[bool](p, "(document.querySelector('.grip').scrollIntoView({ block: 'center' }), true)")
	box := js[[]float64](p, "(() => { const r = document.querySelector('.grip').getBoundingClientRect(); return [r.left + r.width / 2, r.top, r.height]; })()")
	began = time.Now()
	p.drag(point{box[0], box[1] + box[2]*0.3}, point{box[0], box[1] + box[2]*0.5})
	p.await("document.querySelectorAll('#sweep .line.out').length > 100 && document.querySelector('.tools h2').textContent.match(/^\\d+ of 1002/)")
	t.Logf("brush: %v", time.Since(began).Round(time.Millisecond))
	inside := js[int](p, "Number(document.querySelector('.tools h2').textContent.split(' ')[0])")
	if lines := js[int](p, "document.querySelectorAll('#sweep .line:not(.out)').length"); inside < 50 || inside > 500 || lines != inside {
		t.Errorf("%d trials and %d lines are in the brush", inside, lines)
	}
	p.picture("sweep-brushed")
	p.drag(point{box[0], box[1] + box[2]*0.8}, point{box[0], box[1] + box[2]*0.8})
	p.await("document.querySelectorAll('#sweep .line.out').length === 0")
	timed("choose", rows+"[3].click()", "document.querySelectorAll('#sweep .line.chosen').length === 1 && document.querySelectorAll('#sweep tr.chosen').length === 1")
	timed("more rows", "document.getElementById('more').click()", rows+".length === 600")
	if href := js[string](p, "document.querySelector('#sweep tbody a').getAttribute('href')"); href == "" {
		t.Error("a trial has no link to its run")
	}
}

// TestSweepBrush_Narrow: where axes lie, a drag along one of them keeps a range, too.
func TestSweepBrush_Narrow(t *testing.T) {
	b := newBench(t, "", shelf(landscape(t, 30)))
	p := open(t, b.url+"sweeps.html#/rates", 360, 900, false)
	p.await(drawn)
	js[bool](p, "(document.querySelector('.grip').scrollIntoView({ block: 'center' }), true)")
	box := js[[]float64](p, "(() => { const r = document.querySelector('.grip').getBoundingClientRect(); return [r.left, r.top + r.height / 2, r.width]; })()")
	p.drag(point{box[0] + 0.6*box[2], box[1]}, point{box[0] + box[2], box[1]})
	p.await("document.querySelectorAll('#sweep .line.out').length > 5 && document.querySelector('.tools h2').textContent.match(/^\\d+ of 32/)")
	rates := js[[]float64](p, "[...document.querySelectorAll('#sweep td[data-label=\"optim.rate\"]')].map((td) => Number(td.textContent))")
	for _, r := range rates {
		if r < 3e-3 {
			t.Errorf("a rate of %g is in the upper range", r)
		}
	}
	if len(rates) == 0 {
		t.Error("the range is empty")
	}
}

type point struct{ x, y float64 }

// drag presses the mouse at a place and lets it go at another.
func (p *tab) drag(from, to point) {
	p.t.Helper()
	middle := point{(from.x + to.x) / 2, (from.y + to.y) / 2}
	for _, e := range []struct {
		kind input.DispatchMouseEventType
		at   point
	}{{input.DispatchMouseEventTypeMousePressed, from}, {input.DispatchMouseEventTypeMouseMoved, middle}, {input.DispatchMouseEventTypeMouseMoved, to}, {input.DispatchMouseEventTypeMouseReleased, to}} {
		ctx, cancel := context.WithTimeout(p.ctx, limit)
		_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: e.kind, X: e.at.x, Y: e.at.y, Button: input.MouseButtonLeft, ClickCount: 1})
		cancel()
		if err != nil {
			p.t.Fatal(err)
		}
	}
}
