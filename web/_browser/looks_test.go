package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

// several are runs of every state.
func several(t *testing.T, token string) *bench {
	b := newBench(t, token)
	b.run("base-1", settings{steps: 300, of: 300, seed: 1, state: store.Finished})
	b.run("base-2", settings{steps: 300, of: 300, seed: 2, state: store.Finished})
	b.run("base-3", settings{steps: 300, of: 300, seed: 3, state: store.Finished})
	b.run("wide-1", settings{steps: 260, of: 300, seed: 1, overrides: []string{"model.hidden=256"}, config: "train:\n  hidden: 256\n", state: store.Interrupted, reason: "Ctrl-C"})
	b.run("a-first-try-with-a-long-name", settings{
		steps: 40, of: 300, seed: 9, overrides: []string{"env.files=recordings/of/the/first/week.csv", "optim.rate=1", "seed=9"},
		state: store.Failed, reason: "the loss is not finite at step 40: lower optim.rate, or raise optim.clip",
	})
	if err := store.Rename(b.dir, "a-first-try-with-a-long-name", "broken"); err != nil {
		t.Fatal(err)
	}
	b.run("under-way", settings{steps: 120, of: 1000, seed: 4})
	b.live["under-way"] = &web.Live{Term: 1, ShardsIssued: 900, ShardsUseful: 880, Workers: []web.Worker{{ID: "local-1", Slots: 2, Busy: 1, Speed: 41, State: "computing", LastSeen: time.Now()}, {ID: "local-2", Slots: 2, State: "idle", LastSeen: time.Now()}}}
	return b
}

// views are the addresses of all views with what is there when they are complete.
var views = []struct{ name, address, ready string }{
	{"runs", "#/", "document.querySelectorAll('.runs tbody tr').length === 6"},
	{"picked", "#/?pick=base-1,base-2&sort=best&filter=base", "document.querySelectorAll('.runs tbody tr').length === 3"},
	{"grouped", "#/?group=model.kind&cols=state,best,seed", "document.querySelectorAll('.runs tbody tr.group').length === 1"},
	{"mistaken", "#/?filter=optim.rat%3E0.1", "document.querySelector('.mistake').innerText.includes('did you mean optim.rate?')"},
	{"run", "#/run/base-1", "document.querySelectorAll('.model figure').length === 4 && document.querySelector('.measured')"},
	{"under", "#/run/under-way", "document.querySelectorAll('.model figure').length === 4 && document.querySelector('.measured')"},
	{"compare", "#/compare?runs=base-1,base-2,base-3,wide-1", "document.querySelectorAll('.compare tbody tr').length === 4"},
	{"missing", "#/run/nowhere", "document.body.innerText.includes('There is no such run: nowhere')"},
	{"sweeps", "sweeps.html", "document.querySelectorAll('tbody tr').length === 1"},
	{"sweep", "sweeps.html#/rates", "document.querySelectorAll('svg').length > 5 && document.querySelectorAll('tbody tr').length === 20"},
}

// TestLooks visits every view at three widths in both schemes: nothing is wider than the window, everything that one
// can press is large enough, and every text can be told from its ground.
func TestLooks(t *testing.T) {
	b := several(t, token)
	for _, width := range []int{360, 800, 1440} {
		for _, dark := range []bool{false, true} {
			scheme := map[bool]string{false: "light", true: "dark"}[dark]
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				p := open(t, b.url+"#token="+token, width, 900, dark)
				p.await("document.querySelectorAll('.runs tbody tr').length === 6")
				for _, v := range views {
					p.look(v.address, v.ready)
					p.picture(fmt.Sprintf("%s-%d-%s", v.name, width, scheme))
				}
				p.forgive("404") // of the run that is missing
			})
		}
	}
}

// TestLooks_NothingThere: a folder without runs says what to do, and a server that is gone is named; both look as they should.
func TestLooks_NothingThere(t *testing.T) {
	for _, width := range []int{360, 1440} {
		for _, dark := range []bool{false, true} {
			scheme := map[bool]string{false: "light", true: "dark"}[dark]
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				b := newBench(t, "")
				p := open(t, b.url, width, 900, dark)
				p.await("document.querySelector('.empty')?.innerText.includes('switchyard train')")
				p.sound("no runs")
				p.picture(fmt.Sprintf("none-%d-%s", width, scheme))
				b.run("a", settings{steps: 30, seed: 1})
				js[bool](p, "(location.hash = '#/run/a', true)")
				p.await(ready)
				b.stop()
				p.await("document.getElementById('link').innerText.includes('connection lost')")
				p.sound("lost, with a run in view")
				p.picture(fmt.Sprintf("lost-%d-%s", width, scheme))
				js[bool](p, "(location.hash = '#/', true)")
				p.await("document.body.innerText.includes('The server does not answer')")
				p.sound("lost")
				p.picture(fmt.Sprintf("gone-%d-%s", width, scheme))
				p.forgive("ERR_")
			})
		}
	}
}

