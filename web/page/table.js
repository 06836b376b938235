// The table of runs.

import { el, text, number, count, span, ago, moment, bytes, loading } from './dom.js';
import { get, listen } from './api.js';
import { keep, setting, runAddress, compareAddress } from './address.js';

const states = { running: 'under way', waiting: 'waits', finished: 'finished', interrupted: 'interrupted, with a checkpoint', failed: 'failed', lost: 'lost: its process is gone' };

// stateWord is a state in a word or two.
export const stateWord = (state) => ({ running: 'under way', waiting: 'waiting' }[state] ?? state);

// stateOf is the state of a run as it is shown.
export const stateOf = (r) => (r.state === 'running' && r.live?.waiting ? 'waiting' : r.state);

// dot shows a state.
export function dot(state) { return el('span', { class: 'dot', data: { state }, title: states[state] ?? state, 'aria-hidden': 'true' }); }

const best = (r) => r.metrics?.best_validation_objective;

// changed are the settings of a run on top of its preset, but for the seed, which has its own column.
export const changed = (r) => (r.overrides ?? []).filter((o) => !o.startsWith('seed=')).join(' ');

// columns: key, title, sort value, how a cell is filled, and whether small values come first.
const columns = [
  ['name', 'Run', (r) => r.name, (td, r) => td.replaceChildren(el('a', { href: runAddress(r.name) }, r.name), ...(r.was ? [el('small', {}, ` was ${r.was}`)] : [])), true],
  ['state', 'State', (r) => stateWord(stateOf(r)), (td, r) => td.replaceChildren(dot(stateOf(r)), stateWord(stateOf(r))), true],
  ['preset', 'Preset', (r) => r.preset, (td, r) => text(td, r.preset), true],
  ['seed', 'Seed', (r) => r.seed, (td, r) => text(td, String(r.seed)), true],
  ['changed', 'Changed', (r) => changed(r), (td, r) => { text(td, changed(r)); td.title = changed(r); }, true],
  ['step', 'Step', (r) => r.step / Math.max(1, r.steps), progress],
  ['objective', 'Objective', (r) => r.objective ?? -Infinity, (td, r) => text(td, number(r.objective))],
  ['best', 'Best', (r) => best(r) ?? -Infinity, (td, r) => {
    text(td, number(best(r)));
    td.title = r.metrics?.best_step ? `best validation, at step ${count(r.metrics.best_step)}` : '';
  }],
  ['rate', 'Steps/s', (r) => r.steps_per_second, (td, r) => text(td, r.steps_per_second ? number(r.steps_per_second) : '–')],
  ['workers', 'Workers', (r) => r.members, (td, r) => text(td, r.state === 'running' ? String(r.members) : '–')],
  ['disk', 'Disk', (r) => r.disk ?? 0, (td, r) => text(td, bytes(r.disk))],
  ['started', 'Started', (r) => Date.parse(r.started), (td, r) => { text(td, ago(r.started)); td.title = moment(r.started); }],
  ['note', 'Note', (r) => note(r), (td, r) => { text(td, note(r)); td.title = note(r); }, true],
];
const rising = (key) => columns.find(([k]) => k === key)?.[4] === true;

function progress(td, r) {
  if (!td.firstChild) td.append(el('span', {}), el('progress', { max: 1, 'aria-hidden': 'true' }));
  text(td.firstChild, `${count(r.step)} / ${count(r.steps)}`);
  td.lastChild.value = r.steps ? r.step / r.steps : 0;
}

// note is the one thing worth knowing beyond the numbers.
function note(r) {
  if (r.live?.waiting) return `waits: ${r.live.waiting}`;
  if (r.live?.quarantined?.length) return `${r.live.quarantined.length} quarantined`;
  if (r.state === 'running' && r.steps_per_second > 0) return `${span((r.steps - r.step) / r.steps_per_second)} left`;
  if (r.state === 'lost') return 'its process is gone';
  return r.exit_reason ?? '';
}

// mostPicked is how many runs one comparison shows.
const mostPicked = 12;

