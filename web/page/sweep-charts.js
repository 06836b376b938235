// The charts of a sweep, and those of them that the table of runs has too: each takes a model of what is drawn and returns
// an element. They are plain SVG, drawn anew when something changes, so that the file works from a disk without a server.

const SVG = 'http://www.w3.org/2000/svg';

// node makes an SVG element. The page is served with a policy against style attributes, which does not bind scripts.
function node(tag, attributes = {}, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'style') e.style.cssText = value;
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// short writes a number with about four digits, or with more.
function short(v, digits = 4) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e6) return String(v).replace('-', '−');
  if (a !== 0 && (a < 1e-4 || a >= 1e6)) return v.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e').replaceAll('-', '−');
  return Number(v.toPrecision(digits)).toString().replace('-', '−');
}

// extent is the range of values, never empty.
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low > high) return [0, 1];
  if (low === high) return [low - (Math.abs(low) || 1) * 0.05, high + (Math.abs(high) || 1) * 0.05];
  return [low, high];
}

// tame is the range of the values without those far outside the middle half, which are drawn at the edge.
function tame(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length < 8) return extent(sorted);
  const q = (p) => sorted[Math.floor(p * (sorted.length - 1))];
  const reach = 3 * (q(0.75) - q(0.25));
  return extent([Math.max(sorted[0], q(0.25) - reach), Math.min(sorted.at(-1), q(0.75) + reach)]);
}

// scale maps values to pixels: linear, or logarithmic.
function scale([low, high], [from, to], log = false) {
  const f = log ? Math.log : (v) => v;
  const a = f(low), b = f(high);
  const at = (v) => from + (Math.min(Math.max((f(v) - a) / (b - a || 1), -0.02), 1.02)) * (to - from);
  at.invert = (x) => { const t = a + (x - from) / (to - from) * (b - a); return log ? Math.exp(t) : t; };
  return at;
}

// ticks are round values within a range.
function ticks([low, high], most, log = false) {
  if (log && low > 0) {
    const list = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) list.push(10 ** e);
    const inside = list.filter((v) => v >= low * 0.999 && v <= high * 1.001);
    if (inside.length >= 2) return inside.length > most ? inside.filter((_, i) => i % Math.ceil(inside.length / most) === 0) : inside;
  }
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const list = [];
  if (!(Math.max(Math.abs(low), Math.abs(high)) / step < 1e12)) return list; // the digits below tell no more of them apart
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) list.push(Number(v.toPrecision(12)));
  return list;
}

// marks are ticks as [text, place], with the digits that tell one from the next.
function marks(list, place) {
  const most = Math.max(...list.map(Math.abs));
  const digits = Math.min(15, Math.max(4, Math.ceil(Math.log10(most / (list[1] - list[0]))) + 1 || 4));
  return list.map((v) => [short(v, digits), place(v)]);
}

// numberAxis places what has a number, of(t), over a range of pixels; what has none has no place. invert turns a place into
// a number.
function numberAxis(key, given, of, range, log = false) {
  const place = scale(given, range, log);
  const at = (t) => { const v = of(t); return v === undefined || v === null ? undefined : place(v); };
  return { key, at, invert: place.invert, ticks: (n) => marks(ticks(given, n, log), place) };
}

// choiceAxis places what has one of some values. within are the values between two places.
function choiceAxis(key, values, of, range) {
  const place = (i) => range[0] + (i + 0.5) / values.length * (range[1] - range[0]);
  const at = (t) => { const i = values.indexOf(of(t)); return i < 0 ? undefined : place(i); };
  return { key, at, within: (low, high) => values.filter((_, i) => place(i) >= low && place(i) <= high),
    ticks: (n) => values.map((v, i) => [v, place(i)]).filter((_, i) => i % Math.ceil(values.length / Math.max(n, 6)) === 0) };
}

// frame is an SVG with axes.
function frame(w, h, x, y, xs, ys, xText, yText) {
  const svg = node('svg', { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: 'img' });
  const left = x[0], right = x[1], bottom = y[0], top = y[1];
  for (const [v, at] of ys) svg.append(
    node('line', { x1: left, x2: right, y1: at, y2: at, class: 'grid' }),
    node('text', { x: left - 6, y: at + 4, class: 'tick', 'text-anchor': 'end', ...(v.length > 8 ? { textLength: left - 8, lengthAdjust: 'spacingAndGlyphs' } : {}) }, v));
  for (const [v, at] of xs) svg.append(node('text', { x: at, y: bottom + 15, class: 'tick', 'text-anchor': 'middle' }, v));
  svg.append(node('line', { x1: left, x2: right, y1: bottom, y2: bottom, class: 'axis' }));
  if (xText) svg.append(node('text', { x: right, y: bottom + 30, class: 'label', 'text-anchor': 'end' }, xText));
  if (yText) svg.append(node('text', { x: left, y: top - 8, class: 'label' }, yText));
  return svg;
}

