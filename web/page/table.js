// The table of runs with what belongs to it: the filter, the groups, the columns, the plots of what is shown.

import { el, text, count, moment, loading } from './dom.js';
import { get, listen } from './api.js';
import { keep, setting, runAddress, compareAddress } from './address.js';
import { Columns, usual, sorted } from './columns.js';
import { differing, change } from './differences.js';
import { parse, nearest, Mistake } from './expression.js';
import { grouped, sortedGroups } from './grouping.js';
import { Grid } from './grid.js';
import { picker, columnSelect } from './picker.js';
import { Panel } from './panel.js';
import { look, mostColours } from './curves.js';
import { stateOf } from './states.js';
import { bulkEdit } from './edit.js';

const narrow = ['state', 'step', 'best', 'note']; // the columns where there is little room

// Table is the view of all runs.
export class Table {
  constructor({ state }) {
    Object.assign(this, { state, runs: new Map(), order: [], columns: new Columns(), stop: new AbortController(), open1: new Set() });
    this.sort = { key: setting('sort'), up: setting('up') === '1' };
    this.usual = matchMedia('(max-width: 720px)').matches ? narrow : usual;
    this.chosen = setting('cols') ? setting('cols').split(',') : this.usual;
    this.by = setting('group');
    this.picked = new Set(setting('pick').split(',').filter(Boolean).map(decodeURIComponent));
    this.passes = () => true;
    this.parts();
    this.node = el('div', { class: 'runs' },
      el('div', { class: 'top' }, el('h1', {}, 'Runs'), this.summary, this.filter), this.mistake, this.keys,
      el('div', { class: 'sorting tools' }, this.order1, this.direction, el('label', {}, 'Group by', this.grouping.node), this.picker.node, this.panel.choice, this.shelf, this.picks),
      this.wait, el('div', { class: 'bench', hidden: true }, this.grid.node, this.panel.node), this.empty);
    this.marks();
  }

  parts() {
    this.filter = el('input', { type: 'search', placeholder: 'Filter: words, or model.kind=slds and optim.rate>0.001', 'aria-label': 'Filter the runs', 'aria-describedby': 'mistake', value: setting('filter'), spellcheck: 'false',
      oninput: () => { keep({ filter: this.filter.value }); this.read(); this.arrange(); } });
    this.mistake = el('p', { class: 'mistake', id: 'mistake', role: 'alert', hidden: true });
    this.summary = el('p', { class: 'summary' });
    this.grid = new Grid({
      sort: (key) => this.turn(key), pick: (names, yes) => this.pick(names, yes), hover: (name) => this.panel.point(name),
      open: (g) => { if (!this.open1.delete(g.label)) this.open1.add(g.label); this.arrange(); }, go: (name) => { location.hash = runAddress(name); },
    });
    this.order1 = el('select', { 'aria-label': 'Sort by', onchange: (e) => this.sortBy(e.target.value, this.columns.get(e.target.value)?.up === true) });
    this.direction = el('button', { type: 'button', onclick: () => this.sortBy(this.sort.key, !this.sort.up) }, '↓');
    this.grouping = columnSelect({ label: 'Group by', columns: this.columns, value: this.by, none: 'nothing', first: (rows) => differing(this.columns, rows),
      change: (key) => { this.by = key; this.open1.clear(); keep({ group: key }); this.arrange(); } });
    this.picker = picker({ columns: this.columns, chosen: () => this.chosen, usual: this.usual, change: (keys) => this.choose(keys) });
    this.panel = new Panel({ columns: this.columns, failed: (error) => { if (!this.stop.signal.aborted) this.state('lost', error); }, filter: (condition) => this.narrow(condition) });
    this.compare = el('a', { class: 'button', href: '#/' }, 'Compare');
    this.bulk = bulkEdit(() => this.order.filter((n) => this.picked.has(n)).map((n) => this.runs.get(n)));
    this.shelved = el('input', { type: 'checkbox', checked: setting('archived') === '1', onchange: (e) => { keep({ archived: e.target.checked }); this.arrange(); } });
    this.shelf = el('label', { hidden: true }, this.shelved, el('span'));
    this.picks = el('span', { class: 'picks', hidden: true }, this.compare, this.bulk.node, el('button', { type: 'button', class: 'quiet', onclick: () => this.pick([...this.picked], false) }, 'Select none'));
    this.empty = el('p', { class: 'empty', hidden: true });
    this.keys = el('ul', { class: 'offenders', hidden: true });
    this.wait = loading();
  }

