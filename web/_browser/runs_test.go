package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/switchyard-ml/switchyard/store"
)

// names are the runs of the table that rows are made for.
const names = "[...document.querySelectorAll('.runs tbody th a')].map((a) => a.innerText).join()"

// filter types into the filter.
func (p *tab) filter(expression string) {
	p.t.Helper()
	js[bool](p, fmt.Sprintf("(() => { const f = document.querySelector('.runs .top input'); f.value = %q; f.dispatchEvent(new Event('input')); return true; })()", expression))
}

// choose takes a value of a list, as soon as it is there: values of the configuration and of measurements come after the
// runs.
func (p *tab) choose(label, value string) {
	p.t.Helper()
	p.await(fmt.Sprintf(`(() => {
		const s = document.querySelector('select[aria-label=%q]');
		if (![...s?.options ?? []].some((o) => o.value === %q)) return false;
		s.value = %[2]q;
		s.dispatchEvent(new Event('change'));
		return true;
	})()`, label, value))
}

// searched are runs of three learning rates and two sizes.
func searched(t *testing.T) *bench {
	b := newBench(t, token)
	for i, rate := range []string{"0.0001", "0.001", "0.01"} {
		for seed := range uint64(2) {
			config := fmt.Sprintf("train:\n  hidden: %d\n", 16<<i)
			b.run(fmt.Sprintf("rate-%d-%d", i, seed+1), settings{steps: 40, of: 40, seed: seed + 1, overrides: []string{"optim.rate=" + rate}, rate: rate, config: config, state: store.Finished})
		}
	}
	b.measured("rate-0-1", `{"metrics":{"rmse":{"1":0.5,"10":2}}}`)
	b.measured("rate-2-2", `{"metrics":{"rmse":{"1":0.25,"10":1}}}`)
	return b
}

// TestBench_Columns: any key and any measurement is a column, found by a search; the address keeps them.
func TestBench_Columns(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6 && document.querySelector('.runs tbody .changed').innerText.startsWith('rate=')")
	if got := js[string](p, "document.querySelector('.runs tbody tr:last-child .changed').innerText"); got != "rate=0.0001 hidden=16" {
		t.Errorf("what differs of the first run is %q", got)
	}
	for _, search := range []string{"rmse 10", "optim.rate"} {
		p.click(".picker summary")
		js[bool](p, fmt.Sprintf("(() => { const f = document.querySelector('.picker input[type=search]'); f.value = %q; f.dispatchEvent(new Event('input')); return true; })()", search))
		p.click(".picker li:first-child input")
		p.click(".picker summary")
	}
	p.await("document.querySelector('.runs thead').innerText.includes('ahead/rmse/10') && document.querySelector('.runs thead').innerText.includes('optim.rate')")
	click := "(document.querySelector('.runs thead th[data-key=\"ahead/rmse/10\"] button').click(), true)"
	js[bool](p, click)
	js[bool](p, click)
	p.await(names + ".startsWith('rate-2-2,rate-0-1')") // what has no value is last, whichever way it is sorted
	p.do(chromedp.Reload())
	p.await(names + ".startsWith('rate-2-2,rate-0-1') && document.querySelector('.runs tbody td[data-key=\"ahead/rmse/10\"]').innerText === '1'")
}

