// Axes: from values to places, and where the ticks are.

import { thin } from './dom.js';

// linear returns nice ticks between two values, about n of them.
export function linear(low, high, n) {
  if (!(high > low) || !Number.isFinite(high - low)) return Number.isFinite(low) ? [{ v: low, label: tidy(low, 0.01) }] : [];
  const rough = (high - low) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = [0.2, 0.5, 1, 2, 5, 10].map((m) => m * power);
  let at = Math.max(0, steps.findIndex((s) => s >= rough));
  const place = (step) => {
    const list = [];
    if (!(Math.max(Math.abs(low), Math.abs(high)) / step < 2 ** 53)) return list; // beyond, adding one changes nothing
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) list.push(k * step);
    return list;
  };
  while (at > 0 && n >= 2 && place(steps[at]).length < 2) at--; // one tick alone says nothing of the scale
  const step = steps[at];
  const ticks = place(step);
  return ticks.map((v) => ({ v, label: tidy(v, step) }));
}

// tidy writes a multiple of a step with the digits that tell it from the next one.
function tidy(v, step) {
  const digits = Math.max(0, -place10(step));
  if (Math.abs(v) < step / 2) return '0';
  if (digits > 4 || Math.abs(v) >= 1e6) return short(v, step);
  return v.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }).replaceAll(',', thin).replace('-', '−');
}

// short is tidy as a multiple of a power of ten.
function short(v, step) {
  const digits = Math.min(15, Math.max(0, place10(Math.abs(v)) - place10(step)));
  return v.toExponential(digits).replace(/\.?0*e\+?/, 'e').replaceAll('-', '−');
}

// place10 is the power of ten of the first digit of a number.
const place10 = (v) => Math.floor(Math.log10(v) + 1e-9);

// narrowed are the attributes of a label in a drawing that would take more room than it has, in pixels.
export const narrowed = (label, room) => (6.5 * label.length > room ? { textLength: room, lengthAdjust: 'spacingAndGlyphs' } : {});

// yScale maps values to 0..1. On a logarithmic axis values of one sign are shown by their
// order of magnitude; values of both signs stay linear.
export function yScale(low, high, log, n) {
  const sign = low > 0 ? 1 : high < 0 ? -1 : 0;
  if (!log || sign === 0) {
    return { place: (v) => (v - low) / (high - low), ticks: linear(low, high, n) };
  }
  const f = (v) => (v * sign > 0 ? sign * Math.log10(v * sign) : -sign * Infinity);
  const a = f(low);
  const b = f(high);
  const least = Math.min(Math.abs(low), Math.abs(high));
  const most = Math.max(Math.abs(low), Math.abs(high));
  let ticks = linear(low, high, n);
  if (most / least > 8) {
    ticks = [];
    const decades = Math.log10(most / least);
    for (let d = Math.floor(Math.log10(least)); d <= Math.log10(most); d++) {
      for (const m of decades > 4 ? [1] : decades > 1.6 ? [1, 3] : [1, 2, 5]) {
        const v = m * 10 ** d;
        if (v >= least && v <= most) ticks.push({ v: sign * v, label: v >= 1e-3 && v < 1e6 ? tidy(sign * v, 10 ** d) : short(sign * v, 10 ** d) });
      }
    }
  }
  return { place: (v) => (f(v) - a) / (b - a), ticks };
}

const clock = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];

// xTicks returns ticks for steps, or for seconds as durations.
export function xTicks(low, high, n, time) {
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  if (!time) return linear(low, high, n).filter((t) => Number.isInteger(Math.round(t.v * 1e6) / 1e6));
  if (high - low < n) return linear(low, high, n).map((t) => ({ v: t.v, label: `${t.label} s` }));
  const rough = (high - low) / n;
  const step = clock.find((s) => s >= rough) ?? Math.ceil(rough / 604800) * 604800;
  const ticks = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) ticks.push({ v, label: duration(v, step) });
  return ticks;
}

function duration(v, step) {
  if (v === 0) return '0';
  if (step < 60) return v < 60 ? `${v} s` : `${Math.floor(v / 60)}:${String(v % 60).padStart(2, '0')}`;
  if (step < 3600 && v < 3600) return `${v / 60} min`;
  if (step < 86400 && v < 172800) return hours(v, step);
  if (step < 86400) return `${Math.floor(v / 86400)} d ${hours(v % 86400, step)}`;
  return `${Math.round(v / 8640) / 10} d`;
}

function hours(v, step) {
  return step < 3600 ? `${Math.floor(v / 3600)}:${String((v % 3600) / 60).padStart(2, '0')} h` : `${v / 3600} h`;
}

// smooth is the exponential moving average without bias towards its beginning.
export function smooth(y, weight) {
  if (weight <= 0) return y;
  let sum = 0;
  let mass = 1;
  return y.map((v) => {
    if (v === null || !Number.isFinite(v)) return null;
    sum = sum * weight + (1 - weight) * v;
    mass *= weight;
    return sum / (1 - mass);
  });
}

// nearest is the index of the value in a rising list that is closest to x.
export function nearest(list, x) {
  let low = 0;
  let high = list.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] < x) low = middle;
    else high = middle;
  }
  return x - list[low] < list[high] - x ? low : high;
}

// bounds are the least and the greatest of the values, or, clipped, of all but the most
// extreme fiftieth on each side.
export function bounds(values, clip) {
  const list = values.filter(Number.isFinite);
  if (list.length === 0) return null;
  list.sort((a, b) => a - b);
  const cut = clip ? Math.floor(list.length * 0.02) : 0;
  const low = list[cut];
  const high = list[list.length - 1 - cut];
  return [low, high];
}