// look checks one view.
func (p *tab) look(address, ready string) {
	p.t.Helper()
	if strings.HasPrefix(address, "#") {
		js[bool](p, fmt.Sprintf("(location.hash = %q, true)", address))
	} else {
		p.do(chromedp.Navigate(p.base + address))
	}
	p.await(ready)
	p.sound(address)
}

// sound checks what is in view.
func (p *tab) sound(address string) {
	p.t.Helper()
	js[bool](p, "(document.querySelectorAll('details').forEach((d) => { d.open = true; }), true)")
	if !p.fits() {
		p.t.Errorf("%s is wider than the window: %s", address, js[string](p, wide))
	}
	for _, fault := range js[[]string](p, small) {
		p.t.Errorf("%s: too small: %s", address, fault)
	}
	for _, fault := range js[[]string](p, faint) {
		p.t.Errorf("%s: too faint: %s", address, fault)
	}
	for _, fault := range js[[]string](p, overlaps) {
		p.t.Errorf("%s: texts overlap: %s", address, fault)
	}
	for _, fault := range js[[]string](p, painted) {
		p.t.Errorf("%s: too faint on a canvas: %s", address, fault)
	}
}

// fits reports whether nothing is wider than the window. What is still being laid out has some seconds.
func (p *tab) fits() bool {
	p.t.Helper()
	for range 50 {
		if js[bool](p, "document.documentElement.scrollWidth <= innerWidth") {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// wide lists what reaches beyond the window, with its left and right edge.
const wide = `[...document.querySelectorAll('body *')].map((e) => ({ e, r: e.getBoundingClientRect() })).filter(({ r }) => r.right > innerWidth)
  .map(({ e, r }) => e.tagName + '.' + (e.getAttribute('class') ?? '') + ' ' + Math.round(r.left) + '…' + Math.round(r.right) + ' ' + e.textContent.slice(0, 40)).join('; ')`

// small finds what one can press that is less than 24 pixels wide or high. A label is part of what it names.
const small = `[...document.querySelectorAll('a, button, input, select, summary')].map((e) => {
  const target = e.closest('label') ?? e;
  const r = target.getBoundingClientRect();
  return { e, r };
}).filter(({ e, r }) => r.width > 0 && !e.matches('.skip') && (r.width < 24 || r.height < 24))
  .map(({ e, r }) => e.tagName + '.' + e.className + ' ' + (e.textContent || e.ariaLabel || e.outerHTML).slice(0, 60) + ' ' + Math.round(r.width) + '×' + Math.round(r.height))`

// painted finds colours of texts and lines on a canvas, or in a drawing, whose contrast with the panel is below 4.5 to 1.
const painted = `(() => {
  const style = getComputedStyle(document.documentElement);
  const rgb = (name) => style.getPropertyValue('--' + name).trim().match(/[0-9a-f]{2}/gi).map((v) => parseInt(v, 16) / 255);
  const light = (c) => c.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = light(rgb('panel'));
  return ['ink', 'muted', 'accent', 'good', 'warn', 'bad', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((name) => {
    const l = light(rgb(name));
    return [name, (Math.max(l, ground) + 0.05) / (Math.min(l, ground) + 0.05)];
  }).filter(([, contrast]) => contrast < 4.5).map(([name, contrast]) => name + ' ' + contrast.toFixed(2));
})()`

// faint finds texts whose contrast with their ground is below 4.5 to 1 (WCAG 2.2, 1.4.3); what is disabled is exempt.
const faint = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;
  const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255); };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const ground = (e) => {
    const layers = [];
    for (let n = e; n; n = n.parentElement) layers.push(rgba(getComputedStyle(n).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [1, 1, 1]);
  };
  const light = (c) => c.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const faults = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || !e.getClientRects().length || e.closest('.skip, noscript, script, :disabled, option, .flow, .count')) continue;
    const style = getComputedStyle(e);
    const below = ground(e);
    let opacity = 1;
    for (let a = e; a; a = a.parentElement) opacity *= Number(getComputedStyle(a).opacity);
    const color = rgba(e instanceof SVGElement ? style.fill : style.color);
    color[3] *= opacity;
    const [a, b] = [light(over(color, below)), light(below)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faults.add(e.tagName + '.' + (e.getAttribute('class') ?? '') + ' "' + n.textContent.trim().slice(0, 30) + '" ' + contrast.toFixed(2));
  }
  return [...faults];
})()`