  async open() {
    const table = get('api/table');
    table.catch(() => {}); // where there are no runs to list, that is said
    const all = await get('api/runs');
    if (this.stop.signal.aborted) return;
    this.wait.remove();
    this.take(all.runs.map((r) => r.name), all.runs, false);
    this.name(all.keys);
    this.learn(await table);
    listen('api/events', { signal: this.stop.signal, state: this.state, on: (name, data) => {
      if (name === 'runs') { this.take(data.order, data.runs); this.name(data.keys); this.again(); }
      if (name === 'error') this.fail?.(data);
    } });
    this.clock = setInterval(() => this.grid.refill(), 10000);
  }

  // know takes what the server can do.
  know(about) { this.bulk.node.hidden = !about.can_edit; }

  close() {
    this.stop.abort();
    clearInterval(this.clock);
    clearTimeout(this.later);
    this.grid.close();
    this.picker.close();
    this.panel.close();
  }

  // learn takes the columns.
  learn(table) {
    if (this.stop.signal.aborted) return;
    this.columns.take(table);
    const rows = [...this.runs.values()];
    for (const r of rows) r.stamp = {};
    this.grouping.fill(this.by, rows);
    this.panel.learn(rows);
    this.picker.fill();
    this.read();
    this.arrange();
  }

  // again asks for the columns once more, at most every five seconds.
  again() {
    this.later ??= setTimeout(() => {
      this.later = undefined;
      get('api/table').then((t) => this.learn(t), () => {});
    }, 5000);
  }

  take(order, fresh, draw = true) {
    this.order = order;
    for (const run of fresh) this.runs.set(run.name, Object.assign(run, { stamp: {}, shownState: stateOf(run) }));
    for (const name of [...this.runs.keys()]) if (!order.includes(name)) this.runs.delete(name);
    if (draw || !this.columns.settings) this.read();
    this.arrange();
  }

  // read reads the filter. One that cannot be read is named, and the last one that could be stays.
  read() {
    const words = (r) => `${r.name} ${r.preset} ${stateOf(r)} ${(r.labels?.tags ?? []).join(' ')} ${(r.overrides ?? []).join(' ')}`.toLowerCase();
    const known = [...this.columns.all.keys()];
    try {
      this.passes = parse(this.filter.value, { key: (name) => this.columns.get(name)?.value, near: (name) => nearest(name, known), words });
      this.mistake.hidden = true;
      this.filter.removeAttribute('aria-invalid');
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      if (!this.columns.settings) return; // the columns are still on their way
      const source = this.filter.value;
      this.mistake.replaceChildren(source.slice(0, error.at), el('mark', {}, source.slice(error.at, error.end) || '␣'), source.slice(error.end), el('span', {}, error.message));
      this.mistake.hidden = false;
      this.filter.setAttribute('aria-invalid', 'true');
    }
  }

  // narrow adds a condition to the filter in the place of an earlier one.
  narrow({ old, fresh }) {
    const rest = this.filter.value.replace(old, '').trim().replace(/^and |\band *$/gi, '').replace(/ and +and /gi, ' and ').trim();
    const whole = fresh && / or |\|\|/i.test(rest) && !/^\([^()]*\)$/.test(rest) ? `(${rest})` : rest;
    this.filter.value = [whole, fresh].filter(Boolean).join(' and ');
    keep({ filter: this.filter.value });
    this.read();
    this.arrange();
  }

  choose(keys) {
    this.chosen = keys;
    keep({ cols: keys.join() === this.usual.join() ? '' : keys.join(',') });
    this.arrange();
  }

