package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/web"
)

// several are runs of every state.
func several(t *testing.T, token string) *bench {
	b := newBench(t, token)
	b.run("base-1", settings{steps: 300, of: 300, seed: 1, state: runs.Finished})
	b.run("base-2", settings{steps: 300, of: 300, seed: 2, state: runs.Finished})
	b.run("base-3", settings{steps: 300, of: 300, seed: 3, state: runs.Finished})
	b.run("wide-1", settings{steps: 260, of: 300, seed: 1, overrides: []string{"model.hidden=256"}, config: "train:\n  hidden: 256\n", state: runs.Interrupted, reason: "Ctrl-C"})
	b.run("broken", settings{steps: 40, of: 300, seed: 9, overrides: []string{"optim.rate=1", "seed=9"}, state: runs.Failed, reason: "the loss is not finite at step 40"})
	b.run("under-way", settings{steps: 120, of: 1000, seed: 4})
	b.live["under-way"] = &web.Live{Term: 1, ShardsIssued: 900, ShardsUseful: 880, Workers: []web.Worker{{ID: "local-1", Slots: 2, Busy: 1, Speed: 41, State: "computing", LastSeen: time.Now()}, {ID: "local-2", Slots: 2, State: "idle", LastSeen: time.Now()}}}
	return b
}

// views are the addresses of all views with what is there when they are complete.
var views = []struct{ name, address, ready string }{
	{"runs", "#/", "document.querySelectorAll('.runs tbody tr').length === 6"},
	{"picked", "#/?pick=base-1,base-2&sort=best&filter=base", "document.querySelectorAll('.runs tbody tr').length === 3"},
	{"run", "#/run/base-1", "document.querySelectorAll('.model figure').length === 4 && document.querySelector('.measured')"},
	{"under", "#/run/under-way", "document.querySelectorAll('.model figure').length === 4 && document.querySelector('.measured')"},
	{"compare", "#/compare?runs=base-1,base-2,base-3,wide-1", "document.querySelectorAll('.values tbody tr').length > 4"},
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
			})
		}
	}
}

// look checks one view.
func (p *tab) look(address, ready string) {
	p.t.Helper()
	js[bool](p, fmt.Sprintf("(location.hash = %q, true)", address))
	p.await(ready)
	js[bool](p, "(document.querySelectorAll('details').forEach((d) => { d.open = true; }), true)")
	if over := js[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		p.t.Errorf("%s is %d pixels wider than the window", address, over)
	}
	for _, fault := range js[[]string](p, small) {
		p.t.Errorf("%s: too small: %s", address, fault)
	}
	for _, fault := range js[[]string](p, faint) {
		p.t.Errorf("%s: too faint: %s", address, fault)
	}
}

// small finds what one can press that is less than 24 pixels wide or high. A label is part of what it names.
const small = `[...document.querySelectorAll('a, button, input, select, summary')].map((e) => {
  const target = e.closest('label') ?? e;
  const r = target.getBoundingClientRect();
  return { e, r };
}).filter(({ e, r }) => r.width > 0 && !e.matches('.skip') && (r.width < 24 || r.height < 24))
  .map(({ e, r }) => e.tagName + '.' + e.className + ' ' + (e.textContent || e.ariaLabel).slice(0, 40) + ' ' + Math.round(r.width) + '×' + Math.round(r.height))`

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
    if (!n.textContent.trim() || !e.getClientRects().length || e.closest('.skip, noscript, script, :disabled, option')) continue;
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
