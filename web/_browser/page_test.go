package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

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
	p.await("document.querySelectorAll('.chart canvas').length === 8")
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
	p.do(chromedp.SendKeys(chromedp.CSS(".runs input[type=search]"), "base"), chromedp.Click(chromedp.CSS(".runs th.best button")), chromedp.Click(chromedp.CSS(".runs tbody tr:first-child .pick input")))
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
	js[bool](p, "(() => { const f = document.querySelector('.runs input[type=search]'); f.value = 'FINISHED base'; f.dispatchEvent(new Event('input')); return true; })()")
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
	p.do(chromedp.Click(chromedp.CSS(".sorting button")))
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
	p.do(chromedp.Click(chromedp.CSS("a.button")))
	p.await("document.querySelectorAll('.values tbody tr').length >= 5")
	p.await(legend + ".includes('2 seeds')")
	text := js[string](p, "document.querySelector('main').innerText")
	for _, want := range []string{"train.hidden", "256", "seed", "interrupted"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	p.do(chromedp.Click(chromedp.CSS(".tools label:last-of-type input")))
	p.await(legend + ".includes('base-2')")
	js[bool](p, "([...document.querySelectorAll('.values th button')].find((b) => b.innerText === 'best objective').click(), true)")
	p.await("document.querySelector('.values tbody th').innerText === 'base-1'")
	p.do(chromedp.Reload())
	p.await("document.querySelectorAll('.values tbody tr').length >= 5 && " + legend + ".includes('base-2')")
	keys := "[...document.querySelectorAll('.values tbody th code')].map((e) => e.innerText).join()"
	before := js[string](p, keys)
	head := "[...document.querySelectorAll('.values')].at(-1).querySelectorAll('th button')[0]"
	js[bool](p, "("+head+".click(), true)")
	p.await(head + ".closest('th').ariaSort === 'ascending' && document.activeElement === " + head)
	js[bool](p, "("+head+".click(), true)")
	p.await(head + ".closest('th').ariaSort === 'descending'")
	down := strings.Split(js[string](p, keys), ",")
	slices.Sort(down)
	if sorted := strings.Join(down, ","); len(down) < 2 || sorted == js[string](p, keys) {
		t.Errorf("the differences before are %s, sorted downwards %s", before, js[string](p, keys))
	}
	p.do(chromedp.Reload())
	p.await("location.hash.includes('by=key') && document.querySelectorAll('.values').length === 2")
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
	p.await("document.querySelector('.said').innerText === 'a checkpoint is asked for'")
	press("Stop")
	press("Write a checkpoint and stop?")
	p.await("document.querySelector('.said').innerText === 'it is asked to stop'")
	js[bool](p, "(location.hash = '#/run/wide-1', true)")
	press("Resume")
	p.await("document.querySelector('.said').innerText === 'it goes on'")
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
	p.await("document.querySelectorAll('.values tbody tr').length >= 3")
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
