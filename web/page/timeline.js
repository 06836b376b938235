// Where the time of the latest steps went: to the slowest computation, and to everything else.

import { el, text, span, count } from './dom.js';

const shown = 40;

// timeline is a bar for each of the latest steps.
export function timeline() {
  const bars = el('div', { class: 'bars', role: 'img' });
  const note = el('p', { class: 'fine' });
  const node = el('section', { class: 'panel', hidden: true }, el('header', {}, el('h2', {}, 'Time of a step')),
    el('p', { class: 'keys' }, el('span', { class: 'key' }, el('i', { class: 'compute' }), 'computing, the slowest worker'), el('span', { class: 'key' }, el('i', { class: 'other' }), 'exchange, waiting, update')), bars, note);
  const show = (split) => {
    const total = split?.values.step_seconds?.mean.slice(-shown) ?? [];
    const compute = split?.values.compute_seconds?.mean.slice(-shown) ?? [];
    const steps = split?.step.slice(-shown) ?? [];
    const longest = Math.max(...total.filter(Number.isFinite), 0);
    node.hidden = longest === 0;
    if (longest === 0) return;
    while (bars.children.length < total.length) bars.append(el('span', {}, el('i', { class: 'compute' }), el('i', { class: 'other' })));
    while (bars.children.length > total.length) bars.lastChild.remove();
    total.forEach((s, i) => {
      const own = Math.min(compute[i] ?? 0, s ?? 0);
      const [a, b] = bars.children[i].children;
      a.style.setProperty('height', `${(100 * own) / longest}%`);
      b.style.setProperty('height', `${(100 * ((s ?? 0) - own)) / longest}%`);
      bars.children[i].title = `step ${count(steps[i])}: ${span(s)}, of which ${span(own)} computing`;
    });
    const sum = (list) => list.reduce((n, v) => n + (v ?? 0), 0);
    const words = `${total.length} points up to step ${count(steps.at(-1))}: ${span(sum(total) / total.length)} each, of which ${Math.round((100 * Math.min(sum(compute), sum(total))) / sum(total))} % computing; highest bar ${span(longest)}.`;
    bars.setAttribute('aria-label', words);
    text(note, words);
  };
  return { node, show };
}