// TestBench_Filter: expressions over keys and results; what is wrong with one is said below it, and the table stays.
func TestBench_Filter(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6 && document.querySelector('.runs tbody .changed').innerText.startsWith('rate=')")
	for expression, want := range map[string]string{
		"model.kind=slds and optim.rate>0.0005":      "rate-2-2,rate-2-1,rate-1-2,rate-1-1",
		"optim.rate>=1e-3 seed=2":                    "rate-2-2,rate-1-2",
		"rate-2 or (seed=1 and optim.rate<0.001)":    "rate-2-2,rate-2-1,rate-0-1",
		"not rate-2 not seed=1":                      "rate-1-2,rate-0-2",
		"ahead/rmse/10<1.5":                          "rate-2-2",
		"name~-0- && seed!=2":                        "rate-0-1",
		`name~-0- seed="2"`:                          "rate-0-2",
		"state=finished step=40 optim.rate==0.01 !x": "rate-2-2,rate-2-1",
	} {
		p.filter(expression)
		if got := js[string](p, names); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
		if !js[bool](p, "document.querySelector('.mistake').hidden") {
			t.Errorf("%s: %s", expression, js[string](p, "document.querySelector('.mistake').innerText"))
		}
	}
	p.filter("seed=2")
	for expression, want := range map[string]string{
		"optim.rat>0.1": "there is no column optim.rat; did you mean optim.rate?",
		"(seed=1":       "a parenthesis is not closed",
		"seed>":         "seed> needs a value",
		"seed>abc":      "seed> needs a number, not “abc”",
		"seed=1 and":    "after “and” something is missing",
		`name="x`:       "a quote is not closed",
		"seed=1)":       "“)” has no parenthesis to close",
		"=3":            "“=” needs something before it",
	} {
		p.filter(expression)
		if got := js[string](p, "document.querySelector('.mistake span').innerText"); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
		if got := js[string](p, names); got != "rate-2-2,rate-1-2,rate-0-2" {
			t.Errorf("%s: the table shows %s", expression, got)
		}
	}
}

// TestBench_Groups: runs with a value in common are a row with mean, range and number, which opens.
func TestBench_Groups(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"?#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6 && document.querySelector('.runs tbody .changed').innerText.startsWith('rate=')")
	p.choose("Group by", "optim.rate")
	p.await("document.querySelectorAll('.runs tbody tr.group').length === 3")
	first := js[string](p, "document.querySelector('.runs tbody tr.group').innerText")
	for _, want := range []string{"optim.rate=0.0001", "2 runs", "1.500", "1 … 2", "finished"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first group says %q, not %q", first, want)
		}
	}
	p.await(legend + ".includes('optim.rate=0.01')")
	js[bool](p, "(document.querySelector('.runs tbody .fold').click(), true)")
	p.await(names + " === 'rate-0-2,rate-0-1'")
	js[bool](p, "(document.querySelector('.runs tbody tr.group input').click(), true)")
	p.await("document.querySelector('.picks').innerText.includes('Compare 2 runs')")
	p.do(chromedp.Reload())
	p.await("document.querySelectorAll('.runs tbody tr.group').length === 3 && document.querySelector('.runs tbody tr.group input').checked")
}

// brush covers an axis of the plots from a part of it up to its end.
func (p *tab) brush(key string, from float64) {
	p.t.Helper()
	js[bool](p, fmt.Sprintf(`(() => {
		const grip = document.querySelector('.plots .grip[aria-label="filter by %s"]');
		const r = grip.getBoundingClientRect();
		const lying = r.width > r.height;
		const at = (f) => ({ bubbles: true, pointerId: 1, clientX: lying ? r.left + f * r.width : r.left + 5, clientY: lying ? r.top + 5 : r.bottom - f * r.height });
		grip.setPointerCapture = () => {};
		grip.dispatchEvent(new PointerEvent('pointerdown', at(%g)));
		grip.dispatchEvent(new PointerEvent('pointermove', at(0.9)));
		grip.dispatchEvent(new PointerEvent('pointerup', at(1)));
		return true;
	})()`, key, from))
}

// TestBench_Plots: points of any two columns, lines over many; a brush filters the table.
func TestBench_Plots(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6 && document.querySelector('.runs tbody .changed').innerText.startsWith('rate=')")
	p.choose("Plots", "scatter")
	p.await("document.querySelectorAll('.plots svg circle').length === 6 && document.querySelector('.plots svg').textContent.includes('optim.rate')")
	p.choose("Vertical axis", "ahead/rmse/10")
	p.await("document.querySelectorAll('.plots svg circle').length === 2 && document.querySelector('.plots .fine').innerText.startsWith('2 of 6 runs')")
	p.picture("scatter-1440-light")
	p.choose("Plots", "parallel")
	p.await("document.querySelectorAll('.plots svg path.line').length === 6")
	p.picture("parallel-1440-light")
	p.brush("optim.rate", 0.7)
	p.await(names + " === 'rate-2-2,rate-2-1'")
	if got := js[string](p, "document.querySelector('.runs .top input').value"); !strings.Contains(got, "optim.rate>=0.00") {
		t.Errorf("the filter is %q", got)
	}
	p.do(chromedp.Reload())
	p.await(names + " === 'rate-2-2,rate-2-1' && document.querySelectorAll('.plots svg path.line').length === 6")
}