  // pick selects runs, or leaves them out.
  pick(names, yes) {
    for (const name of names) {
      if (yes) this.picked.add(name);
      else this.picked.delete(name);
    }
    keep({ pick: [...this.picked].map(encodeURIComponent).join(',') });
    this.arrange();
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

  // turn sorts by a column, then the other way round, then not any more.
  turn(key) {
    const up = this.columns.get(key).up === true;
    if (this.sort.key !== key) this.sortBy(key, up);
    else if (this.sort.up === up) this.sortBy(key, !this.sort.up);
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
    const { key, up } = this.sort;
    const list = this.columns.list([...new Set(['name', ...this.chosen, key])]);
    this.order1.replaceChildren(el('option', { value: '' }, 'latest first'), ...list.map((c) => el('option', { value: c.key }, c.title)));
    this.order1.value = key;
    this.direction.disabled = !key;
    text(this.direction, up ? '↑' : '↓');
    this.direction.setAttribute('aria-label', up ? 'ascending; reverse' : 'descending; reverse');
  }

  // shown are the runs that pass the filter, in their order.
  shown() {
    const all = this.order.map((name) => this.runs.get(name)).filter((r) => r && this.passes(r));
    const rows = this.shelved.checked ? all : all.filter((r) => !r.labels?.archived);
    const column = this.columns.get(this.sort.key);
    return column ? sorted(rows, column, this.sort.up) : rows;
  }

  // arrange puts what passes the filter into the table and the plots.
  arrange() {
    let rows = this.shown();
    const before = new Map(rows.map((r) => [r, r.changed]));
    change(this.columns, rows);
    for (const r of rows) if (before.get(r) !== r.changed) r.stamp = {};
    if (this.sort.key === 'changed') rows = this.shown();
    const by = this.columns.get(this.by);
    const groups = by ? this.groupsOf(rows, by) : null;
    this.colour(rows, groups);
    const items = groups ? groups.flatMap((group) => [{ group, open: this.open1.has(group.label) },
      ...(this.open1.has(group.label) ? group.members.map((run) => ({ run, inside: true })) : [])]) : rows.map((run) => ({ run }));
    const chosen = this.columns.list(['name', ...this.chosen.filter((k) => k !== this.by)]);
    this.grid.show({ columns: chosen, items, sort: this.sort, picked: this.picked });
    this.panel.show({ all: [...this.runs.values()], rows, groups, columns: chosen, picked: this.picked });
    this.tell(rows);
  }

  groupsOf(rows, by) {
    const groups = grouped(rows, by);
    const column = this.columns.get(this.sort.key);
    return column && column !== by ? sortedGroups(groups, column, this.sort.up) : groups;
  }

  // colour gives runs or groups the colours in which the plots have them, as far as they can be told apart.
  colour(rows, groups) {
    const list = groups ?? rows;
    for (const r of rows) r.hue = undefined;
    list.forEach((x, i) => { x.hue = list.length > mostColours ? undefined : look(i).color; });
    if (groups) for (const g of groups) for (const r of g.members) r.hue = g.hue;
  }

  // tell says how many runs there are and are picked.
  tell(rows) {
    const total = this.order.length;
    const away = [...this.runs.values()].filter((r) => r.labels?.archived).length;
    this.shelf.hidden = away === 0;
    text(this.shelf.lastChild, `${count(away)} archived`);
    const running = [...this.runs.values()].filter((r) => r.state === 'running').length;
    text(this.summary, total === 0 ? '' : `${rows.length < total ? `${count(rows.length)} of ` : ''}${count(total)} ${total === 1 ? 'run' : 'runs'}, ${count(running)} running`);
    this.empty.hidden = rows.length > 0;
    this.node.querySelector('.bench').hidden = total === 0;
    text(this.empty, total === 0 ? 'No runs yet. Start one with: switchyard train fhn' : 'No run passes the filter.');
    const names = this.order.filter((n) => this.picked.has(n));
    this.picks.hidden = names.length === 0;
    this.compare.hidden = names.length < 2;
    this.compare.href = compareAddress(names);
    text(this.compare, `Compare ${count(names.length)} runs`);
  }

  recolour() { this.panel.recolour(); }

  // key moves between rows.
  key(e) {
    if (e.key === '/' && document.activeElement !== this.filter) { this.filter.focus(); e.preventDefault(); return; }
    if (e.key === 'Escape' && document.activeElement === this.filter) { this.filter.value = ''; keep({ filter: '' }); this.read(); this.arrange(); this.filter.blur(); return; }
    const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!move || document.activeElement.matches('canvas, select, [type=range]')) return;
    const links = [...this.grid.body.querySelectorAll('th a, th button')];
    const at = links.indexOf(document.activeElement);
    links[at < 0 ? (move > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + move))]?.focus();
    e.preventDefault();
  }
}