// dot is a trial in a chart. The view listens to clicks on what has data-trial, and tells what it is when one points at it.
function dot(m, t, x, y, r = 3.5) {
  return node('circle', { cx: x, cy: y, r, class: `dot ${t.state} ${m.chosen === t.trial ? 'chosen' : ''}`, style: `fill:${m.colour(t)}`, 'data-trial': t.trial });
}

// historyChart shows each trial's value, and the best so far of those that were trained to the end.
function historyChart(m, w) {
  const h = 230, list = m.shown.filter((t) => m.value(t) !== undefined);
  if (!list.length) return null;
  const x = scale([0.5, Math.max(m.trials.length, 2) + 0.5], [54, w - 10]);
  const range = tame(list.map(m.value)), y = scale(range, [h - 36, 22]);
  const svg = frame(w, h, [54, w - 10], [h - 36, 22], marks(ticks([1, Math.max(m.trials.length, 2)], 6).filter(Number.isInteger), x), marks(ticks(range, 5), y), 'trial', m.metric.name);
  let best, path = '';
  for (const t of m.trials) {
    const v = m.value(t);
    if (v === undefined || t.state !== 'complete' || t.confirms) continue;
    if (best === undefined || m.better(v, best)) best = v;
    path += path ? `H${x(t.trial)}V${y(best)}` : `M${x(t.trial)},${y(best)}`;
  }
  if (path) svg.append(node('path', { d: `${path}H${w - 10}`, class: 'best' }));
  for (const t of list) svg.append(dot(m, t, x(t.trial), y(m.value(t))));
  return svg;
}

// scatterChart shows a point for each of a list on two axes, and a line through the places of a front.
function scatterChart(m, list, x, y, w, h, texts, front = []) {
  const svg = frame(w, h, [54, w - 14], [h - 40, 22], x.ticks(5), y.ticks(5), ...texts);
  if (front.length > 1) svg.append(node('path', { d: `M${front.map((t) => `${x.at(t)},${y.at(t)}`).join('L')}`, class: 'best' }));
  for (const t of list) if (x.at(t) !== undefined && y.at(t) !== undefined) svg.append(dot(m, t, x.at(t), y.at(t)));
  return svg;
}

// frontChart shows two metrics against each other, and the Pareto front.
function frontChart(m, w) {
  const [a, b] = m.report.metrics, list = m.shown.filter((t) => t.score?.length > 1), h = 260;
  if (!b || !list.length) return null;
  const axis = (i, range) => numberAxis(m.report.metrics[i].name, tame(list.map((t) => t.score[i])), (t) => t.score?.[i], range);
  const front = list.filter((t) => m.best.has(t.trial)).sort((p, q) => p.score[0] - q.score[0]);
  return scatterChart(m, list, axis(0, [54, w - 14]), axis(1, [h - 40, 22]), w, h, [`${a.name} (${a.goal})`, `${b.name} (${b.goal})`], front);
}

// importanceChart shows how much each parameter matters, with its standard error.
function importanceChart(m, w) {
  const of = m.report.importance?.[m.metricIndex];
  if (!of?.keys?.length) return null;
  const row = 24, h = of.keys.length * row + 30, text = Math.min(170, w * 0.42);
  const most = Math.max(0.05, ...of.keys.map((k) => k.share + k.error));
  const x = scale([0, most], [text, w - 46]);
  const svg = node('svg', { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: 'img' });
  of.keys.forEach((k, i) => {
    const y = i * row + 8;
    svg.append(
      node('text', { x: text - 8, y: y + 11, class: 'tick', 'text-anchor': 'end' }, clip(k.key, text / 7)),
      node('rect', { x: text, y, width: Math.max(1, x(k.share) - text), height: 13, class: 'bar' }),
      node('line', { x1: x(Math.max(0, k.share - k.error)), x2: x(k.share + k.error), y1: y + 6.5, y2: y + 6.5, class: 'error' }),
      node('text', { x: x(k.share + k.error) + 6, y: y + 11, class: 'tick' }, k.share.toFixed(2)));
  });
  svg.append(node('text', { x: w, y: h - 4, class: 'label', 'text-anchor': 'end' }, `share of the variance; the forest explains ${Math.round(100 * of.explained)} %`));
  return svg;
}

