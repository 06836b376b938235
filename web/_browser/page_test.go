package browser

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

const ready = "document.querySelectorAll('.measured').length > 0"

// shown is what a chart has drawn, by the text of its legend.
const legend = `[...document.querySelectorAll('.chart')].map((c) => c.innerText).join('\n')`

// TestTab_DoesNotFreeze: a run without any value yet, on the axis of time, once made the ticks endless.
func TestTab_DoesNotFreeze(t *testing.T) {
	b := newBench(t, "")
	b.run("empty", settings{seed: 1})
	b.live["empty"] = &web.Live{Waiting: "a worker"}
	p := open(t, b.url+"#/run/empty?x=time", 1000, 800, false)
	p.await(ready)
	p.await("document.body.innerText.includes('Waiting: a worker')")
	js[bool](p, "(document.querySelector('.system').open = true)")
	p.await("document.querySelectorAll('.chart canvas').length === 10")
	p.picture("empty-1000-light")
}

// TestValidations_AreNoOutliers: one validation far off stays in view "without outliers".
func TestValidations_AreNoOutliers(t *testing.T) {
	b := newBench(t, "")
	b.run("a", settings{steps: 200, of: 200, seed: 1, outlier: 60, check: 2, state: store.Finished})
	p := open(t, b.url+"#/run/a?clip=1&smooth=0", 1000, 800, false)
	p.await(ready)
	p.await("document.querySelector('.chart canvas').ariaLabel.includes('validation')")
	// The axis reaches to the validation at -503; the training value of the same step is clipped without it.
	if low := js[float64](p, "Number(document.querySelector('.chart canvas').dataset.low)"); low > -500 {
		t.Errorf("the axis begins at %v", low)
	}
}

// TestLegend_HasMeasuredValues: the legend shows what was measured, and the chart says that its line is smoothed.
func TestLegend_HasMeasuredValues(t *testing.T) {
	b := newBench(t, "")
	b.run("a", settings{steps: 200, of: 200, seed: 1, outlier: 200, check: 70, state: store.Finished})
	p := open(t, b.url+"#/run/a?smooth=0.9", 1000, 800, false)
	p.await(ready)
	p.await(legend + ".includes('−500')")
	p.await(legend + ".includes('line smoothed, 0.90')")
}

// TestMissingRun_IsNamed: a run that is not there is said to be missing, not the connection.
func TestMissingRun_IsNamed(t *testing.T) {
	b := newBench(t, "")
	p := open(t, b.url+"#/run/nowhere", 1000, 800, false)
	p.await("document.body.innerText.includes('There is no such run: nowhere')")
	if word := js[string](p, "document.getElementById('link').innerText"); word != "connected" {
		t.Errorf("the page says %q", word)
	}
	p.forgive("404")
}

