// How large the values of gradient and parameters are, over the updates: a column for each step that was counted, a row
// for each power of two, the darker the more values of a tensor lie there.

import { el, svg, text, count, counted, power } from './dom.js';
import { get, runPath } from './api.js';

const every = 'all tensors';
const row = 5; // pixels

// magnitudesPanel is folded, and asks when it is opened; show(run) asks again as the run goes on.
export function magnitudesPanel(name) {
  const pick = el('select', { 'aria-label': 'Tensor' });
  const note = el('p', { class: 'fine', role: 'status' });
  const body = el('div', { class: 'model halves' });
  const node = el('details', { class: 'magnitudes' }, el('summary', {}, 'Magnitudes of gradient and parameters, by tensor'),
    el('section', { class: 'panel' }, el('header', {}, el('label', {}, 'Tensor ', pick), note), body));
  let latest = null;
  let asked = -1;
  let data = null;
  let drawn = 0;
  const draw = () => {
    if (!data?.records.length) return;
    drawn = body.clientWidth;
    const width = drawn < 870 ? drawn : drawn / 2 - 13;
    const at = data.tensors.indexOf(pick.value);
    body.replaceChildren(...[['Gradient', 'gradient'], ['Parameters', 'parameters']].map(([title, key]) => heatmap(title, data.records.map((r) => ({ step: r.step, ...of(r[key], at) })), width)));
  };
  const load = async () => {
    if (!node.open || !latest || asked === latest.step) return;
    asked = latest.step;
    try {
      data = await get(runPath(name, '/magnitudes'));
    } catch (error) {
      text(note, `they cannot be shown: ${error.message}`);
      return;
    }
    text(note, data.records.length ? `counted at ${counted(data.records.length, 'step')}; the gradient before clipping` : 'none recorded yet');
    if (pick.options.length !== data.tensors.length + 1) pick.replaceChildren(...[every, ...data.tensors].map((t) => el('option', { value: t }, t)));
    draw();
  };
  pick.addEventListener('change', draw);
  node.addEventListener('toggle', load);
  new ResizeObserver(() => { if (Math.abs(body.clientWidth - drawn) > 0.15 * drawn) draw(); }).observe(body);
  const show = (r) => {
    latest = r;
    if (asked < 0 || r.state !== 'running' || r.step - asked >= r.steps / 64) load();
  };
  return { node, show };
}

// of is the magnitudes of one tensor of a record, or of all where at is below 0.
function of(tensors, at) {
  const list = (at < 0 ? tensors : [tensors[at]]).filter(Boolean);
  const filled = list.filter((o) => o.counts.length);
  const first = Math.min(...filled.map((o) => o.first));
  const counts = [];
  for (const o of filled) o.counts.forEach((n, i) => { counts[o.first - first + i] = (counts[o.first - first + i] ?? 0) + n; });
  return { first, counts, zero: list.reduce((sum, o) => sum + o.zero, 0) };
}

function heatmap(title, columns, W) {
  const filled = columns.filter((c) => c.counts.length);
  const total = (c) => c.zero + c.counts.reduce((sum, n) => sum + (n ?? 0), 0);
  const caption = el('figcaption', {}, title);
  if (!filled.length) return el('figure', {}, caption, el('p', { class: 'fine' }, 'all values are zero'));
  const low = Math.min(...filled.map((c) => c.first));
  const high = Math.max(...filled.map((c) => c.first + c.counts.length));
  const left = 48, top = 6, H = top + row * Math.max(high - low, 8);
  const width = (W - left - 6) / columns.length;
  const y = (exponent) => H - row * (exponent - low);
  const drawing = svg('svg', { viewBox: `0 0 ${W} ${H + 20}`, role: 'img', 'aria-label': `${title}: magnitudes from ${power(low)} to ${power(high)} over ${count(columns.at(-1).step)} steps` });
  for (let d = Math.ceil(low * Math.log10(2)); d <= high * Math.log10(2); d += (high - low) > 40 ? 4 : 2) {
    const at = y(d / Math.log10(2));
    drawing.append(svg('line', { x1: left, x2: W - 6, y1: at, y2: at, stroke: 'var(--grid)' }), svg('text', { x: left - 6, y: at + 4, 'text-anchor': 'end' }, power(d, 10)));
  }
  columns.forEach((c, i) => c.counts.forEach((n, k) => {
    if (!n) return;
    const share = n / total(c);
    drawing.append(svg('rect', { x: (left + i * width).toFixed(1), y: y(c.first + k + 1), width: (width + 0.3).toFixed(2), height: row, fill: 'var(--c1)', opacity: Math.min(1, 0.06 + 3 * share).toFixed(2) },
      svg('title', {}, `step ${count(c.step)}: ${(100 * share).toPrecision(2)} % between ${power(c.first + k)} and ${power(c.first + k + 1)}`)));
  }));
  for (const i of new Set([0, Math.floor((columns.length - 1) / 2), columns.length - 1])) {
    drawing.append(svg('text', { x: left + (i + 0.5) * width, y: H + 15, 'text-anchor': i === 0 ? 'start' : i === columns.length - 1 ? 'end' : 'middle' }, count(columns[i].step)));
  }
  const zeros = columns.at(-1).zero;
  return el('figure', {}, caption, drawing, ...(zeros ? [el('p', { class: 'fine' }, `${counted(zeros, 'value')} of ${count(total(columns.at(-1)))} at the last step ${zeros === 1 ? 'is' : 'are'} zero`)] : []));
}