// TestBench_TwoHundredRuns: all of them can be selected, drawn and compared, and rows are made as one scrolls. It prints
// how long that takes; that depends on the machine, and only a stall of the page is judged.
func TestBench_TwoHundredRuns(t *testing.T) {
	const runs = 200
	b := newBench(t, token)
	for i := range runs {
		rate := fmt.Sprintf("%.4g", 0.0001*float64(1+i%20))
		b.run(fmt.Sprintf("run-%03d", i), settings{steps: 40, of: 40, seed: uint64(i % 5), overrides: []string{"optim.rate=" + rate}, rate: rate, state: store.Finished})
	}
	var p *tab
	var frames []float64
	for try := 1; frames == nil; try++ {
		p = selected(t, b, runs)
		if frames = p.scrolled(); frames == nil && try == 3 {
			t.Fatal("three tabs in a row stopped drawing while the page was scrolled")
		}
	}
	t.Logf("scrolling through %d rows: %d frames, the longest %.0f ms", runs, len(frames), slices.Max(frames))
	if n := js[int](p, "document.querySelectorAll('.runs tbody tr').length"); n != runs {
		t.Errorf("at the end there are %d rows", n)
	}
	if slices.Max(frames) > 10_000 { // on a machine that has much other work
		t.Errorf("scrolling stalls for %.0f ms", slices.Max(frames))
	}
	p.click(".picks a.button")
	p.await("document.querySelectorAll('.compare tbody tr').length >= 60 && " + legend + ".includes('lines: point at one')")
}

// selected opens the table of so many runs in a new tab and selects them all.
func selected(t *testing.T, b *bench, runs int) *tab {
	t.Helper()
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 60 && document.querySelector('.runs tbody .changed').innerText.startsWith('rate=')")
	t.Logf("first contentful paint %.0f ms", js[float64](p, firstPaint))
	p.do(chromedp.Reload())
	p.await("document.querySelectorAll('.runs tbody tr').length === 60")
	t.Logf("the table after a reload: %.0f ms", js[float64](p, "performance.now()"))
	p.await(fmt.Sprintf("%s.includes('%d lines')", legend, runs))
	p.picture("two-hundred-1440-light")
	js[bool](p, "(document.querySelector('.runs thead .pick input').click(), true)")
	p.await(fmt.Sprintf("document.querySelector('.picks').innerText.includes('Compare %d runs')", runs))
	if n := js[int](p, "document.querySelectorAll('.runs input[type=checkbox]:disabled').length"); n != 0 {
		t.Errorf("%d boxes cannot be ticked", n)
	}
	return p
}

// scrolled goes through the whole page and returns the milliseconds of each frame. It returns nil where the tab stops
// drawing: Chromium without a screen now and then calls no requestAnimationFrame any more, in one of about fifty tabs here,
// while the page goes on to answer. That is no fault of the page, and another tab draws.
func (p *tab) scrolled() []float64 {
	p.t.Helper()
	const patience = 20 * time.Second // a frame takes at most seven where twenty other processes want two cores
	js[bool](p, scroll)
	drawn, since := 0, time.Now()
	for !js[bool](p, "window.scrolled") {
		if n := js[int](p, "window.frames1.length"); n > drawn {
			drawn, since = n, time.Now()
		}
		if drawn > 2000 {
			p.t.Fatal("the page does not end, however far it is scrolled")
		}
		if time.Since(since) > patience {
			p.t.Logf("the tab draws nothing for %v, after %d frames", patience, drawn)
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return js[[]float64](p, "window.frames1")
}

// firstPaint is when the page first showed something, in milliseconds.
const firstPaint = "performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime"

// scroll goes down the page, a quarter of a screen at a time, until it ends. frames1 has the milliseconds of each frame.
const scroll = `((async () => {
	window.frames1 = [];
	window.scrolled = false;
	const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
	let before = await frame();
	for (let still = 0; still < 30;) {
		const at = scrollY;
		scrollBy(0, innerHeight / 4);
		const now = await frame();
		frames1.push(now - before);
		before = now;
		still = scrollY === at ? still + 1 : 0;
	}
	window.scrolled = true;
})(), true)`
