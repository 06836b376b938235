package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

// What the page shows has to follow what it knows: rows of groups, legends, lists, ranges and answers that come late.

// groups are the values of the groups of the table, in their order.
const groups = "[...document.querySelectorAll('.runs tr.group .fold')].map((b) => b.innerText.replace(/.*=| .*/g, '').trim()).join()"

// TestStale_GroupsFollowTheirRuns: the row of a group shows what its runs have reached by now.
func TestStale_GroupsFollowTheirRuns(t *testing.T) {
	b := newBench(t, token)
	one, s := b.run("one", settings{steps: 40, of: 1000, seed: 1}), settings{seed: 1}
	b.run("two", settings{steps: 40, of: 1000, seed: 2})
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 2")
	p.choose("Group by", "preset")
	const step = "document.querySelector('.runs tr.group td[data-key=step]').innerText"
	p.await(step + " === '40'")
	b.grow(one, 41, 80, s)
	p.await(step + ".startsWith('60')")
}

// TestStale_GroupsWithoutAValueAreLast: whichever way they are sorted.
func TestStale_GroupsWithoutAValueAreLast(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	for up, want := range map[string]string{"1": "0.01,0.0001,0.001", "": "0.0001,0.01,0.001"} {
		js[bool](p, fmt.Sprintf("(location.hash = '/?group=optim.rate&sort=ahead/rmse/10&up=%s', true)", up))
		p.await("document.querySelectorAll('.runs tr.group').length === 3")
		if got := js[string](p, groups); got != want {
			t.Errorf("upwards %q: %s, want %s", up, got, want)
		}
	}
}

// TestStale_ChartsOfTheTable: a chart that is removed can be added again, a line that is hidden stays hidden and its
// button says so, and arrows move the slider that has the focus.
func TestStale_ChartsOfTheTable(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.plots .legend button').length >= 6 && document.querySelector('select[aria-label=\"Add a chart\"]').options.length > 1")
	p.click(".plots button[aria-label='Remove the chart of train/objective']")
	if !js[bool](p, "[...document.querySelector('select[aria-label=\"Add a chart\"]').options].some((o) => o.value === 'train/objective')") {
		t.Error("a chart that was removed cannot be added again")
	} else {
		p.choose("Add a chart", "train/objective")
		p.await("document.querySelectorAll('.plots .chart').length === 2")
	}

	const hidden = "[...document.querySelectorAll('.plots .chart:first-child .legend button')].filter((b) => b.getAttribute('aria-pressed') === 'false').map((b) => b.innerText.split('\\n')[0].trim()).join()"
	p.click(".plots .chart:first-child .legend button:last-child")
	want := js[string](p, hidden)
	p.filter("not rate-1")
	p.await("document.querySelectorAll('.plots .chart:first-child .legend button').length === 4")
	if got := js[string](p, hidden); got == "" || got[:8] != want[:8] {
		t.Errorf("hidden by the legend: %q, want %q", got, want)
	}

	const slider = "document.querySelector('.plots input[type=range]')"
	before := js[string](p, fmt.Sprintf("(%s.focus(), %[1]s.value)", slider))
	p.press(kb.ArrowUp)
	if after := js[string](p, slider+".value"); after <= before || !js[bool](p, "document.activeElement === "+slider) {
		t.Errorf("smoothing %s after an arrow, before it %s", after, before)
	}
}

// TestStale_BrushFarFromZero: a brush filters by the part of the axis that it covers, also where values differ little
// beside their size.
func TestStale_BrushFarFromZero(t *testing.T) {
	b := newBench(t, token)
	for i := range uint64(4) {
		b.run(fmt.Sprintf("run-%d", i), settings{steps: 40, of: 40, seed: 1_000_001 + i, state: store.Finished})
	}
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 4")
	p.choose("Plots", "parallel")
	p.await("document.querySelectorAll('.plots svg path.line').length === 4")
	p.brush("seed", 0.5)
	p.await("document.querySelector('.runs .top input').value.includes('seed>=')")
	if got := js[string](p, names); got != "run-3,run-2" {
		t.Errorf("the upper half of four seeds is %s, by %s", got, js[string](p, "document.querySelector('.runs .top input').value"))
	}
}

// TestStale_ZoomOut: who zooms out of a part of a long run sees the rest again.
func TestStale_ZoomOut(t *testing.T) {
	b := newBench(t, token)
	b.run("long", settings{steps: 3000, of: 3000, seed: 1, state: store.Finished})
	for _, axis := range []string{"step", "time"} {
		p := open(t, b.url+"#token="+token, 1440, 900, false)
		js[bool](p, fmt.Sprintf("(location.hash = '/run/long?x=%s', true)", axis))
		const canvas = "document.querySelector('.run .charts canvas')"
		const points = "Number(" + canvas + "?.dataset.points ?? 0)"
		p.await(points + " > 500")
		key := func(k string) {
			js[bool](p, fmt.Sprintf("%s.dispatchEvent(new KeyboardEvent('keydown', { key: '%s' }))", canvas, k))
		}
		for range 3 {
			key("+")
		}
		p.await(points + " > 300 && " + points + " < 450") // an eighth of the run, with every step
		for range 3 {
			key("-")
		}
		p.await(points + " > 700")
	}
}

// TestStale_LateSweep: a sweep whose report comes after another one was asked for is not shown.
func TestStale_LateSweep(t *testing.T) {
	report, err := os.ReadFile("testdata/sweep.json")
	if err != nil {
		t.Fatal(err)
	}
	asked, late := make(chan bool, 9), make(chan bool)
	b := newBench(t, token, &web.Sweeps{
		List: func() any { return []any{} },
		Show: func(name string) (any, error) {
			if name == "slow" {
				asked <- true
				<-late
			}
			return json.RawMessage(report), nil
		},
	})
	p := open(t, b.url+"sweeps.html#token="+token, 1440, 900, false)
	p.await("document.querySelector('.empty')")
	js[bool](p, "(location.hash = '/slow', true)")
	<-asked
	js[bool](p, "(location.hash = '/fast', true)")
	p.await("document.title.startsWith('fast') && document.querySelector('#sweep h1')")
	close(late)
	p.await("performance.getEntriesByType('resource').some((e) => e.name.endsWith('/slow') && e.responseEnd > 0)")
	js[bool](p, "(window.later = false, setTimeout(() => { window.later = true; }, 300), true)")
	p.await("window.later")
	if got := js[string](p, "document.title"); got != "fast · sweep" {
		t.Errorf("the title is %q", got)
	}
}

// TestStale_ForecastOfAnUnseenChannel: it is drawn although the series has no value of the channel.
func TestStale_ForecastOfAnUnseenChannel(t *testing.T) {
	b := newBench(t, token)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	js[bool](p, `(import('./model.js').then(async ({ modelPanel }) => {
		const before = window.fetch;
		const rows = [[0.5], [0.7]];
		window.fetch = async () => new Response(JSON.stringify({ step: 1, family: 'lstm', channels: ['y'],
			fan: { begin: 1, shown: [0], series: [[null], [null], [null]], mean: rows, low: [[0], [0]], high: [[1], [1]], inner_low: rows, inner_high: rows } }));
		const panel = modelPanel('a');
		await panel.show({ checkpoint_step: 1 }, true);
		window.fetch = before;
		window.drawn = [...panel.node.querySelectorAll('path[stroke-width="2"]')].map((e) => e.getAttribute('d')).join();
	}), true)`)
	p.await("window.drawn !== undefined")
	if got := js[string](p, "window.drawn"); got == "" {
		t.Error("no forecast is drawn")
	}
}
