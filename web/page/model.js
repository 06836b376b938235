// The model of a run, shown on a series that it was not trained on: forecast, regimes, linear systems, latent states.

import { el, svg, text, number, count } from './dom.js';
import { get, runPath } from './api.js';
import { linear, narrowed } from './scale.js';

// hue is the colour of a regime, from 0, as the server has it: that of the figures.
const hue = (m, k) => m.colours?.[k] ?? accent;
const accent = 'var(--c1)';

const place = (low, high, from, to) => (v) => from + ((v - low) / (high - low || 1)) * (to - from);
const finite = (rows) => rows.flat().filter(Number.isFinite);
const path = (points) => points.reduce((d, [x, y]) => (Number.isFinite(y) ? `${d}${d && !d.endsWith(' ') ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}` : d && `${d} `), '');

// modelPanel shows what the server computes of the model. show(run) asks again when there is a newer checkpoint.
export function modelPanel(name) {
  const note = el('p', { class: 'fine', role: 'status' });
  const body = el('div', { class: 'model' });
  const node = el('section', { class: 'panel', hidden: true, 'aria-label': 'Model' }, el('header', {}, el('h2', {}, 'Model'), note), body);
  let asked = '';
  let model = null;
  let drawn = 0; // the width that the forecast was drawn for
  const draw = () => {
    drawn = body.clientWidth;
    body.replaceChildren(...[fan(model, drawn), circle(model), portrait(model), strip(model)].filter(Boolean));
  };
  new ResizeObserver(() => { // a drawing that is only scaled has letters that nobody can read
    if (model && Math.abs(body.clientWidth - drawn) > 0.15 * drawn) draw();
  }).observe(body);
  const show = async (r, able) => {
    const of = `${r.checkpoint_step} ${r.params_sha256 ?? ''} ${r.metrics?.best_step ?? ''}`;
    if (!able || !r.checkpoint_step || asked === of) return;
    asked = of;
    node.hidden = false;
    text(note, body.children.length ? 'a newer checkpoint is being read …' : 'the checkpoint is being read …');
    try {
      const m = model = await get(runPath(name, '/model'));
      text(note, `${m.family}, parameters after step ${count(m.step)}${m.series ? `, on ${m.series}` : ''}${m.diverges ? `: ${m.diverges}` : ''}`);
      draw();
      if (body.children.length === 0 && !m.diverges) text(note, `${m.family}: the family has nothing to draw here`);
    } catch (error) {
      text(note, `it cannot be shown: ${error.message}`);
    }
  };
  return { node, show };
}

function figure(title, drawing, ...below) {
  return el('figure', {}, el('figcaption', {}, title), drawing, ...below);
}

// key is an entry of a legend: the mark does not part from its word.
function key(mark, word) {
  return el('span', { class: 'key' }, mark, word);
}

