// Plots of any columns over runs, with the charts of sweeps: points of two columns, and a line for each run over many.

import { el, moment } from './dom.js';
import { keep, setting, runAddress } from './address.js';
import { differing } from './differences.js';
import { columnSelect } from './picker.js';

const { numberAxis, choiceAxis, scatterChart, parallelChart, tame, extent } = globalThis;
const mostChoices = 12; // values of a column of words that an axis shows

const quoted = (v) => (/^[^\s()=<>!~"&|]+$/.test(v) && !/^(and|or|not)$/i.test(v) ? v : JSON.stringify(v));

// axisOf is the axis of a column over a range of pixels, or null if there is nothing to place.
function axisOf(column, runs, range) {
  const values = runs.map(column.value).filter((v) => v !== undefined && v !== null && v !== '');
  if (values.length === 0) return null;
  const of = (t) => column.value(t.run);
  if (values.some((v) => typeof v !== 'number')) {
    const words = [...new Set(values.map(String))].sort();
    return words.length > mostChoices ? null : choiceAxis(column.key, words, (t) => (of(t) === undefined ? undefined : String(of(t))), range);
  }
  const [low, high] = extent(values);
  if (column.key === 'started') return clock(column, low, high, of, range);
  const log = Math.min(...values) > 0 && high > 50 * low;
  return numberAxis(column.key, log ? [Math.min(...values), Math.max(...values)] : column.group === 'Configuration' ? [low, high] : tame(values), of, range, log);
}

// clock is an axis of times of the day, or of days where there are many.
function clock(column, low, high, of, range) {
  const axis = numberAxis(column.key, [low, high], of, range);
  const place = numberAxis(column.key, [low, high], (v) => v, range).at;
  const text = (v) => { const t = moment(v); return high - low < 1.5 * 864e5 ? t.slice(11, 16) : t.slice(5, 10); };
  return { ...axis, ticks: () => [low, (low + high) / 2, high].map((v) => [text(v), place(v)]) };
}

// condition is what a brush over a part of an axis, whose ends are 0 and 1, says in the filter.
function condition(axis, [low, high]) {
  if (axis.invert) {
    // Exact to a thousandth of the axis, however far from zero it lies, and to four digits on a logarithmic one.
    const bound = (f) => {
      const [v, near] = [axis.invert(f), Math.abs(axis.invert(f + 0.001) - axis.invert(f - 0.001))];
      return Number(v.toPrecision(Math.min(15, Math.max(4, Math.ceil(Math.log10(Math.abs(v) / near)) + 1 || 4))));
    };
    return [low > 0.001 ? `${axis.key}>=${bound(low)}` : '', high < 0.999 ? `${axis.key}<=${bound(high)}` : ''].filter(Boolean).join(' and ');
  }
  const words = axis.within(low, high).map((v) => `${axis.key}=${quoted(v)}`);
  return words.length > 1 ? `(${words.join(' or ')})` : words.join('');
}

// RunPlots draws runs as points or as lines. filter({old, fresh}) changes the filter by a condition of a brush.
export class RunPlots {
  constructor({ columns, filter }) {
    Object.assign(this, { columns, filter, brushes: new Map(), said: new Map(), xKey: setting('px'), yKey: setting('py', 'best'), chosen: '' });
    const first = (rows) => differing(columns, rows);
    const select = (label, now, name) => columnSelect({ label, columns, value: now, first, change: (key) => { this[name] = key; keep({ [name === 'xKey' ? 'px' : 'py']: key }); this.draw(); } });
    this.xs = select('Horizontal axis', this.xKey, 'xKey');
    this.ys = select('Vertical axis', this.yKey, 'yKey');
    this.xLabel = el('label', {}, 'Horizontal', this.xs.node);
    this.yWord = el('span', {}, 'Vertical');
    this.chart = el('div', { class: 'wide' });
    this.note = el('p', { class: 'fine' });
    this.node = el('section', { class: 'panel plot2' }, el('div', { class: 'tools' }, this.xLabel, el('label', {}, this.yWord, this.ys.node)), this.chart, this.note);
    this.watch = new ResizeObserver(() => { if (this.latest && Math.abs(this.chart.clientWidth - this.width) > 4) this.draw(); });
    this.watch.observe(this.chart);
    this.node.addEventListener('click', (e) => { const { trial } = e.target.dataset; if (trial) location.hash = runAddress(trial); });
    this.node.addEventListener('pointerover', (e) => this.explain(e.target));
  }

  close() { this.watch.disconnect(); }

  learn(rows) {
    this.xs.fill(this.xKey, rows);
    this.ys.fill(this.yKey, rows);
  }

  // show takes the runs: all, and those that pass the filter.
  show(latest, kind) {
    Object.assign(this, { latest, kind });
    this.draw();
  }

  // model is what the charts ask for.
  model(y) {
    const trial = (run) => ({ trial: run.name, state: run.shownState, run });
    const all = this.latest.all.map(trial);
    const shown = new Set(this.latest.rows.map((r) => r.name));
    const grouped = this.latest.groups && this.latest.groups.length > 1;
    const rank = new Map([...this.latest.rows].filter((r) => typeof y?.value(r) === 'number').sort((a, b) => y.value(a) - y.value(b)).map((r, i, list) => [r.name, i / Math.max(1, list.length - 1)]));
    const shade = (q) => (q === undefined ? 'var(--pale)' : `color-mix(in oklab, var(--accent) ${Math.round(15 + 85 * q ** 2)}%, var(--pale))`);
    return { trials: all, shown: all.filter((t) => shown.has(t.trial)), chosen: this.chosen, brushes: this.brushes, place: (t) => -(rank.get(t.trial) ?? -1),
      colour: (t) => (grouped && t.run.hue ? `var(--${t.run.hue})` : this.kind === 'scatter' ? 'var(--accent)' : shade(rank.get(t.trial))) };
  }

  draw() {
    this.width = this.chart.clientWidth;
    if (!this.latest || !this.width) return;
    const { rows, all } = this.latest;
    const y = this.columns.get(this.yKey) ?? this.columns.get('best');
    if (!this.xKey) this.xs.node.value = this.usualX(rows);
    const x = this.columns.get(this.xKey || this.usualX(rows)) ?? this.columns.get('started');
    this.xLabel.hidden = this.kind !== 'scatter';
    this.yWord.textContent = this.kind === 'scatter' ? 'Vertical' : 'Coloured by';
    const m = this.model(y);
    const drawn = this.kind === 'scatter' ? this.points(m, x, y, rows) : this.lines(m, y, rows, all);
    this.chart.replaceChildren(drawn ?? el('p', { class: 'fine' }, 'These runs have no values in these columns, or only words that all differ.'));
  }

  usualX(rows) { return differing(this.columns, rows).find((key) => key !== 'seed' && rows.some((r) => typeof this.columns.get(key).value(r) === 'number')) ?? 'started'; }

  points(m, x, y, rows) {
    const [w, h] = [this.width, 340];
    const [xa, ya] = [axisOf(x, rows, [54, w - 14]), axisOf(y, rows, [h - 40, 22])];
    if (!xa || !ya) return null;
    const of = (t) => xa.at(t) !== undefined && ya.at(t) !== undefined;
    const n = m.shown.filter(of).length;
    this.note.textContent = `${n} of ${rows.length} runs have both values. Point at one to read its name, click to open it.`;
    return scatterChart(m, m.shown, xa, ya, w, h, [x.title, y.title]);
  }

  lines(m, y, rows, all) {
    const keys = [...new Set([...this.latest.columns.map((c) => c.key), ...differing(this.columns, rows), y.key])].filter((k) => !['name', 'changed', 'note', 'tags', y.key].includes(k)).concat(y.key);
    const varies = (c) => c === y || new Set(rows.map(c.value)).size > 1;
    const axes = this.columns.list(keys).filter(varies).map((c) => axisOf(c, all, [0, 1])).filter(Boolean);
    this.note.textContent = 'The axes are the columns of the table. Drag on one to filter by it; click it to clear the filter.';
    if (axes.length < 2) return null;
    return parallelChart({ ...m, axes: () => axes, brush: (axis, range) => this.brush(axis, range) }, this.width);
  }

  // brush writes a condition into the filter, in the place of the one that it wrote before.
  brush(axis, range) {
    const part = range && [...range].sort((a, b) => a - b);
    if (part) this.brushes.set(axis.key, part);
    else this.brushes.delete(axis.key);
    const old = this.said.get(axis.key) ?? '';
    const fresh = part ? condition(axis, part) : '';
    this.said.set(axis.key, fresh);
    this.filter({ old, fresh });
  }

  // explain names the run that is pointed at.
  explain(e) {
    const name = e.dataset?.trial;
    if (!name || e.firstChild) return;
    const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
    const run = this.latest.all.find((r) => r.name === name);
    title.textContent = [name, run?.changed].filter(Boolean).join('\n');
    e.append(title);
  }

  // point marks a run.
  point(name = '') {
    if (this.chosen === name) return;
    for (const e of this.chart.querySelectorAll('.chosen')) e.classList.remove('chosen');
    this.chosen = name;
    if (name) for (const e of this.chart.querySelectorAll(`[data-trial="${CSS.escape(name)}"]`)) e.classList.add('chosen');
  }
}
