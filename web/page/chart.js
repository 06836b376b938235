// Line charts on a canvas. The charts of a group share the range, the cursor and options.

import { el, text, number, count, span } from './dom.js';
import { yScale, xTicks, smooth, nearest, bounds } from './scale.js';

const margin = { left: 58, right: 14, top: 8, bottom: 24 };

// Group is what its charts have in common.
export class Group {
  constructor(options) {
    this.options = options; // {smooth, log, clip, time}
    this.charts = [];
    this.range = null; // of x, when zoomed
    this.cursor = null; // x that is read out
    this.onzoom = () => {};
  }

  // extent is the range that is shown.
  extent() {
    if (this.range) return this.range;
    let low = Infinity;
    let high = -Infinity;
    for (const c of this.charts) {
      for (const s of c.series) {
        if (s.x.length === 0) continue;
        if (Number.isFinite(s.x[0])) low = Math.min(low, s.x[0]);
        if (Number.isFinite(s.x.at(-1))) high = Math.max(high, s.x.at(-1));
      }
    }
    if (low > high) return null;
    return low === high ? [low - 1, high + 1] : [low, high];
  }

  zoom(range) {
    this.cursor = null;
    this.range = range;
    this.draw();
    this.onzoom(range);
  }

  point(x) {
    this.cursor = x;
    this.draw();
  }

  draw() { for (const c of this.charts) c.request(); }
}

// Chart is one chart of a group.
export class Chart {
  constructor(group, { title, unit = '', smoothing = true, steps = false, zero = false, whole = false }) {
    Object.assign(this, { group, smoothing, steps, zero, whole, series: [], hidden: new Set(), pending: false });
    this.legend = el('div', { class: 'legend' });
    this.unit = el('small', {}, unit && ` ${unit}`);
    this.smoothed = el('small', { class: 'smoothed' });
    this.canvas = el('canvas', { tabindex: '0', role: 'img' });
    this.title = title;
    this.node = el('section', { class: 'chart' },
      el('header', {}, el('h3', {}, title, this.unit, this.smoothed), this.legend), el('div', { class: 'plot' }, this.canvas));
    this.observer = new ResizeObserver(() => this.request());
    this.observer.observe(this.canvas.parentElement);
    group.charts.push(this);
    this.listen();
  }

  // set takes the lines: {name, note, color, dash, x, y, low, high, dots, spread}, x rising, y with null for none. spread
  // says that low and high are the values of several runs, and are always shown; bare lines have nothing behind them, and
  // pale ones stand behind the others. Of many lines there is no legend: the one that is pointed at is named.
  set(series, many = false) {
    const names = series.map((s) => `${s.name} ${s.color}`).join();
    this.series = [...series].sort((a, b) => (b.pale ?? false) - (a.pale ?? false));
    this.many = many;
    if (names !== this.names) {
      this.names = names;
      this.values = new Map();
      this.legend.replaceChildren(...(many ? [el('span', { class: 'fine' }, `${series.length} lines: point at one to read its name`)] : series).map((s) => (many ? s : this.entry(s))));
    }
    this.request();
  }

