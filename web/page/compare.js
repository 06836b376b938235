// Several runs side by side: their charts over one another, what differs in their configurations, how they ended.

import { el, text, number, count, bytes, loading } from './dom.js';
import { get, runPath } from './api.js';
import { Group, Chart } from './chart.js';
import { Store } from './store.js';
import { chartTools, options, range } from './chartoptions.js';
import { keep, setting, runAddress, listAddress } from './address.js';
import { stateOf, stateWord, dot } from './table.js';
import { flatten, differences, seedGroups, meanOf } from './groups.js';

const hues = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];
const dashes = [[], [6, 3], [2, 3]];
const measures = [
  ['train', 'objective', 'Objective', 'training'], ['validation', 'objective', 'Objective', 'validation'],
  ['validation', 'elbo', 'Evidence lower bound', 'nats, validation'], ['train', 'gradient_norm', 'Gradient norm', 'before clipping'],
  ['train', 'step_seconds', 'Time of a step', 's'],
];
const points = 600;

// CompareView is the view of several runs.
export class CompareView {
  constructor(names, { state }) {
    Object.assign(this, { names, state, runs: [], stop: new AbortController() });
    this.group = new Group(options());
    this.group.range = range();
    this.banded = setting('seeds', '1') === '1';
    this.sort = { key: setting('sort'), up: setting('up') === '1' };
    this.turned = { key: setting('by'), up: setting('byup') === '1' }; // of the differences: by which run's values
    const tools = chartTools(this.group, () => this.draw());
    this.group.onzoom = (r) => { tools.zoomed(r); this.zoomed(r); };
    tools.node.insertBefore(el('label', { title: 'Runs that differ in their seed alone are one line, with a band from the least to the greatest' },
      el('input', { type: 'checkbox', checked: this.banded, onchange: (e) => { this.banded = e.target.checked; keep({ seeds: this.banded ? '1' : '0' }); this.draw(); } }), 'seeds as mean and band'), tools.node.querySelector('.hint'));
    this.charts = measures.map(([split, metric, title, unit]) => ({ split, metric, chart: new Chart(this.group, { title, unit }) }));
    this.results = el('div', { class: 'wide' });
    this.table = el('div', { class: 'wide' });
    this.wait = loading();
    this.node = el('div', { class: 'compare' },
      el('div', { class: 'top' }, el('a', { class: 'back', href: listAddress(), 'aria-label': 'All runs' }, '←'), el('h1', {}, 'Compare')), this.wait,
      el('section', { class: 'charts', 'aria-label': 'Charts' }, tools.node, el('div', { class: 'grid' }, ...this.charts.map((c) => c.chart.node))),
      el('section', { class: 'panel' }, el('header', {}, el('h2', {}, 'Results')), this.results),
      el('section', { class: 'panel' }, el('header', {}, el('h2', {}, 'What differs')), this.table));
  }

  async open() {
    const all = await Promise.all(this.names.map((name) => this.read(name).catch((error) => ({ name, error }))));
    if (this.stop.signal.aborted) return;
    this.runs = all.filter((r) => !r.error);
    const gone = all.filter((r) => r.error);
    for (const r of gone) if (r.error.constructor.name === 'Refused') throw r.error;
    this.state('live');
    if (gone.length) this.wait.replaceChildren(`There is no run ${gone.map((r) => r.name).join(', ')}.`);
    else if (this.runs.length === 0) this.wait.replaceChildren('No runs are chosen: tick some in the table of runs.');
    else this.wait.remove();
    this.draw();
    this.tables();
    if (this.group.range) this.zoomed(this.group.range);
    this.clock = setInterval(() => this.again(), 5000);
  }

  async read(name) {
    const store = new Store(name);
    const [detail] = await Promise.all([get(runPath(name)), store.load(null, points)]);
    return { name, detail, store, config: flatten(detail.config) };
  }

  // again reads runs that are under way; what has not changed is not sent a second time.
  async again() {
    const under = this.runs.filter((r) => r.detail.state === 'running');
    if (under.length === 0) return;
    try {
      await Promise.all(under.map(async (r) => {
        r.detail = await get(runPath(r.name));
        if (!r.store.range) await r.store.load(null, points);
      }));
      this.state('live');
    } catch { this.state('lost'); }
    this.draw();
    this.tables();
  }

  close() {
    this.stop.abort();
    clearInterval(this.clock);
    for (const c of this.group.charts) c.observer.disconnect();
  }

  // zoomed fetches the range in detail.
  async zoomed(r) {
    const asked = this.asked = {};
    const fresh = await Promise.all(this.runs.map(async (run) => {
      const steps = r && this.group.options.time ? r.map((t) => run.store.stepAt(t)) : r;
      const store = new Store(run.name);
      store.start = run.store.start;
      await store.load(steps && [steps[0] - 1, steps[1] + 1], points).catch(() => {});
      return store;
    }));
    if (this.asked !== asked) return;
    this.runs.forEach((run, i) => { run.store = fresh[i]; });
    this.draw();
  }

