// The view of a sweep: a model of the report, its charts and the table of its trials. It needs nothing but the report,
// so the live page and the file in the folder of the sweep share it.

// make makes an HTML element; properties that begin with "on" are listeners.
function make(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'class') e.className = value;
    else if (name in e && typeof value !== 'string') e[name] = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// duration shows seconds of a core.
function duration(s) {
  if (!(s >= 0)) return '–';
  if (s < 100) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 6000) return `${Math.round(s / 60)} min`;
  return `${(s / 3600).toFixed(1)} h`;
}

class SweepView {
  constructor(root, runAddress) {
    this.root = root;
    this.runAddress = runAddress;
    this.metricIndex = 0;
    this.brushes = new Map();
    this.filter = '';
    this.status = '';
    this.sort = { key: 'place', down: false };
    this.rows = 100;
    this.chosen = 0;
    new ResizeObserver(() => this.resized()).observe(root);
    root.addEventListener('click', (e) => {
      const of = e.target.closest('[data-trial]');
      if (of && e.target.tagName !== 'A') this.choose(Number(of.dataset.trial));
    });
    root.addEventListener('pointerover', (e) => { // thousands of texts of which one is read
      const e1 = e.target, id = e1.dataset?.trial;
      if (id && e1.namespaceURI === SVG && !e1.firstChild) e1.append(node('title', {}, this.describe(this.trials[id - 1])));
    });
  }

  resized() {
    const w = Math.round(this.root.clientWidth);
    if (this.report && w && w !== this.width) this.draw();
  }

  // show takes a new report.
  show(report) {
    this.report = report;
    this.trials = report.trials;
    this.best = new Set(report.best);
    this.value = (t) => t.score?.[this.metricIndex];
    this.rank();
    this.draw();
  }

  get metric() { return this.report.metrics[this.metricIndex]; }

  better(a, b) { return this.metric.goal === 'maximize' ? a > b : a < b; }

  // rank orders the trials by how far they got and what they are worth.
  rank() {
    const level = (t) => (t.state === 'diverged' || t.state === 'failed' ? -1 : t.rung) + (t.confirms ? 100 : 0);
    const sign = this.metric.goal === 'maximize' ? -1 : 1;
    const order = [...this.trials].sort((a, b) => level(b) - level(a) || sign * ((this.value(a) ?? Infinity * sign) - (this.value(b) ?? Infinity * sign)) || a.trial - b.trial);
    this.places = new Map(order.map((t, i) => [t.trial, i + 1]));
    const valued = this.trials.filter((t) => this.value(t) !== undefined).sort((a, b) => sign * (this.value(a) - this.value(b)));
    this.quality = new Map(valued.map((t, i) => [t.trial, 1 - i / Math.max(valued.length - 1, 1)]));
  }

  place(t) { return this.places.get(t.trial); }

  // colour is strong for good values and pale for bad ones.
  colour(t) {
    const q = this.quality.get(t.trial);
    return q === undefined ? 'var(--bad)' : `color-mix(in oklab, var(--accent) ${Math.round(12 + 88 * q ** 2)}%, var(--pale))`;
  }

  describe(t) {
    const settings = Object.entries(t.settings).map(([k, v]) => `${k} = ${v}`).join('\n');
    const values = this.report.metrics.map((m, i) => `${m.name} = ${short(t.score?.[i])}`).join('\n');
    return `trial ${t.trial}: ${t.state}, update ${t.update}\n${values}\n${settings}${t.reason ? `\n${t.reason}` : ''}`;
  }

  // axis is the axis of a parameter over a range of pixels. A trial without the parameter has no place on it.
  axis(p, range) {
    if (p.values) return choiceAxis(p.key, p.values, (t) => t.settings[p.key], range);
    const of = (t) => (t.settings[p.key] === undefined ? undefined : Number(t.settings[p.key]));
    const given = p.max > p.min ? [p.min, p.max] : extent(this.trials.map((t) => Number(t.settings[p.key])));
    return numberAxis(p.key, given, of, range, p.log && given[0] > 0);
  }

  metricAxis(q, i, range) {
    const of = (t) => t.score?.[i];
    return numberAxis(q.name, tame(this.trials.map(of).filter((v) => v !== undefined)), of, range);
  }

  // axes are those of all parameters and metrics, from 0 to 1.
  axes() { return [...this.report.parameters.map((p) => this.axis(p, [0, 1])), ...this.report.metrics.map((q, i) => this.metricAxis(q, i, [0, 1]))]; }

  brush(axis, range) {
    if (range) this.brushes.set(axis.key, [...range].sort((a, b) => a - b));
    else this.brushes.delete(axis.key);
    this.pick();
  }

  // pick shows the trials that are left, everywhere.
  pick() {
    this.shown = this.select();
    this.drawTable();
    this.drawCharts();
  }

  // choose marks a trial wherever it stands, or takes the mark away.
  choose(trial) {
    const mark = (on) => { for (const e of this.root.querySelectorAll(`[data-trial="${this.chosen}"]`)) e.classList.toggle('chosen', on); };
    mark(false);
    this.chosen = this.chosen === trial ? 0 : trial;
    mark(true);
  }