  entry(s) {
    const value = el('output', {});
    const b = el('button', { type: 'button', 'aria-pressed': String(!this.hidden.has(s.name)), class: s.note ? 'noted' : '', title: s.note ? `${s.note}. Click to show or hide.` : 'Show or hide' },
      el('i', { class: s.dots ? 'dot' : '' }), this.series.length > 1 ? el('span', {}, s.name) : null, value);
    b.firstChild.style.setProperty('--c', `var(--${s.color})`);
    b.addEventListener('click', () => {
      if (!this.hidden.delete(s.name)) this.hidden.add(s.name);
      b.setAttribute('aria-pressed', String(!this.hidden.has(s.name)));
      this.request();
    });
    this.values.set(s.name, value);
    return b;
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  // x turns a place on the canvas into a value.
  x(place) {
    const [a, b] = this.group.extent() ?? [0, 1];
    const inner = this.canvas.clientWidth - margin.left - margin.right;
    return a + (b - a) * Math.min(1, Math.max(0, (place - margin.left) / inner));
  }

  listen() {
    const c = this.canvas;
    let start = null;
    c.addEventListener('pointerdown', (e) => {
      if (e.pointerType === 'mouse' && e.button === 0) { start = e.offsetX; c.setPointerCapture(e.pointerId); }
    });
    c.addEventListener('pointermove', (e) => {
      this.selection = start !== null && Math.abs(e.offsetX - start) > 4 ? [start, e.offsetX] : null;
      this.height = e.offsetY;
      this.group.point(this.x(e.offsetX));
    });
    c.addEventListener('pointerup', (e) => {
      const chosen = this.selection;
      start = this.selection = null;
      if (chosen) this.group.zoom([this.x(Math.min(...chosen)), this.x(Math.max(...chosen))]);
      if (e.pointerType !== 'mouse') this.group.point(this.x(e.offsetX));
    });
    c.addEventListener('pointerleave', () => { this.height = null; if (start === null) this.group.point(null); });
    c.addEventListener('dblclick', () => this.group.zoom(null));
    c.addEventListener('blur', () => this.group.point(null));
    c.addEventListener('keydown', (e) => this.key(e));
  }

  key(e) {
    const extent = this.group.extent();
    const longest = this.series.reduce((a, s) => (s.x.length > a.length ? s.x : a), []);
    if (!extent || longest.length === 0) return;
    const at = this.group.cursor ?? extent[1];
    const move = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    const scale = { '+': 0.5, '-': 2 }[e.key];
    if (move) {
      const i = nearest(longest, at) + move * (e.shiftKey ? 20 : 1);
      this.group.point(longest[Math.min(longest.length - 1, Math.max(0, i))]);
    } else if (scale) {
      this.group.zoom([at + (extent[0] - at) * scale, at + (extent[1] - at) * scale]);
    } else if (e.key === '0') {
      this.group.zoom(null);
    } else return;
    e.preventDefault();
  }

  // lines are the series that are shown, cut to the range and smoothed.
  lines([a, b]) {
    const weight = this.smoothing ? this.group.options.smooth : 0;
    return this.series.filter((s) => !this.hidden.has(s.name)).map((s) => {
      const y = s.dots ? s.y : smooth(s.y, weight);
      let from = 0;
      let to = s.x.length - 1;
      while (from < to && s.x[from + 1] < a) from++;
      while (to > from && s.x[to - 1] > b) to--;
      const spread = s.spread ? { low: smooth(s.low, weight), high: smooth(s.high, weight) } : {};
      return { ...s, ...spread, rawLow: s.low, rawHigh: s.high, raw: s.y, y: s.dots ? s.y : y, from, to, faint: weight > 0 && !s.dots && !s.spread && !s.bare };
    });
  }

  range(lines, [a, b]) {
    const shown = [];
    const points = []; // single measurements are never outliers
    for (const s of lines) {
      for (let i = s.from; i <= s.to; i++) {
        if (s.x[i] < a || s.x[i] > b || s.y[i] === null) continue;
        if (s.dots) points.push(s.y[i]);
        else shown.push(s.y[i]);
        if (s.low && !s.dots && !s.faint && s.low[i] !== null) shown.push(s.low[i], s.high[i]);
        else if (s.rawLow && !this.group.options.clip && s.rawLow[i] !== null) shown.push(s.rawLow[i], s.rawHigh[i]);
      }
    }
    const found = [bounds(shown, this.group.options.clip), bounds(points, false)].filter(Boolean);
    if (found.length === 0) return null;
    let low = Math.min(...found.map((f) => f[0]));
    let high = Math.max(...found.map((f) => f[1]));
    if (this.zero) low = Math.min(0, low);
    const log = this.group.options.log && low * high > 0;
    const pad = high > low ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 1;
    if (log) return [low > 0 ? low * 0.93 : low * 1.07, high > 0 ? high * 1.07 : high * 0.93];
    return [this.zero && low === 0 ? 0 : low - pad, high + pad];
  }

  draw() {
    const { canvas } = this;
    const width = canvas.parentElement.clientWidth;
    const height = canvas.parentElement.clientHeight;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const g = canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    const style = getComputedStyle(canvas);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    g.font = `11px ${style.fontFamily}`;
    const box = { x: margin.left, y: margin.top, w: width - margin.left - margin.right, h: height - margin.top - margin.bottom };
    const extent = this.group.extent();
    const lines = extent ? this.lines(extent) : [];
    const range = extent && box.w > 20 ? this.range(lines, extent) : null;
    if (!range) {
      g.fillStyle = color('muted');
      g.textAlign = 'center';
      g.fillText('no values yet', width / 2, height / 2);
      return;
    }
    Object.assign(canvas.dataset, { low: range[0], high: range[1], points: Math.max(...lines.map((s) => s.to - s.from + 1)) });
    const y = yScale(range[0], range[1], this.group.options.log, Math.max(2, box.h / 42));
    const px = (v) => box.x + ((v - extent[0]) / (extent[1] - extent[0])) * box.w;
    const py = (v) => box.y + (1 - y.place(v)) * box.h;
    this.axes(g, box, extent, this.whole ? y.ticks.filter((t) => Number.isInteger(t.v)).map((t) => ({ v: t.v, label: String(t.v) })) : y.ticks, px, py, color);
    g.save();
    g.beginPath();
    g.rect(box.x, box.y - 2, box.w, box.h + 4);
    g.clip();
    for (const s of lines) this.line(g, s, px, py, color(s.pale ? 'axis' : s.color));
    const marked = this.marked(lines, py);
    if (marked) this.line(g, { ...marked, bold: true }, px, py, color(marked.color));
    g.restore();
    this.read(g, box, this.many ? (marked ? [marked] : []) : lines, px, py, color, marked);
  }

  // marked is the line that is pointed at: in a table beside the charts, or among many lines.
  marked(lines, py) {
    const { marked, cursor } = this.group;
    if (marked !== undefined) return lines.find((s) => s.name === marked);
    if (!this.many || cursor === null || !Number.isFinite(this.height)) return undefined;
    let best;
    let least = Infinity;
    for (const s of lines) {
      if (s.x.length === 0) continue;
      const v = s.y[nearest(s.x, cursor)];
      const d = v === null || v === undefined ? Infinity : Math.abs(py(v) - this.height);
      if (d < least) [best, least] = [s, d];
    }
    return best;
  }

  axes(g, box, extent, ticks, px, py, color) {
    g.strokeStyle = color('grid');
    g.fillStyle = color('muted');
    g.lineWidth = 1;
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const t of ticks) {
      const at = Math.round(py(t.v)) + 0.5;
      if (at < box.y || at > box.y + box.h + 1) continue;
      g.beginPath();
      g.moveTo(box.x, at);
      g.lineTo(box.x + box.w, at);
      g.stroke();
      g.fillText(t.label, box.x - 8, at, box.x - 10); // one that is long is narrowed
    }
    g.textBaseline = 'top';
    for (const t of xTicks(extent[0], extent[1], Math.max(2, box.w / 75), this.group.options.time)) {
      const at = px(t.v);
      const half = g.measureText(t.label).width / 2;
      g.textAlign = at + half > box.x + box.w + margin.right ? 'right' : 'center';
      g.fillText(t.label, g.textAlign === 'right' ? box.x + box.w + margin.right - 2 : at, box.y + box.h + 8);
    }
    g.strokeStyle = color('axis');
    g.beginPath();
    g.moveTo(box.x, box.y + box.h + 0.5);
    g.lineTo(box.x + box.w, box.y + box.h + 0.5);
    g.stroke();
  }