// fan shows the series, the forecast with its intervals against what came, and the regimes over all of it.
function fan(m, width) {
  const f = m.fan;
  if (!f) return null;
  const channels = f.shown;
  const W = Math.max(280, width);
  const H = 110;
  const left = 46;
  const end = f.series.length;
  const px = place(0, Math.max(1, end - 1), left, W - 6);
  const height = channels.length * (H + 14) + (m.raster ? 14 + 12 * m.raster[0].length : 0) + 22;
  const drawing = svg('svg', { viewBox: `0 0 ${W} ${height}`, role: 'img', 'aria-label': `Forecast of ${channels.map((c) => m.channels[c]).join(', ')} from step ${f.begin} on, beside the observed values` });
  channels.forEach((c, row) => {
    const top = row * (H + 14) + 4;
    const column = (rows) => rows.map((r) => r[c]);
    const values = finite([column(f.series), column(f.low), column(f.high)]).sort((a, b) => a - b);
    const seen = finite([column(f.series)]);
    const own = seen.length ? seen : values; // of a channel that nobody measured there is the forecast alone
    const spread = Math.max(...own) - Math.min(...own) || 1;
    const low = Math.max(values[0], Math.min(...own) - spread); // a forecast that leaves the series far behind is cut off
    const high = Math.min(values.at(-1), Math.max(...own) + spread);
    const py0 = place(low, high, top + H, top);
    const py = (v) => Math.min(top + H, Math.max(top, py0(v)));
    for (const t of linear(low, high, 3)) {
      drawing.append(svg('line', { x1: left, x2: W - 6, y1: py(t.v), y2: py(t.v), stroke: 'var(--grid)' }), svg('text', { x: left - 6, y: py(t.v) + 4, 'text-anchor': 'end', ...narrowed(t.label, left - 8) }, t.label));
    }
    const ahead = (rows) => rows.map((r, k) => [px(f.begin + k), r[c] === null ? NaN : py(r[c])]).filter(([, y]) => Number.isFinite(y));
    const band = (lows, highs, opacity) => svg('path', { d: `${path([...ahead(lows), ...ahead(highs).reverse()])}Z`, fill: accent, opacity });
    drawing.append(band(f.low, f.high, 0.16), band(f.inner_low, f.inner_high, 0.22),
      svg('path', { d: path(column(f.series).map((v, t) => [px(t), v === null ? NaN : py(v)])), fill: 'none', stroke: 'var(--ink)', 'stroke-width': 1.3 }),
      svg('path', { d: path(ahead(f.mean)), fill: 'none', stroke: accent, 'stroke-width': 2 }),
      svg('text', { x: left + 4, y: top + 12, class: 'name' }, m.channels[c] ?? `y${c + 1}`));
  });
  let at = channels.length * (H + 14);
  drawing.append(svg('line', { x1: px(f.begin - 0.5), x2: px(f.begin - 0.5), y1: 4, y2: at - 10, stroke: 'var(--muted)', 'stroke-dasharray': '3 3' }));
  if (m.raster) at = raster(drawing, m, px, at + 8, left);
  for (const t of linear(0, end - 1, W < 500 ? 5 : 8)) if (Number.isInteger(t.v)) drawing.append(svg('text', { x: px(t.v), y: at + 14, 'text-anchor': 'middle' }, t.label));
  const node = figure(`Forecast from step ${f.begin} on${m.raster ? ', and the regimes of the whole series' : ''}`, drawing,
    el('p', { class: 'keys' }, key(el('i', { class: 'truth' }), 'series'), key(el('i', { class: 'line' }), 'mean'),
      key(el('i', { class: 'band inner' }), '50 % interval'), key(el('i', { class: 'band' }), '90 % interval')));
  node.classList.add('fan');
  return node;
}

// raster shows the probability of each regime at each step.
function raster(drawing, m, px, top, left) {
  const regimes = m.raster[0].length;
  const width = px(1) - px(0);
  m.raster.forEach((p, t) => p.forEach((v, k) => {
    if (v > 0.02) drawing.append(svg('rect', { x: (px(t) - width / 2).toFixed(1), y: top + 12 * k, width: (width + 0.3).toFixed(2), height: 11, fill: hue(m, k), opacity: v.toFixed(2) }));
  }));
  for (let k = 0; k < regimes; k++) drawing.append(svg('text', { x: left - 6, y: top + 12 * k + 9, 'text-anchor': 'end' }, String(k + 1)));
  return top + 12 * regimes;
}

