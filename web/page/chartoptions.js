// The settings that all charts of a view share, and their controls. They stand in the address; what is not there is as it
// was last.

import { el, text } from './dom.js';
import { keep, parts } from './address.js';

const usual = { smooth: 0.6, log: false, clip: true, time: false };

export function options() {
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem('switchyard-charts') ?? '{}'); } catch { /* as if there were none */ }
  const o = { ...usual, ...kept };
  const { settings } = parts();
  if (settings.has('smooth')) o.smooth = Math.min(0.99, Math.max(0, Number(settings.get('smooth')) || 0));
  for (const flag of ['log', 'clip']) if (settings.has(flag)) o[flag] = settings.get(flag) === '1';
  if (settings.has('x')) o.time = settings.get('x') === 'time';
  return o;
}

// range is the part of the axis that the address asks for.
export function range() {
  const ends = /^(-?[\d.]+(?:e[-+]?\d+)?)-(-?[\d.]+(?:e[-+]?\d+)?)$/; // who zooms out of the whole range begins below zero
  const [, low, high] = (ends.exec(parts().settings.get('range') ?? '') ?? []).map(Number);
  return Number.isFinite(low) && Number.isFinite(high) && high > low ? [low, high] : null;
}

// chartTools are the controls of a group of charts. changed is called when the axis is another one.
export function chartTools(group, changed) {
  const o = group.options;
  const change = (part) => {
    Object.assign(o, part);
    localStorage.setItem('switchyard-charts', JSON.stringify({ smooth: o.smooth, log: o.log, clip: o.clip, time: o.time }));
    keep({ smooth: o.smooth, log: o.log ? '1' : '0', clip: o.clip ? '1' : '0', x: o.time ? 'time' : 'step' });
    group.draw();
  };
  const shown = el('output', {}, o.smooth.toFixed(2));
  const slider = el('input', { type: 'range', min: '0', max: '0.99', step: '0.01', value: String(o.smooth), 'aria-label': 'Smoothing',
    oninput: (e) => { text(shown, Number(e.target.value).toFixed(2)); change({ smooth: Number(e.target.value) }); } });
  const flag = (label, key, title) => el('label', { title }, el('input', { type: 'checkbox', checked: o[key], onchange: (e) => change({ [key]: e.target.checked }) }), label);
  const axis = el('select', { 'aria-label': 'Horizontal axis', onchange: (e) => { group.zoom(null); change({ time: e.target.value === 'time' }); changed(); } },
    el('option', { value: 'step' }, 'step'), el('option', { value: 'time', selected: o.time }, 'time'));
  const reset = el('button', { type: 'button', class: 'quiet', hidden: !group.range, onclick: () => group.zoom(null) }, 'Whole range');
  const node = el('div', { class: 'tools' }, el('label', {}, 'Smoothing', slider, shown), el('label', {}, 'over', axis),
    flag('log', 'log', 'Logarithmic vertical axes, where all values have one sign'),
    flag('without outliers', 'clip', 'Scale to all but the most extreme values of training; validations are always in view'), reset,
    el('span', { class: 'hint' }, 'drag to zoom, double-click for the whole range'));
  const zoomed = (r) => {
    reset.hidden = !r;
    keep({ range: r ? r.map((v) => Number(v.toPrecision(7))).join('-') : '' });
  };
  return { node, zoomed };
}