  line(g, s, px, py, color) {
    g.strokeStyle = g.fillStyle = color;
    g.lineJoin = 'round';
    if (s.low && !s.dots) this.band(g, s, px, py, s.faint ? 0.1 : 0.16);
    g.setLineDash(s.dash ?? []);
    if (s.faint) {
      g.globalAlpha = 0.22;
      g.lineWidth = 1;
      this.path(g, s, s.raw, px, py);
    }
    g.globalAlpha = s.bold || !s.bare ? 1 : 0.75;
    g.lineWidth = s.bold ? 3 : s.dots || s.bare ? 1.25 : 1.75;
    this.path(g, s, s.y, px, py);
    g.globalAlpha = 1;
    g.setLineDash([]);
    if (!s.dots || s.to - s.from > 80) return;
    for (let i = s.from; i <= s.to; i++) {
      if (s.y[i] === null) continue;
      g.beginPath();
      g.arc(px(s.x[i]), py(s.y[i]), 2.4, 0, 7);
      g.fill();
    }
  }

  // band shows between which values the records of each point were.
  band(g, s, px, py, opacity) {
    g.globalAlpha = opacity;
    g.beginPath();
    for (let i = s.from; i <= s.to; i++) if (s.high[i] !== null) g.lineTo(px(s.x[i]), py(s.high[i]));
    for (let i = s.to; i >= s.from; i--) if (s.low[i] !== null) g.lineTo(px(s.x[i]), py(s.low[i]));
    g.fill();
  }