// Table is the view of all runs.
export class Table {
  constructor({ state }) {
    this.state = state;
    this.rows = new Map(); // name to {run, tr, cells, pick}
    this.order = [];
    this.sort = { key: setting('sort'), up: setting('up') === '1' };
    this.picked = new Set(setting('pick').split(',').filter(Boolean).map(decodeURIComponent));
    this.stop = new AbortController();
    this.filter = el('input', { type: 'search', placeholder: 'Filter by name, preset, state, setting', 'aria-label': 'Filter the runs', value: setting('filter'),
      oninput: () => { keep({ filter: this.filter.value }); this.arrange(); } });
    this.summary = el('p', { class: 'summary' });
    this.body = el('tbody');
    this.heads = columns.map(([key, title]) => el('th', { scope: 'col', class: key }, el('button', { type: 'button', onclick: () => this.by(key) }, title)));
    this.order1 = el('select', { 'aria-label': 'Sort by', onchange: (e) => this.sortBy(e.target.value, rising(e.target.value)) },
      el('option', { value: '' }, 'latest first'), ...columns.map(([key, title]) => el('option', { value: key, selected: key === this.sort.key }, title)));
    this.direction = el('button', { type: 'button', onclick: () => this.sortBy(this.sort.key, !this.sort.up) }, '↓');
    this.compare = el('a', { class: 'button', href: '#/', hidden: true }, 'Compare');
    this.empty = el('p', { class: 'empty', hidden: true });
    this.keys = el('ul', { class: 'offenders', hidden: true });
    this.wait = loading();
    this.node = el('div', { class: 'runs' },
      el('div', { class: 'top' }, el('h1', {}, 'Runs'), this.summary, this.compare, this.filter, el('div', { class: 'sorting' }, this.order1, this.direction)), this.keys,
      this.wait, el('table', { hidden: true }, el('thead', {}, el('tr', {}, el('th', { class: 'pick', scope: 'col' }, el('span', { class: 'hidden' }, 'Compare')), ...this.heads)), this.body), this.empty);
    this.marks();
  }

  async open() {
    const all = await get('api/runs');
    if (this.stop.signal.aborted) return;
    this.wait.remove();
    this.take(all.runs.map((r) => r.name), all.runs);
    this.name(all.keys);
    listen('api/events', { signal: this.stop.signal, state: this.state, on: (name, data) => {
      if (name === 'runs') { this.take(data.order, data.runs); this.name(data.keys); }
      if (name === 'error') this.fail?.(data);
    } });
    this.clock = setInterval(() => { for (const r of this.rows.values()) this.fill(r); }, 10000);
  }

  close() { this.stop.abort(); clearInterval(this.clock); }

  take(order, changed) {
    this.order = order;
    for (const run of changed) {
      let row = this.rows.get(run.name);
      if (!row) {
        const cells = columns.map(([key]) => el(key === 'name' ? 'th' : 'td', key === 'name' ? { class: key, scope: 'row' } : { class: key }));
        const pick = el('input', { type: 'checkbox', 'aria-label': `Compare ${run.name}`, checked: this.picked.has(run.name), onchange: (e) => this.choose(run.name, e.target.checked) });
        row = { cells, pick, tr: el('tr', { onclick: (e) => { if (!e.target.closest('a, label')) location.hash = runAddress(run.name); } }, el('td', { class: 'pick' }, el('label', {}, pick)), ...cells) };
        this.rows.set(run.name, row);
      }
      row.run = run;
      this.fill(row);
    }
    for (const name of [...this.rows.keys()]) if (!order.includes(name)) this.rows.delete(name);
    this.choose();
    this.arrange();
  }

  // choose takes a run into the comparison, or out of it.
  choose(name, yes) {
    if (name && yes) this.picked.add(name);
    else if (name) this.picked.delete(name);
    const names = [...this.picked].filter((n) => this.rows.has(n));
    if (name) keep({ pick: [...this.picked].map(encodeURIComponent).join(',') });
    for (const [n, row] of this.rows) row.pick.disabled = names.length >= mostPicked && !this.picked.has(n);
    this.compare.hidden = names.length < 2;
    this.compare.href = compareAddress(names);
    text(this.compare, `Compare ${names.length} runs`);
  }