function clip(text, most) { return text.length > most ? `…${text.slice(1 - most)}` : text; }

// sliceChart shows the metric over the values of one parameter.
function sliceChart(m, p, w) {
  const h = 170, list = m.shown.filter((t) => m.value(t) !== undefined);
  if (!list.length) return null;
  const axis = m.axis(p, [46, w - 10]), range = tame(list.map(m.value)), y = scale(range, [h - 34, 20]);
  const svg = frame(w, h, [46, w - 10], [h - 34, 20], axis.ticks(4), marks(ticks(range, 4), y), '', '');
  svg.append(node('text', { x: 4, y: 11, class: 'label' }, p.key));
  const room = p.values ? (w - 56) / p.values.length * 0.5 : 0; // points of one choice stand beside each other
  for (const t of list) {
    const at = axis.at(t);
    if (at !== undefined) svg.append(dot(m, t, at + room * ((t.trial * 0.618034) % 1 - 0.5), y(m.value(t)), 3));
  }
  return svg;
}

// flowChart shows what became of the trials at each rung: the width of a band is their number.
function flowChart(m, w) {
  const rungs = m.report.stop.rungs, n = rungs.length, trials = m.trials.filter((t) => !t.confirms);
  if (n < 2 || !trials.length) return null;
  const narrow = w < 420, top = 34, room = 130, h = top + room + (narrow ? 42 : 26), x = scale([0, n], [8, w - 8]);
  const svg = node('svg', { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: 'img' });
  const reached = rungs.map((_, r) => trials.filter((t) => t.rung > r && t.first <= r).length);
  const entered = rungs.map((_, r) => trials.filter((t) => t.first <= r && (t.rung > r || t.first === r || (t.rung === r && t.state !== 'pruned'))).length);
  const high = Math.max(...entered, 1);
  rungs.forEach((r, i) => {
    const pruned = trials.filter((t) => t.state === 'pruned' && t.rung === i + 1).length;
    const lost = trials.filter((t) => (t.state === 'diverged' || t.state === 'failed') && Math.max(t.rung, t.first) === i).length;
    const left = x(i) + 4, width = (x(i + 1) - x(i)) * 0.52, tall = (k) => k / high * room;
    const on = Math.max(0, reached[i] - pruned);
    let y = top;
    for (const [count, kind] of [[on, i === n - 1 ? 'complete' : 'on'], [pruned, 'pruned'], [lost, 'diverged'], [Math.max(0, entered[i] - on - pruned - lost), 'waiting']]) {
      if (!count) continue;
      svg.append(node('rect', { x: left, y, width, height: Math.max(1, tall(count) - 1), class: `flow ${kind}` }, node('title', {}, `update ${r}: ${count} ${kind === 'on' ? 'go on' : kind}`)));
      if (tall(count) > 13) svg.append(node('text', { x: left + 5, y: y + 12, class: `count ${kind}` }, String(count)));
      y += tall(count);
    }
    if (i < n - 1 && on) {
      const to = x(i + 1) + 4, a = top, b = top + tall(on);
      svg.append(node('path', { d: `M${left + width},${a}C${(left + width + to) / 2},${a} ${(left + width + to) / 2},${a} ${to},${a}V${b}C${(left + width + to) / 2},${b} ${(left + width + to) / 2},${b} ${left + width},${b}Z`, class: 'stream' }));
    }
    svg.append(node('text', { x: left, y: 14, class: 'tick' }, `update ${short(r)}`), node('text', { x: left, y: 27, class: 'label' }, `${entered[i]} trials`));
  });
  const key = node('g', {});
  ['complete', 'on', 'pruned', 'diverged', 'waiting'].forEach((kind, i) => {
    const left = 8 + (narrow ? i % 3 : i) * 88, y = top + room + (narrow && i > 2 ? 28 : 12);
    key.append(node('rect', { x: left, y, width: 9, height: 9, class: `flow ${kind}` }),
      node('text', { x: left + 12, y: y + 8, class: 'tick' }, { on: 'continues', diverged: 'lost' }[kind] ?? kind));
  });
  svg.append(key);
  return svg;
}