  path(g, s, values, px, py) {
    g.beginPath();
    let pen = false;
    for (let i = s.from; i <= s.to; i++) {
      const v = values[i];
      if (v === null || v === undefined) { pen = false; continue; }
      if (pen && this.steps) g.lineTo(px(s.x[i]), py(values[i - 1]));
      if (pen) g.lineTo(px(s.x[i]), py(v));
      else g.moveTo(px(s.x[i]), py(v));
      pen = true;
    }
    g.stroke();
  }

  // read draws the cursor and shows the values there, or the latest.
  read(g, box, lines, px, py, color, marked = undefined) {
    const { cursor } = this.group;
    for (const output of this.values.values()) output.textContent = '';
    const weight = this.smoothing && lines.some((s) => !s.dots) ? this.group.options.smooth : 0;
    text(this.smoothed, weight > 0 ? `line smoothed, ${weight.toFixed(2)}` : '');
    let label = '';
    for (const s of lines) {
      if (s.x.length === 0) continue;
      const i = cursor === null ? s.to : nearest(s.x, cursor);
      const output = this.values.get(s.name);
      if (output) output.textContent = number(s.raw[i]); // as measured; the line may be smoothed
      if (cursor === null || s.y[i] === null || s.x[i] < this.group.extent()[0]) continue;
      label ||= (this.group.options.time ? span(s.x[i]) : `step ${count(Math.round(s.x[i]))}`) + (this.many && s === marked ? ` · ${s.name} ${number(s.raw[i])}` : '');
      g.fillStyle = color(s.color);
      g.strokeStyle = color('panel');
      g.lineWidth = 2;
      g.beginPath();
      g.arc(px(s.x[i]), Math.min(box.y + box.h, Math.max(box.y, py(s.y[i]))), 4, 0, 7);
      g.fill();
      g.stroke();
    }
    this.canvas.setAttribute('aria-label', this.many ? `${this.title}: ${this.series.length} lines` : `${this.title}: ${lines.map((s) => `${s.name} ${this.values.get(s.name)?.textContent ?? ''}`).join(', ')}`);
    if (this.selection) {
      g.fillStyle = color('accent');
      g.globalAlpha = 0.12;
      g.fillRect(Math.min(...this.selection), box.y, Math.abs(this.selection[1] - this.selection[0]), box.h);
      g.globalAlpha = 1;
    }
    if (cursor === null || !label) return;
    const at = px(cursor);
    g.strokeStyle = color('axis');
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(Math.round(at) + 0.5, box.y);
    g.lineTo(Math.round(at) + 0.5, box.y + box.h);
    g.stroke();
    const w = g.measureText(label).width + 12;
    const left = Math.min(box.x + box.w - w, Math.max(box.x, at - w / 2));
    g.fillStyle = color('ink');
    g.beginPath();
    g.roundRect(left, box.y + box.h + 3, w, 18, 4);
    g.fill();
    g.fillStyle = color('panel');
    g.textAlign = 'left';
    g.textBaseline = 'middle';
    g.fillText(label, left + 6, box.y + box.h + 12.5);
  }
}