  // select finds the trials that the filter, the state and the brushes leave.
  select() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const axes = this.axes();
    return this.trials.filter((t) => {
      if (this.status && t.state !== this.status) return false;
      for (const a of axes) {
        const b = this.brushes.get(a.key);
        if (b) { const f = a.at(t) ?? foot; if (f < b[0] || f > b[1]) return false; }
      }
      const text = ` ${t.trial} ${t.state} ${Object.entries(t.settings).map(([k, v]) => `${k}=${v}`).join(' ')} `.toLowerCase();
      // key=value is a whole value, of a key or of its last names; other words are parts of the text.
      return words.every((w) => (/=./.test(w) ? text.includes(` ${w} `) || text.includes(`.${w} `) : text.includes(w)));
    });
  }

  draw() {
    this.width = Math.round(this.root.clientWidth);
    this.shown = this.select();
    this.charts = make('div', { class: 'panels' });
    this.list = make('div', {});
    this.keepFocus(() => {
      this.root.replaceChildren(this.head(), this.charts, this.list);
      this.list.replaceChildren(this.table());
    });
    this.drawCharts();
  }

  // keepFocus leaves the focus on the element of the same name, after elements were made anew.
  keepFocus(change) {
    const focus = document.activeElement?.id, caret = document.activeElement?.selectionStart;
    change();
    if (!focus) return;
    const e = document.getElementById(focus);
    e?.focus();
    if (caret !== undefined && e?.setSelectionRange) try { e.setSelectionRange(caret, caret); } catch { /* a select has no caret */ }
  }

  drawTable() { this.keepFocus(() => this.list.replaceChildren(this.table())); }

  // narrow shows the trials that the filter leaves: in the table at once, in the charts when the typing pauses.
  narrow() {
    this.shown = this.select();
    this.drawTable();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.drawCharts(), 150);
  }

  drawCharts() {
    clearTimeout(this.later);
    const w = this.width, half = w > 900 ? (w - 20) / 2 - 34 : w - 34;
    const panel = (title, chart, note, wide) => (chart ? make('section', { class: `panel ${wide ? 'wide' : ''}` }, make('h2', {}, title), note ? make('p', { class: 'note' }, note) : null, make('div', { class: 'scroll' }, chart)) : null);
    const slices = make('div', { class: 'slices' });
    const across = Math.max(1, Math.min(3, Math.floor((w - 34) / 270), this.report.parameters.length));
    for (const p of this.report.parameters) {
      const chart = sliceChart(this, p, (w - 34 - 14 * (across - 1)) / across);
      if (chart) slices.append(chart);
    }
    this.charts.replaceChildren(...[
      panel('Best so far', historyChart(this, half), 'A line for each trial that finished, and a point where each trial stopped.'),
      panel('What matters', importanceChart(this, half), 'Permutation in a random forest; the whisker is the standard error over its trees.'),
      panel('Rungs', flowChart(this, half), null),
      panel('Pareto front', frontChart(this, half), null),
      panel('All settings together', parallelChart(this, w - 34), 'Drag on an axis to filter to a range; click the axis to clear it. Trials without the key are at the bottom of its axis.', true),
      slices.childElementCount ? panel('One setting at a time', slices, null, true) : null,
    ].filter(Boolean));
  }

  head() {
    const r = this.report, count = {};
    for (const t of r.trials) count[t.state] = (count[t.state] ?? 0) + 1;
    const facts = [r.method, r.stop.type === 'none' ? 'no early stopping' : r.stop.type, `${r.trials.length} of ${Math.max(r.run_cap, r.trials.length)} trials`,
      ...Object.entries(count).map(([k, n]) => `${n} ${k}`), `${duration(r.core_seconds)} of a core`];
    const cards = r.best.slice(0, 3).map((id) => this.card(r.trials[id - 1]));
    const choice = r.metrics.length < 2 ? null : make('select', { id: 'metric', 'aria-label': 'Metric', onchange: (e) => { this.metricIndex = e.target.selectedIndex; this.rank(); this.draw(); } },
      ...r.metrics.map((m, i) => make('option', { selected: i === this.metricIndex }, m.name)));
    return make('header', { class: 'sweep' },
      make('h1', {}, r.name, ' ', make('span', { class: `state ${r.state}` }, r.live || r.state === 'done' ? r.state : r.state === 'running' ? 'interrupted' : r.state)),
      make('p', { class: 'sums' }, facts.join(' · ')), choice, make('div', { class: 'cards' }, ...cards),
      ...r.notes.map((n) => make('p', { class: 'caution' }, n)));
  }

  // card shows one of the best trials, with the interval of its seeds, and what it had in the search if it was confirmed.
  card(t) {
    const settings = make('dl', {}, ...Object.entries(t.settings).flatMap(([k, v]) => [make('dt', {}, k), make('dd', {}, v)]));
    const by = this.report.replicates?.aggregate || 'mean'; // the score is that value of the seeds
    const values = this.report.metrics.map((m, i) => {
      const e = t.values?.[i];
      const seeds = by === 'mean' ? `mean of ${e?.n} seeds` : `${by} of ${e?.n} seeds, whose mean is ${short(e?.mean)}`;
      return make('p', {}, make('b', {}, short(t.score?.[i])), ` ${m.name}`, e?.n > 1 ? ` · ${seeds}, 95 %: ${short(e.low)} to ${short(e.high)}` : ' · one seed');
    });
    const before = t.confirms ? this.report.trials[t.confirms - 1] : null;
    return make('div', { class: 'card' },
      make('h2', {}, `${this.report.best.length > 1 ? 'On the front: trial' : 'Best: trial'} ${t.confirms ? `${t.confirms}, confirmed as ${t.trial}` : t.trial}`), ...values,
      before ? make('p', { class: 'note' }, `In the search it had ${this.report.metrics.map((_, i) => short(before.score?.[i])).join(', ')}. The best of many is lucky: the runs with fresh seeds count.`) : null, settings, this.links(t));
  }

  // links lead to the runs of a trial. In the table the head of the column says what the numbers are.
  links(t, before = 'run ') {
    return make('span', { class: 'links' }, ...(t.runs ?? []).map((run, i) => make('a', { href: this.runAddress(run), 'aria-label': `run ${i + 1} of trial ${t.trial}` }, `${before}${i + 1}`)));
  }

  table() {
    const r = this.report, columns = [
      { key: 'place', text: '#', get: (t) => this.place(t) }, { key: 'trial', text: 'trial', get: (t) => t.trial }, { key: 'state', text: 'state', get: (t) => t.state },
      { key: 'update', text: 'update', get: (t) => t.update },
      ...r.metrics.map((m, i) => ({ key: `m${i}`, text: m.name, get: (t) => t.score?.[i], show: (t) => this.estimate(t, i) })),
      ...r.parameters.map((p) => ({ key: p.key, text: p.key, get: (t) => (p.values || t.settings[p.key] === undefined ? t.settings[p.key] : Number(t.settings[p.key])), show: (t) => t.settings[p.key] ?? '' })),
      { key: 'core', text: 'core time', get: (t) => t.core_seconds, show: (t) => duration(t.core_seconds) },
    ];
    const by = columns.find((c) => c.key === this.sort.key) ?? columns[0], sign = this.sort.down ? -1 : 1;
    const list = [...this.shown].sort((a, b) => {
      const x = by.get(a), y = by.get(b);
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
    });
    const head = (c) => make('th', { 'aria-sort': c === by ? (this.sort.down ? 'descending' : 'ascending') : null },
      make('button', { type: 'button', id: `sort-${c.key}`, onclick: () => { this.sort = { key: c.key, down: c === by && !this.sort.down }; this.drawTable(); } }, c.text, c === by ? (this.sort.down ? ' ↓' : ' ↑') : ''));
    const cell = (t, c) => make('td', { class: c.key === 'state' ? `is ${t.state}` : '', title: c.key === 'state' && t.reason ? t.reason : null, 'data-label': c.text }, String(c.show ? c.show(t) : c.get(t) ?? '')
      + (c.key === 'trial' && t.confirms ? ` (of ${t.confirms})` : ''));
    const [first, rest] = [columns.slice(0, 2), columns.slice(2)]; // the links stand where a narrow window shows them
    const header = make('tr', {}, ...first.map(head), make('th', {}, 'runs'), ...rest.map(head));
    const rows = list.slice(0, this.rows).map((t) => make('tr', { class: this.chosen === t.trial ? 'chosen' : '', 'data-trial': String(t.trial) },
      ...first.map((c) => cell(t, c)), make('td', { 'data-label': 'runs' }, this.links(t, '')), ...rest.map((c) => cell(t, c))));
    const states = [...new Set(this.trials.map((t) => t.state))].sort();
    return make('section', { class: 'panel wide' },
      make('div', { class: 'tools' },
        make('h2', {}, `${this.shown.length} of ${this.trials.length} trials`),
        make('input', { id: 'filter', type: 'search', placeholder: 'words, or key=value', 'aria-label': 'Filter', value: this.filter, oninput: (e) => { this.filter = e.target.value; this.narrow(); } }),
        make('select', { id: 'status', 'aria-label': 'State', onchange: (e) => { this.status = e.target.value; this.narrow(); } }, make('option', { value: '' }, 'all states'), ...states.map((s) => make('option', { value: s, selected: s === this.status }, s))),
        this.brushes.size || this.filter || this.status ? make('button', { type: 'button', id: 'clear', onclick: () => { this.brushes.clear(); this.filter = ''; this.status = ''; this.pick(); } }, 'show all') : null),
      make('div', { class: 'scroll' }, make('table', {}, make('thead', {}, header), make('tbody', {}, ...rows))),
      list.length > this.rows ? make('button', { type: 'button', id: 'more', onclick: () => { this.rows += 500; this.drawTable(); } }, `${list.length - this.rows} more`) : null);
  }

  estimate(t, i) {
    const e = t.values?.[i];
    if (!e) return '';
    return e.n > 1 ? `${short(t.score[i])} [${short(e.low)}, ${short(e.high)}]` : short(t.score[i]);
  }
}
globalThis.SweepView = SweepView;
