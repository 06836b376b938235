// The curves of many runs: fetched in parts, kept, and drawn as a line for each run or for each group.

import { el } from './dom.js';
import { get } from './api.js';
import { Group, Chart } from './chart.js';
import { Store } from './store.js';
import { chartTools, options, range } from './chartoptions.js';
import { meanOf } from './groups.js';
import { keep, setting } from './address.js';

const each = 25; // runs of one request
const points = 150;
const hues = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];
const dashes = [[], [6, 3], [2, 3]];
export const mostColours = hues.length * dashes.length; // lines that can be told apart

// titles of the metrics that every run has; others are called by their names.
const titles = {
  'train/objective': ['Objective', 'training'], 'validation/objective': ['Objective', 'validation'], 'validation/elbo': ['Evidence lower bound', 'nats, validation'],
  'train/gradient_norm': ['Gradient norm', 'before clipping'], 'train/step_seconds': ['Time of a step', 's'],
};

// look is the colour and the dash of line i.
export const look = (i) => ({ color: hues[i % hues.length], dash: dashes[Math.floor(i / hues.length) % dashes.length] });

// Curves holds charts of metrics, "SPLIT/NAME".
export class Curves {
  constructor({ metrics, failed }) {
    Object.assign(this, { metrics: setting('curves', metrics).split(',').filter(Boolean), usual: metrics, failed, stores: new Map(), lines: [], asked: 0, offered: [] });
    this.group = new Group(options());
    this.group.range = range();
    const tools = chartTools(this.group, () => this.draw());
    this.group.onzoom = (r) => { tools.zoomed(r); this.zoomed(); };
    this.adding = el('select', { 'aria-label': 'Add a chart', onchange: (e) => { this.choose([...this.metrics, e.target.value]); } });
    this.grid = el('div', { class: 'grid' });
    this.tools = tools.node;
    this.node = el('section', { class: 'charts', 'aria-label': 'Charts' }, tools.node, this.grid);
    tools.node.insertBefore(this.adding, tools.node.querySelector('.hint'));
    this.charts = new Map();
    this.arrange();
  }

  // choose takes other metrics.
  choose(metrics) {
    this.metrics = [...new Set(metrics)];
    this.offer(this.offered);
    keep({ curves: this.metrics.join(',') === this.usual ? '' : this.metrics.join(',') });
    this.arrange();
    this.load();
  }

  // arrange makes a chart for each metric.
  arrange() {
    for (const [metric, chart] of this.charts) {
      if (this.metrics.includes(metric)) continue;
      chart.observer.disconnect();
      this.group.charts = this.group.charts.filter((c) => c !== chart);
      this.charts.delete(metric);
    }
    for (const metric of this.metrics) {
      if (this.charts.has(metric)) continue;
      const [split, name] = metric.split('/');
      const [title, unit] = titles[metric] ?? [name.replaceAll('_', ' '), split];
      const chart = new Chart(this.group, { title, unit, smoothing: split === 'train' });
      chart.node.querySelector('header').append(el('button', { type: 'button', class: 'quiet shut', 'aria-label': `Remove the chart of ${metric}`, onclick: () => this.choose(this.metrics.filter((m) => m !== metric)) }, '×'));
      this.charts.set(metric, chart);
    }
    this.grid.replaceChildren(...this.metrics.map((m) => this.charts.get(m).node));
  }

  // offer lists the metrics that there are.
  offer(metrics) {
    this.offered = metrics;
    const list = metrics.filter((m) => !this.metrics.includes(m)).sort();
    this.adding.hidden = list.length === 0;
    this.adding.replaceChildren(el('option', { value: '' }, 'add a chart …'), ...list.map((m) => el('option', { value: m }, m)));
  }

  // show draws lines: {label, runs, color, dash}, and fetches what is missing of them.
  show(lines) {
    this.lines = lines;
    this.draw();
    this.load();
  }

  close() {
    this.closed = true;
    for (const c of this.group.charts) c.observer.disconnect();
  }

  zoomed() {
    this.stores.clear();
    this.load();
  }

  // steps is the range that is asked for.
  steps() {
    const r = this.group.range;
    if (!r || this.group.options.time) return '';
    return `&from=${Math.max(0, Math.floor(r[0]) - 1)}&to=${Math.ceil(r[1]) + 1}`;
  }

  // load fetches the runs that are missing, or have gone on, a part at a time, until it is called again.
  async load() {
    const asked = ++this.asked;
    const [want, steps] = [this.metrics.join(), this.steps()];
    const old = (r) => { const s = this.stores.get(r.name); return !s || s.metrics !== want || s.step !== r.step; };
    this.waiting = true;
    const missing = this.lines.flatMap((l) => l.runs).filter(old);
    for (let i = 0; i < missing.length; i += each) {
      const part = missing.slice(i, i + each);
      const query = part.map((r) => `run=${encodeURIComponent(r.name)}`).concat(this.metrics.map((m) => `metric=${encodeURIComponent(m)}`)).join('&');
      let answer;
      try {
        answer = await get(`api/curves?${query}&points=${points}${steps}`);
      } catch (error) {
        if (!this.closed) this.failed?.(error);
        return;
      }
      if (this.closed || want !== this.metrics.join() || steps !== this.steps()) return;
      for (const r of part) {
        const store = new Store(r.name);
        const first = this.stores.get(r.name)?.start ?? (Date.parse(r.started) / 1000 || undefined);
        store.take(answer.runs[r.name] ?? { splits: {} }, first);
        Object.assign(store, { metrics: want, step: r.step });
        this.stores.set(r.name, store);
      }
      this.draw();
      if (asked !== this.asked) return;
    }
    this.waiting = false;
    this.draw();
  }

  draw() {
    const many = this.lines.length > mostColours;
    for (const [metric, chart] of this.charts) {
      const [split, name] = metric.split('/');
      const lines = [];
      for (const l of this.lines) {
        const own = l.runs.map((r) => this.stores.get(r.name)?.line(split, name, this.group.options.time)).filter((line) => line?.x.length > 0);
        if (own.length === 0) continue;
        const as = { name: l.label, label: true, color: l.color, dash: l.dash, pale: l.pale, bare: many };
        if (own.length > 1) lines.push({ ...as, ...meanOf(own), spread: true, note: `mean, least and greatest of ${own.length} runs` });
        else lines.push({ ...as, ...own[0], ...(many ? { low: undefined, high: undefined } : {}), dots: own[0].x.length === 1 });
      }
      chart.node.hidden = lines.length === 0 && this.lines.length > 0 && !this.waiting;
      chart.set(lines, many);
    }
  }

  // point marks the line of a run, or none.
  point(name) {
    const line = this.lines.find((l) => l.runs.some((r) => r.name === name));
    this.group.marked = line?.label;
    this.group.draw();
  }
}