  // groups are the lines: runs that differ in their seed alone together, or each run alone.
  groups() {
    const list = this.banded ? seedGroups(this.runs) : this.runs.map((r) => ({ runs: [r], label: r.name }));
    return list.map((g, i) => ({ ...g, color: hues[i % hues.length], dash: dashes[Math.floor(i / hues.length) % dashes.length] }));
  }

  draw() {
    const { time } = this.group.options;
    const groups = this.groups();
    for (const { split, metric, chart } of this.charts) {
      const lines = [];
      for (const g of groups) {
        const own = g.runs.map((r) => r.store.line(split, metric, time)).filter((l) => l.x.length > 0);
        if (own.length === 0) continue;
        const look = { name: g.label, label: true, color: g.color, dash: g.dash };
        lines.push(own.length > 1 ? { ...look, ...meanOf(own), spread: true, note: `mean, least and greatest of ${own.length} seeds` } : { ...look, ...own[0] });
      }
      chart.node.hidden = lines.length === 0 && this.runs.length > 0;
      chart.set(lines);
    }
  }

  // tables shows results and differences, a row for each run.
  tables() {
    const name = (r) => el('th', { scope: 'row' }, el('a', { href: runAddress(r.name) }, r.name));
    const d = (r) => r.detail;
    this.results.replaceChildren(this.sortable([
      ['run', (r) => r.name, name], ['state', (r) => stateWord(stateOf(d(r))), (r) => el('td', {}, dot(stateOf(d(r))), ` ${stateWord(stateOf(d(r)))}`)],
      ['seed', (r) => d(r).seed, (r) => el('td', {}, String(d(r).seed))], ['step', (r) => d(r).step, (r) => el('td', {}, `${count(d(r).step)} of ${count(d(r).steps)}`)],
      ['best objective', (r) => d(r).metrics?.best_validation_objective, (r) => el('td', {}, number(d(r).metrics?.best_validation_objective))],
      ['at step', (r) => d(r).metrics?.best_step, (r) => el('td', {}, count(d(r).metrics?.best_step))],
      ['ELBO', (r) => d(r).metrics?.validation_elbo, (r) => el('td', {}, number(d(r).metrics?.validation_elbo))],
      ['parameters', (r) => d(r).parameters, (r) => el('td', {}, count(d(r).parameters))], ['disk', (r) => d(r).disk, (r) => el('td', {}, bytes(d(r).disk))],
    ]));
    const keys = differences(this.runs.map((r) => r.config));
    if (keys.length === 0) {
      this.table.replaceChildren(el('p', { class: 'fine' }, this.runs.length > 1 ? 'Their configurations are the same.' : 'One run differs from nothing.'));
      return;
    }
    this.table.replaceChildren(this.differing(keys));
  }

  // differing is the table of the keys that differ, sorted by key or by the values of a run.
  differing(keys) {
    const { key: by, up } = this.turned;
    const run = this.runs.find((r) => r.name === by);
    const value = (k) => (run ? run.config.get(k) ?? '' : k);
    const order = new Intl.Collator('en', { numeric: true });
    const rows = by ? [...keys].sort((a, b) => order.compare(value(a), value(b)) * (up ? 1 : -1)) : keys;
    const turn = (name, title) => {
      this.turned = { key: name, up: by === name ? !up : true };
      keep({ by: name, byup: this.turned.up });
      this.tables();
      [...this.table.querySelectorAll('th button')].find((b) => b.textContent === title)?.focus();
    };
    const head = (name, title) => el('th', { scope: 'col', 'aria-sort': name === by ? (up ? 'ascending' : 'descending') : null }, el('button', { type: 'button', onclick: () => turn(name, title) }, title));
    return el('table', { class: 'values' },
      el('thead', {}, el('tr', {}, head('key', 'key'), ...this.runs.map((r) => head(r.name, r.name)))),
      el('tbody', {}, ...rows.map((k) => el('tr', {}, el('th', { scope: 'row' }, el('code', {}, k)), ...this.runs.map((r) => el('td', { title: r.config.get(k) ?? '' }, r.config.get(k) ?? '–'))))));
  }

  // sortable is a table that can be sorted by each of its columns: title, value, cell.
  sortable(columns) {
    const rows = [...this.runs];
    const by = columns.find(([title]) => title === this.sort.key)?.[1];
    if (by) rows.sort((a, b) => ((by(a) ?? -Infinity) < (by(b) ?? -Infinity) ? -1 : 1) * (this.sort.up ? 1 : -1));
    const turn = (title) => {
      this.sort = { key: title, up: this.sort.key === title ? !this.sort.up : false };
      keep({ sort: title, up: this.sort.up });
      this.tables();
      [...this.results.querySelectorAll('th button')].find((b) => b.textContent === title)?.focus();
    };
    return el('table', { class: 'values' },
      el('thead', {}, el('tr', {}, ...columns.map(([title]) => el('th', { scope: 'col', 'aria-sort': title === this.sort.key ? (this.sort.up ? 'ascending' : 'descending') : null },
        el('button', { type: 'button', onclick: () => turn(title) }, title))))),
      el('tbody', {}, ...rows.map((r) => el('tr', {}, ...columns.map(([, , cell]) => cell(r))))));
  }

  key(e) { if (e.key === 'Escape') location.hash = listAddress(); }
}
