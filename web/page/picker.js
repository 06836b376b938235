// The choice of columns: a list with a search.

import { el, text } from './dom.js';

const most = 120; // columns that are listed before one has typed anything

// picker lets one choose among all columns. chosen are their keys; change(keys) is called after every choice, and usual
// are those of nobody's choice.
export function picker({ columns, chosen, change, usual }) {
  const list = el('ul');
  const found = el('p', { class: 'fine', role: 'status' });
  const search = el('input', { type: 'search', placeholder: 'Search keys and metrics', 'aria-label': 'Search columns', oninput: () => fill() });
  const node = el('details', { class: 'picker' }, el('summary', { class: 'button' }, 'Columns'),
    el('div', {}, search, found, list, el('button', { type: 'button', onclick: () => { change([...usual]); fill(); } }, 'Usual columns')));
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const keys = chosen();
    const all = [...columns.all.values()].filter((c) => c.key !== 'name');
    const rank = (c) => { const i = keys.indexOf(c.key); return i < 0 ? keys.length : i; };
    const match = all.filter((c) => words.every((w) => `${c.key} ${c.title} ${c.group}`.toLowerCase().includes(w))).sort((a, b) => rank(a) - rank(b));
    text(found, match.length > most ? `${match.length} columns, ${most} of them listed: type to find others` : `${match.length} ${match.length === 1 ? 'column' : 'columns'}`);
    list.replaceChildren(...match.slice(0, most).map((c) => el('li', {}, el('label', {},
      el('input', { type: 'checkbox', checked: keys.includes(c.key), onchange: (e) => change(e.target.checked ? [...chosen(), c.key] : chosen().filter((k) => k !== c.key)) }),
      el('span', {}, c.title), el('small', {}, c.group)))));
  };
  node.addEventListener('toggle', () => { if (node.open) { fill(); search.focus(); } });
  node.addEventListener('keydown', (e) => { if (e.key === 'Escape') { node.open = false; node.firstChild.focus(); e.stopPropagation(); } });
  const outside = (e) => { if (!node.contains(e.target)) node.open = false; };
  document.addEventListener('pointerdown', outside);
  return { node, close: () => document.removeEventListener('pointerdown', outside), fill: () => { if (node.open) fill(); } };
}

// columnSelect is a list of columns to choose one from, those that differ among the runs shown first.
export function columnSelect({ label, columns, value, none, change, numbers = false, first = [] }) {
  const node = el('select', { 'aria-label': label, onchange: (e) => change(e.target.value) });
  const fill = (now, rows = []) => {
    const groups = new Map([['differ among these runs', columns.list(first(rows))]]);
    for (const c of columns.all.values()) {
      if (c.key === 'name' || c.key === 'changed' || c.key === 'note') continue;
      if (numbers && !rows.some((r) => typeof c.value(r) === 'number')) continue;
      if (!groups.has(c.group)) groups.set(c.group, []);
      groups.get(c.group).push(c);
    }
    node.replaceChildren(...(none ? [el('option', { value: '' }, none)] : []),
      ...[...groups].filter(([, list]) => list.length).map(([title, list]) => el('optgroup', { label: title }, ...list.map((c) => el('option', { value: c.key }, c.title)))));
    node.value = now;
  };
  fill(value);
  return { node, fill };
}