// TestAddress_KeepsTheView: filter, order, ticked runs, options and range are there after a reload.
func TestAddress_KeepsTheView(t *testing.T) {
	b := several(t, "")
	p := open(t, b.url, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	p.do(chromedp.SendKeys(chromedp.CSS(".runs .top input"), "base"))
	p.click(".runs th.best button")
	p.click(".runs tbody tr:first-child .pick input")
	names := "[...document.querySelectorAll('.runs tbody th a')].map((a) => a.innerText).join()"
	before := js[string](p, names)
	p.do(chromedp.Reload())
	p.await("document.querySelectorAll('.runs tbody tr').length === 3")
	if after := js[string](p, names); after != before || before != "base-3,base-1,base-2" {
		t.Errorf("before %s, after %s", before, after)
	}
	if !js[bool](p, "document.querySelector('.runs tbody tr .pick input').checked") {
		t.Error("the ticked run is forgotten")
	}
	js[bool](p, "(location.hash = '#/run/base-1?smooth=0.25&log=1&clip=0&x=time&range=20-60', true)")
	p.await(ready)
	p.do(chromedp.Reload())
	p.await(ready)
	if got := js[string](p, "[...document.querySelectorAll('.tools input, .tools select')].map((e) => e.type === 'checkbox' ? e.checked : e.value).join()"); got != "0.25,time,true,false" {
		t.Errorf("the options are %s", got)
	}
	p.await("!document.querySelector('.tools button').hidden")
}

// TestFrame_IsThereBeforeTheNumbers: while the numbers are on their way there is no blank page.
func TestFrame_IsThereBeforeTheNumbers(t *testing.T) {
	b := several(t, "")
	p := open(t, b.url, 1000, 800, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	got := js[string](p, "(() => { location.hash = '#/run/base-1'; dispatchEvent(new HashChangeEvent('hashchange')); return document.querySelector('main').innerText; })()")
	if !strings.Contains(got, "base-1") || !strings.Contains(got, "loading") {
		t.Errorf("at once there is %q", got)
	}
	p.await(ready)
}

// TestSorting: a click on a heading sorts by it, names and seeds from the first, results from the largest; a second one
// turns it round, a third one brings the latest first again. A filter keeps the order, and the address keeps both.
func TestSorting(t *testing.T) {
	b := several(t, "")
	p := open(t, b.url, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	names := "[...document.querySelectorAll('.runs tbody th a')].map((a) => a.innerText).join()"
	latest := js[string](p, names)
	click := func(key, sorted, want string) {
		t.Helper()
		js[bool](p, "(document.querySelector('.runs thead th."+key+" button').click(), true)")
		if got := js[string](p, "document.querySelector('.runs thead th."+key+"').ariaSort ?? ''"); got != sorted {
			t.Errorf("by %s: it is sorted %q, want %q", key, got, sorted)
		}
		if got := js[string](p, names); got != want {
			t.Errorf("by %s, %s: %s, want %s", key, sorted, got, want)
		}
	}
	click("name", "ascending", "base-1,base-2,base-3,broken,under-way,wide-1")
	click("name", "descending", "wide-1,under-way,broken,base-3,base-2,base-1")
	click("name", "", latest)
	js[bool](p, "(() => { const f = document.querySelector('.runs .top input'); f.value = 'FINISHED base'; f.dispatchEvent(new Event('input')); return true; })()")
	click("seed", "ascending", "base-1,base-2,base-3")
	click("best", "descending", "base-3,base-1,base-2")
	p.do(chromedp.Reload())
	p.await(names + " === 'base-3,base-1,base-2'")
}

// TestSorting_InANarrowWindow: where there is no head of the table, a list sorts.
func TestSorting_InANarrowWindow(t *testing.T) {
	b := several(t, "")
	p := open(t, b.url+"#/?filter=base", 360, 800, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 3")
	p.do(chromedp.SetValue(chromedp.CSS(".sorting select"), "best"))
	js[bool](p, "document.querySelector('.sorting select').dispatchEvent(new Event('change'))")
	p.await("[...document.querySelectorAll('.runs tbody th a')].map((a) => a.innerText).join() === 'base-3,base-1,base-2'")
	p.click(".sorting button")
	p.await("[...document.querySelectorAll('.runs tbody th a')].map((a) => a.innerText).join() === 'base-2,base-1,base-3'")
}

// TestWatching: steps appear while a run goes on, and its end.
func TestWatching(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", settings{steps: 30, seed: 1})
	p := open(t, b.url+"#/run/a", 1000, 800, false)
	p.await(ready + " && document.querySelector('.facts').innerText.includes('30 of 1')")
	b.grow(r, 31, 50, settings{seed: 1})
	p.await("document.querySelector('.facts').innerText.includes('50 of 1')")
	if err := r.End(store.Finished, ""); err != nil {
		t.Fatal(err)
	}
	p.await("document.querySelector('.pill').innerText === 'finished'")
	p.await("document.getElementById('link').innerText === 'live'")
}

// TestComparing: ticked runs are compared: seeds as one line with a band, what differs, results in any order.
func TestComparing(t *testing.T) {
	b := several(t, "")
	p := open(t, b.url+"#/?pick=base-1,base-2,wide-1", 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	p.click("a.button")
	p.await("document.querySelectorAll('.compare tbody tr').length === 3")
	p.await(legend + ".includes('2 seeds')")
	text := js[string](p, "document.querySelector('main').innerText")
	for _, want := range []string{"train.hidden", "256", "Seed", "interrupted", "1 setting differs"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	p.click(".tools label:last-of-type input")
	p.await(legend + ".includes('base-2')")
	names := "[...document.querySelectorAll('.compare tbody th a')].map((a) => a.innerText).join()"
	js[bool](p, "(document.querySelector('.compare thead th.best button').click(), true)")
	p.await(names + " === 'base-1,base-2,wide-1'")
	p.do(chromedp.Reload())
	p.await(names + " === 'base-1,base-2,wide-1' && " + legend + ".includes('base-2')")
	js[bool](p, "(document.querySelector('.compare tbody tr:last-child input').click(), true)")
	p.await(names + " === 'base-1,base-2' && location.hash.includes('runs=base-2,base-1')")
}

// TestControls: with a token one can ask for a checkpoint, stop a run once it is confirmed, and go on with it.
func TestControls(t *testing.T) {
	b := several(t, token)
	p := open(t, b.url+"#token="+token, 1000, 800, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	press := func(label string) {
		p.await(fmt.Sprintf("[...document.querySelectorAll('.controls button')].some((b) => !b.hidden && !b.disabled && b.innerText === %q)", label))
		js[bool](p, fmt.Sprintf("([...document.querySelectorAll('.controls button')].find((b) => b.innerText === %q).click(), true)", label))
	}
	js[bool](p, "(location.hash = '#/run/under-way', true)")
	press("Checkpoint now")
	p.await("document.querySelector('.said').innerText === 'checkpoint requested'")
	press("Stop")
	press("Write a checkpoint and stop?")
	p.await("document.querySelector('.said').innerText === 'stop requested'")
	js[bool](p, "(location.hash = '#/run/wide-1', true)")
	press("Resume")
	p.await("document.querySelector('.said').innerText === 'resumed'")
	if got := b.requests(); !slices.Equal(got, []string{"checkpoint under-way", "stop under-way", "resume wide-1"}) {
		t.Errorf("asked for %v", got)
	}
	quiet := several(t, "")
	q := open(t, quiet.url+"#/run/under-way", 1000, 800, false)
	q.await(ready)
	if n := js[int](q, "[...document.querySelectorAll('.controls button')].filter((b) => !b.hidden).length"); n != 0 {
		t.Errorf("without a token there are %d buttons", n)
	}
}

// TestLabels: with the token a run gets tags and a note, another name, is archived and restored, and deleted once that is
// confirmed; on many at once from the table. Without it nothing of that is offered.
func TestLabels(t *testing.T) {
	b := several(t, token)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	js[bool](p, "(location.hash = '#/run/base-1', true)")
	p.await(ready + " && document.querySelector('.labels details') && !document.querySelector('.labels details').hidden")
	js[bool](p, "(document.querySelector('.labels details').open = true, document.getElementById('tags').value = 'good paper', document.getElementById('comment').value = 'the one to beat', document.querySelector('.labels form').requestSubmit(), true)")
	p.await("document.querySelectorAll('.labels .tag').length === 2 && document.querySelector('.labels .comment').innerText === 'the one to beat'")
	p.picture("labels-1440-light")
	js[bool](p, "(document.getElementById('to').value = 'best', [...document.querySelectorAll('.labels button')].find((b) => b.innerText === 'Rename').click(), true)")
	p.await("document.querySelector('.run h1')?.innerText === 'best' && document.querySelectorAll('.labels .tag').length === 2")
	p.forgive("404") // of the name that it had
	js[bool](p, "(location.hash = '#/?filter=paper', true)")
	p.await(names + " === 'best'")
	js[bool](p, "(document.querySelector('.runs thead .pick input').click(), [...document.querySelectorAll('.picks button')].find((b) => b.innerText === 'Archive').click(), true)")
	p.await("document.querySelectorAll('.runs tbody tr').length === 0 && document.querySelector('.runs').innerText.includes('1 archived')")
	js[bool](p, "([...document.querySelectorAll('.tools label')].find((l) => l.innerText === '1 archived').firstChild.click(), true)")
	p.await(names + " === 'best'")
	press := "([...document.querySelectorAll('.picks .danger')].forEach((b) => b.click()), true)"
	js[bool](p, press)
	p.await("document.querySelector('.picks .danger').innerText === 'Delete 1 run with all files?'")
	js[bool](p, press)
	p.await("document.querySelectorAll('.runs tbody tr').length === 0")
	if _, err := store.Load(b.dir, "best"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the run is still there: %v", err)
	}
	q := open(t, several(t, "").url+"#/run/base-1", 1000, 800, false)
	q.await(ready)
	if !js[bool](q, "document.querySelector('.labels details').hidden") {
		t.Error("without a token runs can be changed")
	}
}

// TestFigures_FollowTheColours: a figure has the page's own ink and ground, and others when the colours change.
func TestFigures_FollowTheColours(t *testing.T) {
	b := newBench(t, "")
	b.run("a", settings{steps: 40, of: 40, seed: 1, state: store.Finished})
	p := open(t, b.url+"#/run/a", 1000, 800, true)
	p.await(ready + " && document.querySelector('.figure img')?.complete")
	ground := `(() => { const g = document.createElement('canvas').getContext('2d'); g.drawImage(document.querySelector('.figure img'), 0, 0, 300, 80); return [...g.getImageData(290, 70, 1, 1).data].slice(0, 3).join(); })()`
	p.await(ground + " === '23,27,33'")
	p.picture("figures-1000-dark")
	js[bool](p, "(document.getElementById('theme').click(), true)") // from auto to light
	p.await(ground + " === '255,255,255'")
	order := js[string](p, "[...document.querySelectorAll('.run > *')].map((e) => e.className || e.firstElementChild?.innerText?.split('\\n')[0]).join()")
	if strings.Index(order, "charts") > strings.Index(order, "Figures") {
		t.Errorf("the parts are %s", order)
	}
}

// TestMagnitudes: the magnitudes of a tensor are drawn when they are opened, and those of another when it is chosen.
func TestMagnitudes(t *testing.T) {
	b := newBench(t, "")
	run := b.run("a", settings{steps: 200, of: 200, seed: 1, state: store.Finished})
	kept := store.Magnitudes{Tensors: []string{"encoder.weight", "encoder.bias"}}
	for step := uint64(10); step <= 200; step += 10 {
		grown := int(step) / 40
		weights := vector.Octaves{First: -8 + grown, Counts: []int{1, 4, 12, 24, 9, 2}}
		kept.Records = append(kept.Records, store.StepMagnitudes{Step: step, Magnitudes: vector.Magnitudes{
			Gradient:   []vector.Octaves{{First: -14, Counts: []int{5, 20, 25, 2}}, {Zero: 8, Counts: []int{}}},
			Parameters: []vector.Octaves{weights, {First: -5, Counts: []int{3, 5}}},
		}})
	}
	if err := run.WriteMagnitudes(kept); err != nil {
		t.Fatal(err)
	}
	p := open(t, b.url+"#/run/a", 1440, 900, false)
	p.await(ready)
	js[bool](p, "(document.querySelector('.magnitudes').open = true)")
	p.await("document.querySelectorAll('.magnitudes figure').length === 2")
	const cells = "[...document.querySelectorAll('.magnitudes figure')].map((f) => f.querySelectorAll('rect').length).join()"
	if got := js[string](p, cells); got != "80,126" {
		t.Errorf("all tensors: %s cells", got)
	}
	p.picture("magnitudes-1440-light")
	p.choose("Tensor", "encoder.bias")
	p.await("document.querySelector('.magnitudes').innerText.includes('all values are zero')")
	if got := js[string](p, cells); got != "0,40" {
		t.Errorf("the bias: %s cells", got)
	}
}

// TestKeyboard: keys alone suffice to find a run, tick two, compare them, read a chart and come back.
func TestKeyboard(t *testing.T) {
	b := several(t, "")
	p := open(t, b.url, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	p.press("/")
	p.await("document.activeElement.type === 'search'")
	js[bool](p, "(document.activeElement.value = '', true)") // the driver types the slash, too, which a keyboard would not
	p.press("b", "a", "s", "e")
	p.await("document.querySelectorAll('.runs tbody tr').length === 3")
	tabUntil := func(what string) {
		t.Helper()
		for range 60 {
			p.press(kb.Tab)
			if js[bool](p, what) {
				return
			}
		}
		t.Fatalf("Tab does not reach %s", what)
	}
	tabUntil("document.activeElement.matches('.pick input')")
	p.press(" ")
	tabUntil("document.activeElement.matches('.pick input')")
	p.press(" ")
	p.await("document.querySelector('a.button').innerText === 'Compare 2 runs'")
	js[bool](p, "(document.activeElement.blur(), true)")
	tabUntil("document.activeElement.matches('a.button')")
	p.press(kb.Enter)
	p.await("document.querySelectorAll('.compare tbody tr').length === 2")
	tabUntil("document.activeElement.matches('.chart canvas')")
	p.press(kb.ArrowLeft, kb.ArrowLeft)
	p.press("+")
	p.await("location.hash.includes('range=')")
	p.press("0")
	p.press(kb.Escape)
	p.await("document.querySelectorAll('.runs tbody tr').length === 3")
	p.press(kb.ArrowDown, kb.ArrowDown, kb.Enter)
	p.await("document.querySelector('.run h1')?.innerText === 'base-2'") // the address is there before the view that takes the key
	p.press(kb.Escape)
	p.await("document.querySelectorAll('.runs tbody tr').length === 3")
}

// TestLongRun: the charts of a run of 100,000 steps, an outlier among them, and what a zoom fetches. It prints how long
// the first look takes; that depends on the machine, and is not judged here.
func TestLongRun(t *testing.T) {
	b := newBench(t, "")
	b.run("long", settings{steps: 100_000, of: 100_000, seed: 1, outlier: 54_321, check: 1000, state: store.Finished})
	begin := time.Now()
	p := open(t, b.url+"#/run/long?clip=0", 1000, 800, false)
	p.await(ready + " && document.querySelector('.chart canvas').ariaLabel?.includes('train −')")
	t.Logf("first look, with a new tab: %v; the frame after %.0f ms", time.Since(begin).Round(time.Millisecond),
		js[float64](p, "performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime"))
	if low := js[float64](p, "Number(document.querySelector('.chart canvas').dataset.low)"); low > -490 {
		t.Errorf("the outlier is lost: the axis begins at %v", low)
	}
	js[bool](p, "(location.hash = '#/run/long?range=54300-54340', dispatchEvent(new HashChangeEvent('hashchange')), true)")
	p.await("document.querySelector('.chart canvas')?.dataset.points > 30 && document.querySelector('.chart canvas').dataset.points < 100")
}

// TestReload: a page that was away while the run made more steps than events repeat loads the metrics once, and hears of
// each step from then on.
func TestReload(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", settings{steps: 20, seed: 1})
	p := open(t, b.url, 1000, 800, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 1")
	// Events of the run do not get through while the page is away.
	js[bool](p, "(window.away = true, window.real = fetch, window.fetch = (a, o) => away && String(a).includes('events?run') ? Promise.reject(new Error('away')) : real(a, o), true)")
	js[bool](p, "(location.hash = '#/run/a?clip=0', true)")
	p.await(ready)
	loads := "performance.getEntriesByType('resource').filter((e) => e.name.includes('/metrics?')).length"
	p.await(loads + " === 1")
	b.grow(r, 21, 5100, settings{seed: 1})
	js[bool](p, "(window.away = false, true)")
	p.await(loads + " === 2")
	b.grow(r, 5101, 5101, settings{seed: 1, outlier: 5101})
	p.await("document.querySelector('.chart canvas').ariaLabel.includes('train −500')")
	if n := js[int](p, loads); n != 2 {
		t.Errorf("the metrics were loaded %d times", n)
	}
}