// circle shows the eigenvalues of the base systems in the complex plane.
function circle(m) {
  if (!m.systems) return null;
  const all = m.systems.flat();
  const reach = Math.max(1.15, ...all.map((e) => Math.min(2.5, 1.05 * Math.hypot(e.re, e.im))));
  const S = 250;
  const p = place(-reach, reach, 8, S - 8);
  const drawing = svg('svg', { viewBox: `0 0 ${S} ${S}`, role: 'img', class: 'square', 'aria-label': `Eigenvalues of ${m.systems.length} base systems; the largest modulus is ${number(Math.max(...all.map((e) => Math.hypot(e.re, e.im))))}` },
    svg('line', { x1: 8, x2: S - 8, y1: S / 2, y2: S / 2, stroke: 'var(--grid)' }), svg('line', { y1: 8, y2: S - 8, x1: S / 2, x2: S / 2, stroke: 'var(--grid)' }),
    svg('circle', { cx: S / 2, cy: S / 2, r: p(1) - S / 2, fill: 'none', stroke: 'var(--axis)' }));
  m.systems.forEach((modes, k) => {
    for (const e of modes) {
      if (Math.hypot(e.re, e.im) > reach) continue;
      drawing.append(svg('circle', { cx: p(e.re), cy: p(-e.im), r: 3.6, fill: hue(m, k), 'fill-opacity': 0.75 }, svg('title', {}, `system ${k + 1}: ${number(e.re)} ${e.im < 0 ? '−' : '+'} ${number(Math.abs(e.im))} i, modulus ${number(Math.hypot(e.re, e.im))}`)));
    }
  });
  return figure('Eigenvalues of the base systems', drawing, regimeKeys(m));
}

function regimeKeys(m) {
  const keys = [];
  for (let k = 0; k < m.systems.length; k++) {
    const mark = el('i', { class: 'regime' });
    mark.style.setProperty('--c', hue(m, k));
    keys.push(key(mark, String(k + 1)));
  }
  return el('p', { class: 'keys' }, ...keys);
}

// portrait shows the latent states along the series, by their two main directions, in the colours of the regimes.
function portrait(m) {
  const s = m.portrait;
  if (!s) return null;
  const S = 250;
  const px = place(Math.min(...s.x), Math.max(...s.x), 12, S - 12);
  const py = place(Math.min(...s.y), Math.max(...s.y), S - 12, 12);
  const drawing = svg('svg', { viewBox: `0 0 ${S} ${S}`, role: 'img', class: 'square', 'aria-label': `Latent states of ${s.x.length} steps in their two principal directions` },
    svg('path', { d: path(s.x.map((x, t) => [px(x), py(s.y[t])])), fill: 'none', stroke: 'var(--axis)' }));
  s.x.forEach((x, t) => drawing.append(svg('circle', { cx: px(x).toFixed(1), cy: py(s.y[t]).toFixed(1), r: 2.6, fill: s.regime ? hue(m, s.regime[t]) : accent }, svg('title', {}, `step ${t}`))));
  drawing.append(svg('circle', { cx: px(s.x[0]), cy: py(s.y[0]), r: 5, fill: 'none', stroke: 'var(--ink)' }));
  return figure('Latent states', drawing, el('p', { class: 'keys' }, `two main directions, ${Math.round(100 * s.share)} % of the variance; the ring is the first step`));
}

// strip shows images: what came above what the model expected.
function strip(m) {
  const s = m.strip;
  if (!s) return null;
  const [h, w, channels] = s.shape;
  const rows = [['series', s.truth], ['forecast', s.mean]];
  const canvas = el('canvas', { width: s.steps.length * (w + 1), height: 2 * (h + 1), class: 'strip', role: 'img', 'aria-label': `Images of ${s.steps.length} steps: the series above, the forecast from step ${s.begin} on below` });
  const g = canvas.getContext('2d');
  rows.forEach(([, list], row) => list.forEach((values, i) => {
    const image = g.createImageData(w, h);
    for (let k = 0; k < w * h; k++) {
      for (let c = 0; c < 3; c++) image.data[4 * k + c] = 255 * Math.min(1, Math.max(0, values[channels * k + (channels === 3 ? c : 0)]));
      image.data[4 * k + 3] = 255;
    }
    g.putImageData(image, i * (w + 1), row * (h + 1));
  }));
  return figure(`Images of steps ${s.steps[0]} to ${s.steps.at(-1)}: the series, and the forecast from step ${s.begin} on`, canvas);
}