  // name names the keys with which something is wrong.
  name(keys = []) {
    this.keys.hidden = keys.length === 0;
    this.keys.replaceChildren(...keys.map((k) => {
      const dropped = Object.entries(k.dropped ?? {}).map(([kind, n]) => `${count(n)} ${kind}`).join(', ');
      const what = k.banned ? `is banned since ${moment(k.since)}: ${k.reason}` : `sends more than workers do; dropped: ${dropped}`;
      return el('li', { data: { banned: String(k.banned) } }, 'Key ', el('code', {}, k.key), ` ${what}`);
    }));
  }

  fill({ run, tr, cells }) {
    tr.dataset.state = stateOf(run);
    columns.forEach(([key, , , show], i) => {
      // A link that is written anew loses the focus.
      const same = key === 'name' ? `${run.name} ${run.was ?? ''}` : key === 'state' ? tr.dataset.state : '';
      if (same && cells[i].dataset.same === same) return;
      if (same) cells[i].dataset.same = same;
      show(cells[i], run);
    });
  }

  // by sorts by a column, then the other way round, then not any more.
  by(key) {
    if (this.sort.key !== key) this.sortBy(key, rising(key));
    else if (this.sort.up === rising(key)) this.sortBy(key, !this.sort.up);
    else this.sortBy('', false);
  }

  sortBy(key, up) {
    this.sort = { key, up };
    keep({ sort: key, up: key && up });
    this.marks();
    this.arrange();
  }

  // marks shows how the table is sorted.
  marks() {
    columns.forEach(([k], i) => {
      if (k === this.sort.key) this.heads[i].setAttribute('aria-sort', this.sort.up ? 'ascending' : 'descending');
      else this.heads[i].removeAttribute('aria-sort');
    });
    this.order1.value = this.sort.key;
    this.direction.disabled = !this.sort.key;
    text(this.direction, this.sort.up ? '↑' : '↓');
    this.direction.setAttribute('aria-label', this.sort.up ? 'rising; turn round' : 'falling; turn round');
  }

  // arrange puts the rows that pass the filter into their order.
  arrange() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let rows = this.order.map((name) => this.rows.get(name)).filter(Boolean);
    const total = rows.length;
    const running = rows.filter((r) => r.run.state === 'running').length;
    rows = rows.filter(({ run }) => words.every((w) => `${run.name} ${run.preset} ${stateWord(stateOf(run))} ${stateOf(run)} seed=${run.seed} ${changed(run)}`.toLowerCase().includes(w)));
    const column = columns.find(([k]) => k === this.sort.key);
    if (column) {
      const value = column[2];
      rows.sort((a, b) => (value(a.run) < value(b.run) ? -1 : value(a.run) > value(b.run) ? 1 : 0) * (this.sort.up ? 1 : -1));
    }
    const want = rows.map((r) => r.tr);
    const have = [...this.body.children];
    if (want.length !== have.length || want.some((tr, i) => tr !== have[i])) {
      const focus = document.activeElement;
      this.body.replaceChildren(...want);
      if (this.body.contains(focus)) focus.focus();
    }
    text(this.summary, total === 0 ? '' : `${total} ${total === 1 ? 'run' : 'runs'}, ${running} under way`);
    this.empty.hidden = rows.length > 0;
    this.node.querySelector('table').hidden = total === 0;
    text(this.empty, total === 0 ? 'No runs yet. Start one with: switchyard train fhn' : 'No run passes the filter.');
  }

  // key moves between rows.
  key(e) {
    if (e.key === '/' && document.activeElement !== this.filter) { this.filter.focus(); e.preventDefault(); return; }
    if (e.key === 'Escape' && document.activeElement === this.filter) { this.filter.value = ''; keep({ filter: '' }); this.arrange(); this.filter.blur(); return; }
    const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!move) return;
    const links = [...this.body.querySelectorAll('th a')];
    const at = links.indexOf(document.activeElement);
    links[at < 0 ? (move > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + move))]?.focus();
    e.preventDefault();
  }
}
