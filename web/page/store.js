// The metrics of one run: loaded thinned out, then continued by events.

import { get, runPath } from './api.js';

const points = 1200;
const tooMany = 4000; // points of a split before they are thinned out anew

export class Store {
  constructor(name) {
    this.name = name;
    this.splits = {};
    this.position = '';
    this.width = 1;
    this.range = null; // of steps, when zoomed
  }

  // load takes the metrics of a range of steps, or of all, from the server.
  async load(range = null, most = points) {
    const query = new URLSearchParams({ points: most });
    if (range) { query.set('from', Math.max(0, Math.floor(range[0]))); query.set('to', Math.ceil(range[1])); }
    this.take(await get(runPath(this.name, `/metrics?${query}`)));
    this.range = range;
  }

  // take takes what the server sent. The run began at the time start, unless that is not known.
  take(s, start = undefined) {
    this.splits = s.splits;
    this.width = s.width;
    this.position = s.position;
    const first = Object.values(s.splits).map((split) => split.time[0]).filter(Number.isFinite);
    if (start !== undefined) this.start = start;
    else if (first.length) this.start = Math.min(this.start ?? Infinity, ...first);
  }

  // back drops what is after a step: the run went back to a checkpoint.
  back(step) {
    for (const s of Object.values(this.splits)) {
      let keep = s.step.length;
      while (keep > 0 && s.step[keep - 1] > step) keep--;
      this.cut(s, keep);
    }
  }

  cut(s, keep) {
    s.step.length = s.time.length = keep;
    for (const c of Object.values(s.values)) {
      c.mean.length = keep;
      if (c.low) c.low.length = c.high.length = keep;
    }
  }

  // append adds records. It returns whether there are too many points by now.
  append(records) {
    for (const r of records) {
      const s = this.splits[r.split] ??= { step: [], time: [], values: {} };
      const last = s.step.at(-1);
      if (last !== undefined && r.step <= last) {
        let keep = s.step.length;
        while (keep > 0 && s.step[keep - 1] >= r.step) keep--;
        this.cut(s, keep);
      }
      this.start ??= Date.parse(r.time) / 1000;
      const n = s.step.length;
      s.step.push(r.step);
      s.time.push(Date.parse(r.time) / 1000);
      for (const name of Object.keys(r.values)) s.values[name] ??= { mean: Array(n).fill(null) };
      for (const [name, c] of Object.entries(s.values)) {
        const v = typeof r.values[name] === 'number' ? r.values[name] : null; // what is not finite comes as text
        c.mean.push(v);
        if (c.low) { c.low.push(v); c.high.push(v); }
      }
    }
    return Object.values(this.splits).some((s) => s.step.length > tooMany);
  }

  // line is one metric of one split for a chart; map changes its values.
  line(split, metric, time, map = (v) => v) {
    const s = this.splits[split];
    const c = s?.values[metric];
    if (!c) return { x: [], y: [] };
    const each = (list) => list?.map((v) => (v === null ? null : map(v)));
    const line = { x: time ? s.time.map((t) => t - this.start) : s.step, y: each(c.mean) };
    if (c.low) [line.low, line.high] = [each(c.low), each(c.high)];
    return line;
  }

  has(split, metric) { return this.splits[split]?.values[metric] !== undefined; }

  // names are the metrics of a split.
  names(split) { return Object.keys(this.splits[split]?.values ?? {}); }

  // holds reports whether a range of steps is within what was loaded, spans whether one of seconds since the start is.
  holds([from, to]) { return !this.range || (from >= this.range[0] && to <= this.range[1]); }

  spans([from, to]) {
    const times = this.splits.train?.time ?? [];
    return !this.range || (times[0] - this.start <= from && times.at(-1) - this.start >= to);
  }

  // time of a step, in seconds since the start, for turning one axis into the other.
  stepAt(seconds) {
    const s = this.splits.train;
    if (!s) return 0;
    const i = s.time.findIndex((t) => t - this.start >= seconds);
    return s.step[i < 0 ? s.step.length - 1 : i];
  }
}
