// The columns that a table of runs can have: what every run has, keys of the configuration, metrics of training, and
// results of evaluations.

import { el, text, number, count, span, ago, moment, bytes } from './dom.js';
import { runAddress } from './address.js';
import { stateOf, dot } from './states.js';

const best = (r) => r.metrics?.best_validation_objective;

// note is the one thing worth knowing beyond the numbers.
function note(r) {
  if (r.live?.waiting) return `waits: ${r.live.waiting}`;
  if (r.live?.cut_off) return `${r.live.cut_off} quarantined`;
  if (r.state === 'running' && r.steps_per_second > 0) return `${span((r.steps - r.step) / r.steps_per_second)} left`;
  if (r.state === 'lost') return 'its process ended';
  return r.exit_reason ?? '';
}

function progress(td, r) {
  if (!td.firstChild) td.append(el('span', {}), el('progress', { max: 1, 'aria-hidden': 'true' }));
  text(td.firstChild, `${count(r.step)} / ${count(r.steps)}`);
  td.lastChild.value = r.steps ? r.step / r.steps : 0;
}

const plain = (td, words) => { text(td, words); td.title = words; };

// own are the columns that every run has: key, title, value, how a cell is filled, and whether small values come first.
// A column without a way to fill cells shows its value.
const own = [
  { key: 'name', title: 'Run', value: (r) => r.name, up: true,
    fill: (td, r) => td.replaceChildren(el('i', { class: 'hue' }), el('a', { href: runAddress(r.name) }, r.name), ...(r.was ? [el('small', {}, ` was ${r.was}`)] : [])), same: (r) => `${r.name} ${r.was ?? ''}` },
  { key: 'state', title: 'State', value: (r) => stateOf(r), up: true, fill: (td, r) => td.replaceChildren(dot(stateOf(r)), stateOf(r)), same: (r) => stateOf(r) },
  { key: 'preset', title: 'Preset', value: (r) => r.preset, up: true },
  { key: 'seed', title: 'Seed', value: (r) => r.seed, up: true, fill: (td, r) => text(td, String(r.seed ?? '–')) },
  { key: 'changed', title: 'Changed', value: (r) => r.changed ?? '', up: true },
  { key: 'step', title: 'Step', value: (r) => r.step, fill: progress },
  { key: 'steps', title: 'Steps', value: (r) => r.steps },
  { key: 'objective', title: 'Objective', value: (r) => r.objective },
  { key: 'best', title: 'Best', value: best, fill: (td, r) => {
    text(td, number(best(r)));
    td.title = r.metrics?.best_step ? `best validation, at step ${count(r.metrics.best_step)}` : '';
  } },
  { key: 'rate', title: 'Steps/s', value: (r) => r.steps_per_second || undefined },
  { key: 'workers', title: 'Workers', value: (r) => (r.state === 'running' ? r.members : undefined) },
  { key: 'parameters', title: 'Parameters', value: (r) => r.parameters },
  { key: 'disk', title: 'Disk', value: (r) => r.disk, fill: (td, r) => text(td, bytes(r.disk)), show: bytes },
  { key: 'started', title: 'Started', value: (r) => Date.parse(r.started) || undefined, fill: (td, r) => { text(td, ago(r.started)); td.title = moment(r.started); }, show: moment },
  { key: 'tags', title: 'Tags', value: (r) => (r.labels?.tags ?? []).join(' '), up: true },
  { key: 'notes', title: 'Comment', value: (r) => r.labels?.note ?? '', up: true },
  { key: 'archived', title: 'Archived', value: (r) => (r.labels?.archived ? 'yes' : 'no'), up: true },
  { key: 'note', title: 'Note', value: note, up: true },
];

// usual are the columns of a table that nobody has chosen any for.
export const usual = ['state', 'seed', 'changed', 'step', 'best', 'tags', 'started', 'note'];

// Columns knows all columns, and the values that runs have in them.
export class Columns {
  constructor() {
    this.all = new Map();
    for (const c of own) this.add({ group: 'Run', ...c });
  }

  add(c) { this.all.set(c.key, { fill: (td, r) => plain(td, shown(c, c.value(r))), ...c }); }

  // take takes the answer of api/table: values of runs by column.
  take(table) {
    const at = new Map(table.runs.map((name, i) => [name, i]));
    for (const [key, c] of this.all) if (c.group !== 'Run') this.all.delete(key); // of runs that are gone
    const parts = [['Configuration', table.settings, ''], ['Training', table.training, ''], ['Evaluation', table.results, '']];
    for (const [group, columns] of parts) {
      for (const [key, values] of Object.entries(columns)) {
        const old = this.all.get(key);
        if (old && old.group === 'Run') continue;
        this.add({ key, title: key, group, up: group === 'Configuration', value: (r) => values[at.get(r.name)] ?? undefined });
      }
    }
    this.settings = Object.keys(table.settings).filter((key) => this.all.get(key).group === 'Configuration');
  }

  get(key) { return this.all.get(key); }

  // list are the columns of some keys that there are.
  list(keys) { return keys.map((key) => this.all.get(key)).filter(Boolean); }
}

// shown is a value of a column as text.
export function shown(column, v) {
  if (v === '') return column.group === 'Configuration' ? '""' : '';
  if (v === undefined || v === null) return '–';
  if (column.show) return column.show(v);
  return typeof v === 'number' ? exact(column, v) : String(v);
}

// exact is a number as it was set, or with four digits if it was measured.
function exact(column, v) {
  return column.group === 'Configuration' ? String(v).replace('-', '−') : number(v);
}

// compare orders two values: numbers by size, text by its words and numbers, what is missing last.
const order = new Intl.Collator('en', { numeric: true });
export function compare(a, b) {
  const [none, other] = [a === undefined || a === null || a === '', b === undefined || b === null || b === ''];
  if (none || other) return none - other;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return order.compare(String(a), String(b));
}

// sorted are rows in the order of a column; those without a value stay last whichever way it is.
export function sorted(rows, column, up) {
  return [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    const missing = (v) => v === undefined || v === null || v === '';
    return missing(x) || missing(y) ? missing(x) - missing(y) : compare(x, y) * (up ? 1 : -1);
  });
}
