package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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

// TestStale_RangeBelowZero: who zooms out of the whole range sees the same after a reload.
func TestStale_RangeBelowZero(t *testing.T) {
	b := newBench(t, "")
	b.run("a", settings{steps: 200, of: 200, seed: 1, state: store.Finished})
	p := open(t, b.url+"#/run/a?x=step", 1000, 800, false)
	const points = "Number(document.querySelector('.run .charts canvas')?.dataset.points ?? 0)"
	p.await(points + " === 200")
	js[bool](p, "document.querySelector('.run .charts canvas').dispatchEvent(new KeyboardEvent('keydown', { key: '-' }))")
	p.await("location.hash.includes('range=-')")
	p.do(chromedp.Reload())
	p.await(points + " === 200 && location.hash.includes('range=-')")
}

// TestStale_BrushBesideOr: a brush holds for all of a filter, however its words are written.
func TestStale_BrushBesideOr(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	p.filter("rate-0 OR rate-1")
	p.choose("Plots", "parallel")
	p.await("document.querySelectorAll('.plots svg path.line').length === 6")
	p.brush("seed", 0.5)
	p.await("document.querySelector('.runs .top input').value.includes('seed>=')")
	if got := js[string](p, names); got != "rate-1-2,rate-0-2" {
		t.Errorf("the brush leaves %s", got)
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

// TestStale_ColumnsThatAreGone: a column of runs that were removed leaves the table.
func TestStale_ColumnsThatAreGone(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	js[bool](p, "(location.hash = '/?cols=state,ahead/rmse/10', true)")
	const column = "document.querySelector('.runs thead th[data-key=\"ahead/rmse/10\"]')"
	p.await(column)
	for _, name := range []string{"rate-0-1", "rate-2-2"} {
		if err := store.Remove(b.dir, name); err != nil {
			t.Fatal(err)
		}
	}
	p.await("!" + column)
}

// TestStale_GroupsThatReadTheSame: runs whose values differ by less than is shown are one group, and none is lost.
func TestStale_GroupsThatReadTheSame(t *testing.T) {
	b := searched(t)
	b.measured("rate-0-1", `{"metrics":{"rmse":{"10":2.00001}}}`)
	b.measured("rate-2-2", `{"metrics":{"rmse":{"10":2.00002}}}`)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	p.choose("Group by", "ahead/rmse/10")
	p.await("[...document.querySelectorAll('.runs tr.group .fold small')].map((e) => e.innerText.trim()).join() === '2 runs,4 runs'")
}

// TestStale_CurvesOnASlowLine: curves that take longer than the time between two changes of the runs are drawn.
func TestStale_CurvesOnASlowLine(t *testing.T) {
	b := newBench(t, "")
	b.run("one", settings{steps: 40, of: 1000, seed: 1})
	to, err := url.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // events
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/api/curves") {
			time.Sleep(2500 * time.Millisecond)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close) // behind that of the tab, whose events keep it open
	done := make(chan bool)
	defer close(done)
	go func() {
		for n := int64(1); ; n++ {
			b.mu.Lock()
			b.live["one"] = &web.Live{ShardsIssued: n}
			b.mu.Unlock()
			select {
			case <-done:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	p := open(t, slow.URL+"/", 1440, 900, false)
	p.await("Number(document.querySelector('.plots .chart canvas')?.dataset.points ?? 0) > 1")
}

// TestStale_RecordsWhilePointsAreThinned: a record that comes while the page loads fewer points is not lost by it,
// however late the answer is.
func TestStale_RecordsWhilePointsAreThinned(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", settings{steps: 20, seed: 1})
	p := open(t, b.url+"#/run/a?clip=0", 1000, 800, false)
	p.await(ready)
	// The first of the answers is held back.
	js[bool](p, "(window.loads = 0, window.real = fetch, window.held = new Promise((go) => { window.go = go; }), window.fetch = async (a, o) => { const answer = await real(a, o); if (String(a).includes('/metrics?') && loads++ === 0) { await held; setTimeout(() => { window.over = true; }, 500); } return answer; }, true)")
	b.grow(r, 21, 4100, settings{seed: 1})
	p.await("loads > 0")
	b.grow(r, 4101, 4101, settings{seed: 1, outlier: 4101})
	time.Sleep(time.Second) // its event comes
	js[bool](p, "(go(), true)")
	p.await("window.over")
	p.await("document.querySelector('.chart canvas').ariaLabel.includes('train −500')")
}

// TestStale_NotesAreKept: Escape asks before it leaves what was typed, and what is saved or untouched needs no answer.
func TestStale_NotesAreKept(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	write := func(note string) {
		p.await("!document.querySelector('.labels details')?.hidden && document.getElementById('comment')")
		js[bool](p, fmt.Sprintf("(document.querySelector('.labels details').open = true, document.getElementById('comment').value = %q, document.getElementById('comment').focus(), true)", note))
	}
	js[bool](p, "(location.hash = '/run/rate-0-1', true)")
	write("a thought")
	p.press(kb.Escape)
	p.await("document.querySelector('.labels .said').innerText.startsWith('not saved')")
	if got := js[string](p, "location.hash + document.getElementById('comment').value"); got != "#/run/rate-0-1a thought" {
		t.Fatalf("after one Escape: %s", got)
	}
	p.click(".labels form button[type=submit]")
	p.await("document.querySelector('.labels .said').innerText === 'saved'")
	p.press(kb.Escape)
	p.await("location.hash.startsWith('#/') && !location.hash.includes('run')")
	js[bool](p, "(location.hash = '/run/rate-0-2', true)")
	write("another one")
	p.press(kb.Escape, kb.Escape)
	p.await("!location.hash.includes('run')")
}

// TestStale_DeleteAsksAgain: runs that are selected after the question are not deleted by the answer to it.
func TestStale_DeleteAsksAgain(t *testing.T) {
	b := searched(t)
	p := open(t, b.url+"#token="+token, 1440, 900, false)
	p.await("document.querySelectorAll('.runs tbody tr').length === 6")
	p.click(".runs tbody tr:nth-child(1) .pick input")
	p.click(".picks .danger")
	p.click(".runs tbody tr:nth-child(2) .pick input")
	p.click(".picks .danger")
	p.await("document.querySelector('.picks .danger').innerText === 'Delete 2 runs with all files?'")
	if all, err := store.List(b.dir); err != nil || len(all) != 6 {
		t.Errorf("%d runs are left, %v", len(all), err)
	}
}

// TestStale_LogStaysOpen: who reads the log of a run goes on reading when the run has ended.
func TestStale_LogStaysOpen(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", settings{steps: 40, of: 1000, seed: 1})
	p := open(t, b.url+"#/run/a", 1000, 800, false)
	p.await(ready)
	js[bool](p, "(document.querySelector('.rest details').open = true)")
	if err := errors.Join(r.End(store.Interrupted, ""), r.Close()); err != nil {
		t.Fatal(err)
	}
	p.await("document.querySelector('.pill').dataset.state === 'interrupted'")
	p.await("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/api/runs/a') && e.responseEnd > 0).length > 1")
	p.await("document.querySelector('.rest details').open")
}

// sweepFilter types into the filter of a sweep.
func (p *tab) sweepFilter(words string) {
	p.t.Helper()
	js[bool](p, fmt.Sprintf("(() => { const f = document.getElementById('filter'); f.value = %q; f.dispatchEvent(new Event('input')); return true; })()", words))
}

// TestStale_SweepFilter: key=value is a whole value. What is chosen in the view of a sweep stays when the server does
// not answer for a moment.
func TestStale_SweepFilter(t *testing.T) {
	text, err := os.ReadFile("testdata/sweep.json")
	var report map[string]any
	if err := errors.Join(err, json.Unmarshal(text, &report)); err != nil {
		t.Fatal(err)
	}
	report["state"], report["live"] = "running", true // it is asked for again after two seconds
	asked, away := make(chan bool, 1000), atomic.Bool{}
	b := newBench(t, "", &web.Sweeps{List: func() any { return []any{} }, Show: func(string) (any, error) {
		if away.Load() {
			asked <- true
			return nil, errors.New("the disk is away")
		}
		return report, nil
	}})
	p := open(t, b.url+"sweeps.html#/rates", 1440, 900, false)
	const shown = "document.querySelector('.tools h2').innerText"
	p.await("document.querySelector('.tools h2')")
	counts := map[string]string{}
	for _, words := range []string{"hidden=1", "hidden=16", "model.hidden=16", "hidden=16 switching=normal", "hidden=", "idden=16"} {
		p.sweepFilter(words)
		counts[words] = js[string](p, shown)
	}
	if counts["hidden=1"] != "0 of 20 trials" || counts["idden=16"] != "0 of 20 trials" || counts["hidden=16"] == "0 of 20 trials" ||
		counts["hidden=16"] != counts["model.hidden=16"] || counts["hidden=16"] == counts["hidden=16 switching=normal"] || counts["hidden="] != "20 of 20 trials" {
		t.Errorf("shown: %v", counts)
	}
	p.sweepFilter("hidden=16")
	away.Store(true)
	<-asked
	p.await("document.getElementById('link').innerText.startsWith('connection lost')")
	away.Store(false)
	p.await("document.getElementById('link').innerText === 'live'")
	if got := js[string](p, "document.getElementById('filter').value"); got != "hidden=16" {
		t.Errorf("the filter is %q", got)
	}
	p.forgive("500")
}

// TestTerms_SwitchingIsAShare: what is no term of the loss has a chart of its own, in its unit; the loss has no weight.
func TestTerms_SwitchingIsAShare(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", settings{steps: 2, of: 100, seed: 1})
	for step := uint64(3); step < 40; step++ {
		if err := r.Append(store.Record{Step: step, Split: "train", Time: time.Now(), Values: store.Values{"objective": -1, "loss": 1, "switching": 0.1}}); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, b.url+"#/run/a", 1000, 800, false)
	p.await(ready)
	chart := func(title string) string {
		return fmt.Sprintf("[...document.querySelectorAll('.chart')].find((c) => c.querySelector('h3').firstChild.data === %q)?.innerText", title)
	}
	p.await(chart("Switching") + "?.includes('share of the steps')")
	if got := js[string](p, chart("Terms of the loss")); strings.Contains(got, "switching") || strings.Contains(got, "× 0") {
		t.Errorf("the terms are %q", got)
	}
}
