// Several runs side by side: their charts over one another, and a table of what they reached beside what differs in their
// settings.

import { el, text, count, loading } from './dom.js';
import { get } from './api.js';
import { Columns, sorted } from './columns.js';
import { Curves, look, mostColours } from './curves.js';
import { Grid } from './grid.js';
import { picker } from './picker.js';
import { differing } from './differences.js';
import { seedGroups } from './groups.js';
import { keep, setting, runAddress, listAddress } from './address.js';
import { stateOf } from './states.js';

const metrics = 'train/objective,validation/objective,validation/elbo,train/gradient_norm,train/step_seconds';
const results = ['state', 'seed', 'step', 'best', 'validation/elbo', 'parameters'];

// CompareView is the view of several runs.
export class CompareView {
  constructor(names, { state }) {
    Object.assign(this, { names, state, runs: [], columns: new Columns(), stop: new AbortController() });
    this.banded = setting('seeds', '1') === '1';
    this.sort = { key: setting('sort'), up: setting('up') === '1' };
    this.chosen = setting('cols') ? setting('cols').split(',') : null;
    this.curves = new Curves({ metrics, failed: () => this.state('lost') });
    this.curves.tools.insertBefore(el('label', { title: 'Runs that differ only in seed share one line, with a band from lowest to highest' },
      el('input', { type: 'checkbox', checked: this.banded, onchange: (e) => { this.banded = e.target.checked; keep({ seeds: this.banded ? '' : '0' }); this.draw(); } }), 'seeds as mean and band'), this.curves.adding);
    this.grid = new Grid({ sort: (key) => this.turn(key), pick: (list, yes) => this.pick(list, yes), hover: (name) => this.curves.point(name), go: (name) => { location.hash = runAddress(name); } });
    this.picker = picker({ columns: this.columns, chosen: () => this.keys(), usual: [], change: (keys) => { this.chosen = keys.length ? keys : null; keep({ cols: keys.join(',') }); this.draw(); } });
    this.same = el('p', { class: 'fine' });
    this.wait = loading();
    this.node = el('div', { class: 'compare runs' },
      el('div', { class: 'top' }, el('a', { class: 'back', href: listAddress(), 'aria-label': 'All runs' }, '←'), el('h1', {}, 'Compare')), this.wait, this.curves.node,
      el('div', { class: 'tools' }, el('h2', {}, 'Results and what differs'), this.same, this.picker.node), this.grid.node);
  }

  async open() {
    const [all, table] = await Promise.all([get('api/runs'), get('api/table')]);
    if (this.stop.signal.aborted) return;
    this.state('live');
    const byName = new Map(all.runs.map((r) => [r.name, r]));
    const gone = this.names.filter((n) => !byName.has(n));
    if (gone.length) this.wait.replaceChildren(`There is no run ${gone.join(', ')}.`);
    else if (this.names.length === 0) this.wait.replaceChildren('No runs are chosen: tick some in the table of runs.');
    else this.wait.remove();
    this.take(all.runs, table);
    this.clock = setInterval(() => this.again(), 5000);
  }

  take(runs, table) {
    const byName = new Map(runs.map((r) => [r.name, r]));
    this.runs = this.names.map((n) => byName.get(n)).filter(Boolean);
    for (const r of this.runs) Object.assign(r, { stamp: {}, shownState: stateOf(r) });
    this.columns.take(table);
    for (const r of this.runs) r.config = new Map(this.columns.settings.map((key) => [key, this.columns.get(key).value(r)]).filter(([, v]) => v !== undefined));
    this.curves.offer(Object.keys(table.training));
    this.picker.fill();
    this.draw();
  }

  // again reads runs that go on; what has not changed is not sent a second time.
  async again() {
    if (!this.runs.some((r) => r.state === 'running')) return;
    try {
      const [all, table] = await Promise.all([get('api/runs'), get('api/table')]);
      if (this.stop.signal.aborted) return;
      this.state('live');
      this.take(all.runs, table);
    } catch { this.state('lost'); }
  }

  close() {
    this.stop.abort();
    clearInterval(this.clock);
    this.curves.close();
    this.grid.close();
    this.picker.close();
  }

  // keys are the columns: results, and the settings that differ, unless others were chosen.
  keys() { return this.chosen ?? [...results, ...differing(this.columns, this.runs).filter((key) => key !== 'seed')]; }

  // lines are those of the charts: runs that differ in their seed alone together, or each run alone.
  lines() {
    const list = this.banded ? seedGroups(this.runs) : this.runs.map((r) => ({ runs: [r], label: r.name }));
    return list.map((g, i) => ({ ...g, ...look(i), dash: list.length > mostColours ? [] : look(i).dash }));
  }

  draw() {
    const lines = this.lines();
    for (const l of lines) for (const r of l.runs) r.hue = lines.length > mostColours ? undefined : l.color;
    this.curves.show(lines);
    const column = this.columns.get(this.sort.key);
    const rows = column ? sorted(this.runs, column, this.sort.up) : this.runs;
    this.grid.show({ columns: this.columns.list(['name', ...this.keys()]), items: rows.map((run) => ({ run })), sort: this.sort, picked: new Set(this.names) });
    const n = differing(this.columns, this.runs).length;
    text(this.same, this.runs.length < 2 ? '' : n === 0 ? 'Their configurations are the same.' : `${count(n)} ${n === 1 ? 'setting differs' : 'settings differ'}.`);
  }

  turn(key) {
    this.sort = { key, up: this.sort.key === key ? !this.sort.up : this.columns.get(key).up === true };
    keep({ sort: key, up: this.sort.up });
    this.draw();
  }

  // pick leaves runs out of the comparison.
  pick(list, yes) {
    if (yes) return;
    this.names = this.names.filter((n) => !list.includes(n));
    this.runs = this.runs.filter((r) => !list.includes(r.name));
    keep({ runs: this.names.map(encodeURIComponent).join(',') });
    this.draw();
  }

  recolour() { this.curves.group.draw(); }

  key(e) { if (e.key === 'Escape') location.hash = listAddress(); }
}