// parallelChart shows each trial as a line over all parameters and metrics: axes stand side by side where there is room,
// else they lie below one another. A drag on an axis keeps what is in the brush; a click on it takes the brush away.
function parallelChart(m, w) {
  const axes = m.axes(), lying = w < axes.length * 84;
  const h = lying ? 44 + axes.length * 48 : 300;
  const [from, to] = lying ? [Math.max(24, w * 0.045), w - 14] : [h - 18, 44]; // the ends of each axis
  const gap = lying ? 48 : (w - 70) / Math.max(axes.length - 1, 1), at = (i) => (lying ? 46 : 40) + i * gap;
  const along = (f) => from + f * (to - from);
  const box = (i, low, high, half, of = {}) => node('rect', lying
    ? { x: Math.min(low, high), width: Math.abs(high - low), y: at(i) - half, height: 2 * half, ...of }
    : { y: Math.min(low, high), height: Math.abs(high - low), x: at(i) - half, width: 2 * half, ...of });
  const clear = Math.min(0.55, 60 / m.trials.length); // where many lines cross, each is fainter
  const svg = node('svg', { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: 'img', class: lying ? 'lying' : null, style: `--clear:${Math.max(0.08, clear)}` });
  const lines = [...m.trials].sort((a, b) => (m.place(b) ?? 1e9) - (m.place(a) ?? 1e9));
  const kept = new Set(m.shown.map((t) => t.trial));
  for (const t of lines) {
    const points = axes.map((a, i) => { const x = along(a.at(t) ?? foot); return lying ? [x, at(i)] : [at(i), x]; });
    svg.append(node('path', {
      d: `M${points.map((p) => p.join(',')).join('L')}`, class: `line ${kept.has(t.trial) ? '' : 'out'} ${m.chosen === t.trial ? 'chosen' : ''}`,
      style: kept.has(t.trial) ? `stroke:${m.colour(t)}` : null, 'data-trial': t.trial,
    }));
  }
  axes.forEach((a, i) => {
    const last = i === axes.length - 1; // its texts stay within the chart
    svg.append(...(lying ? lyingTexts(a, at(i), along) : standingTexts(a, i, last, at(i), along, gap, w)));
    svg.append(node('line', lying ? { x1: from, x2: to, y1: at(i), y2: at(i), class: 'axis' } : { x1: at(i), x2: at(i), y1: to, y2: from, class: 'axis' }));
    const brush = m.brushes.get(a.key);
    if (brush) svg.append(box(i, along(brush[0]), along(brush[1]), 8, { class: 'brush' }));
    const area = box(i, from + (lying ? -16 : 14), to + (lying ? 6 : -6), 13, { class: 'grip', 'aria-label': `filter by ${a.key}` });
    area.addEventListener('pointerdown', (e) => {
      area.setPointerCapture(e.pointerId);
      const r = svg.getBoundingClientRect(), place = (o) => (lying ? (o.clientX - r.left) * w / r.width : (o.clientY - r.top) * h / r.height), start = place(e);
      let band = svg.appendChild(box(i, start, start, 8, { class: 'brush' }));
      const move = (o) => { const next = box(i, start, place(o), 8, { class: 'brush' }); band.replaceWith(next); band = next; };
      area.addEventListener('pointermove', move);
      area.addEventListener('pointerup', (o) => {
        area.removeEventListener('pointermove', move);
        const ends = [start, place(o)];
        m.brush(a, Math.abs(ends[1] - ends[0]) < 4 ? null : ends.map((x) => (x - from) / (to - from)));
      }, { once: true });
    });
    svg.append(area);
  });
  return svg;
}

// foot is the place on an axis, whose ends are 0 and 1, of trials that do not have its key.
const foot = -0.042;

// standingTexts are the name and the values of an axis that stands.
function standingTexts(a, i, last, x, along, gap, w) {
  const name = node('text', { x: last ? w : i ? x : 4, y: i % 2 ? 12 : 26, class: 'label', 'text-anchor': last ? 'end' : i ? 'middle' : 'start' }, clip(a.key, Math.max(10, gap / 4)), node('title', {}, a.key));
  return [name, ...a.ticks(5).map(([v, f]) => node('text', { x: x + (last ? -5 : 5), y: along(f) + 4, class: 'tick halo', 'text-anchor': last ? 'end' : 'start' },
    clip(v, Math.max(12, gap / 8))))];
}

// lyingTexts are those of an axis that lies: its name above, its values below.
function lyingTexts(a, y, along) {
  const list = a.ticks(4), room = (along(1) - along(0)) / Math.max(list.length, 1);
  return [node('text', { x: 0, y: y - 9, class: 'label halo' }, a.key), ...list.map(([v, f]) => node('text', {
    x: along(f), y: y + 13, class: 'tick halo', 'text-anchor': f < 0.1 ? 'start' : f > 0.9 ? 'end' : 'middle' }, clip(v, Math.max(4, room / 7))))];
}
