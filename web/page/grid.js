// A table of runs: rows with a box to tick, columns that sort it, and groups that open. Rows are made as one scrolls.

import { el, text } from './dom.js';
import { summary } from './grouping.js';

const chunk = 60; // rows that are made at a time

// Grid shows items: {run}, or {group: {label, members}, open}.
export class Grid {
  // on has what is called: sort(key), pick(names, yes), open(group), hover(name), go(run).
  constructor(on) {
    Object.assign(this, { on, rows: new Map(), columns: [], items: [], picked: new Set(), many: chunk });
    this.all = el('input', { type: 'checkbox', 'aria-label': 'Select all runs shown', onchange: (e) => on.pick(this.names(), e.target.checked) });
    this.head = el('tr');
    this.body = el('tbody');
    this.more = el('button', { type: 'button', class: 'more', hidden: true, onclick: () => this.grow() });
    this.table = el('table', {}, el('thead', {}, this.head), this.body);
    this.node = el('div', { class: 'sheet' }, el('div', { class: 'wide' }, this.table), this.more);
    this.watch = new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting)) this.grow(); }, { rootMargin: '600px' });
    this.watch.observe(this.more);
    this.body.addEventListener('click', (e) => this.click(e));
    this.body.addEventListener('pointerover', (e) => on.hover?.(e.target.closest('tr')?.dataset.run));
    this.body.addEventListener('pointerleave', () => on.hover?.());
  }

  close() { this.watch.disconnect(); }

  click(e) {
    const tr = e.target.closest('tr');
    if (e.target.closest('a, label, button')) return;
    if (tr?.dataset.run) this.on.go(tr.dataset.run);
  }

  // names are those of all runs of the table, also of rows that are not made yet.
  names() { return this.items.flatMap((i) => (i.group ? i.group.members.map((r) => r.name) : i.inside ? [] : [i.run.name])); }

  // show takes what is to be shown. sort is {key, up}.
  show({ columns, items, sort, picked }) {
    const keys = columns.map((c) => `${c.key} ${c.group}`).join();
    if (keys !== this.keys) {
      this.rows.clear();
      this.keys = keys;
      this.columns = columns;
      this.head.replaceChildren(el('th', { class: 'pick', scope: 'col' }, el('label', {}, this.all)), ...columns.map((c) => el('th', { scope: 'col', class: c.key, data: { key: c.key } },
        el('button', { type: 'button', title: c.title, onclick: () => this.on.sort(c.key) }, c.title))));
    }
    this.columns = columns;
    columns.forEach((c, i) => {
      const th = this.head.children[i + 1];
      if (c.key === sort.key) th.setAttribute('aria-sort', sort.up ? 'ascending' : 'descending');
      else th.removeAttribute('aria-sort');
    });
    this.items = items;
    this.picked = picked;
    this.place();
  }

  // grow makes more rows.
  grow() {
    if (this.many >= this.items.length) return;
    this.many += chunk;
    this.place();
  }

  // place puts the rows into their order.
  place() {
    const want = this.items.slice(0, this.many).map((item) => this.row(item));
    const have = this.body.children;
    if (want.length !== have.length || want.some((tr, i) => tr !== have[i])) {
      const focus = document.activeElement;
      this.body.replaceChildren(...want);
      if (this.body.contains(focus)) focus.focus({ preventScroll: true });
    }
    const left = this.items.length - want.length;
    this.more.hidden = left <= 0;
    text(this.more, `${left} more`);
    this.ticks();
  }

  // ticks shows what is picked.
  ticks() {
    const names = this.names();
    const some = names.filter((n) => this.picked.has(n)).length;
    Object.assign(this.all, { checked: some > 0 && some === names.length, indeterminate: some > 0 && some < names.length, disabled: names.length === 0 });
    for (const tr of this.body.children) {
      const row = this.rows.get(tr.dataset.id);
      const own = row.item.group ? row.item.group.members.map((r) => r.name) : [row.item.run.name];
      const n = own.filter((name) => this.picked.has(name)).length;
      Object.assign(row.pick, { checked: n === own.length, indeterminate: n > 0 && n < own.length });
    }
  }

  row(item) {
    const id = item.group ? `group ${item.group.label}` : `run ${item.run.name}`;
    let row = this.rows.get(id);
    if (!row) {
      const cells = this.columns.map((c) => el(c.key === 'name' ? 'th' : 'td', { class: c.key, scope: c.key === 'name' ? 'row' : null, data: { key: c.key, label: c.title } }));
      const pick = el('input', { type: 'checkbox', onchange: (e) => { const { group, run } = row.item; this.on.pick(group ? group.members.map((r) => r.name) : [run.name], e.target.checked); } });
      pick.setAttribute('aria-label', `Select ${item.group ? item.group.label : item.run.name}`);
      row = { cells, pick, tr: el('tr', { data: { id }, class: item.group ? 'group' : '' }, el('td', { class: 'pick' }, el('label', {}, pick)), ...cells) };
      if (!item.group) row.tr.dataset.run = item.run.name;
      this.rows.set(id, row);
    }
    row.item = item;
    row.tr.classList.toggle('inside', item.inside === true);
    if (item.group) this.fillGroup(row);
    else if (row.run !== item.run || row.stamp !== item.run.stamp) this.fill(row);
    this.tint(row);
    return row.tr;
  }

  // tint shows the colour in which the plots have the row.
  tint({ item, cells }) {
    const mark = cells[0]?.querySelector('.hue');
    const hue = (item.group ?? item.run).hue;
    if (mark) mark.style.setProperty('--c', hue ? `var(--${hue})` : 'transparent');
  }

  fill(row) {
    const { run } = row.item;
    Object.assign(row, { run, stamp: run.stamp });
    row.tr.dataset.state = run.shownState ?? run.state;
    this.columns.forEach((c, i) => {
      const same = c.same?.(run);
      if (same && row.cells[i].dataset.same === same) return; // a link that is written anew loses the focus
      if (same) row.cells[i].dataset.same = same;
      c.fill(row.cells[i], run);
      row.cells[i].classList.toggle('text', typeof c.value(run) === 'string');
    });
  }

  // refill writes the rows of runs anew, as their times go by.
  refill() { for (const row of this.rows.values()) if (row.item.run) this.fill(row); }

  fillGroup(row) {
    const { group, open } = row.item;
    const state = [open, ...group.members.map((r) => r.stamp)]; // a run has another stamp when it has other values
    if (row.state?.length === state.length && row.state.every((s, i) => s === state[i])) return;
    row.state = state;
    this.columns.forEach((c, i) => {
      if (c.key === 'name') {
        const b = row.cells[i].querySelector('button') ?? el('button', { type: 'button', class: 'fold', onclick: () => this.on.open(row.item.group) });
        b.setAttribute('aria-expanded', String(open));
        b.replaceChildren(el('i', { class: 'hue' }), group.label, el('small', {}, ` ${group.members.length} ${group.members.length === 1 ? 'run' : 'runs'}`));
        if (!b.isConnected) row.cells[i].replaceChildren(b);
        return;
      }
      const s = summary(c, group.members);
      row.cells[i].replaceChildren(s.words, ...(s.range ? [el('small', {}, ` ${s.range}${s.of ? ` (${s.of})` : ''}`)] : []));
      row.cells[i].title = s.range ? `mean ${s.words}, from ${s.range.replace('…', 'to')}${s.of ? `, of ${s.of} runs` : ''}` : s.words;
      row.cells[i].classList.toggle('text', s.mean === undefined);
    });
  }
}
