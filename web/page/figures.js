// The figures of an evaluation, in the colours of the page: the neutral colours of an SVG are those of the scheme.

import { el } from './dom.js';
import { blob, getText, runPath } from './api.js';

// neutral colours of the style sheet of figures, and what the page calls them. Others mean something, and stay.
const neutral = { '#FFFFFF': 'panel', '#1A1A1A': 'ink', '#7F7F7F': 'muted', '#B9B9B9': 'axis', '#E6E6E6': 'grid' };

// themed is an SVG in the colours of the page.
function themed(svg) {
  const style = getComputedStyle(document.documentElement);
  return svg.replace(/#(?:FFFFFF|1A1A1A|7F7F7F|B9B9B9|E6E6E6)\b/g, (c) => style.getPropertyValue(`--${neutral[c]}`).trim());
}

// figures shows the figures of a run. draw draws them anew when the colours have changed.
export function figures(name, files) {
  const stems = new Map();
  for (const f of files) {
    const stem = f.replace(/\.\w+$/, '');
    if (!stems.has(stem) || f.endsWith('.svg')) stems.set(stem, f);
  }
  const urls = new Map(); // address of what is shown, by file
  const parts = [...stems.values()].map((file) => {
    const img = el('img', { alt: `Figure ${file}`, loading: 'lazy' });
    const link = el('a', { class: 'figure', target: '_blank', title: file, rel: 'noopener' }, img);
    const show = (url) => {
      if (urls.has(file)) URL.revokeObjectURL(urls.get(file));
      urls.set(file, url);
      img.src = link.href = url;
    };
    const path = runPath(name, `/figures/${encodeURIComponent(file)}`);
    const part = { link, text: '', draw: () => { if (part.text) show(URL.createObjectURL(new Blob([themed(part.text)], { type: 'image/svg+xml' }))); } };
    const read = file.endsWith('.svg') ? getText(path).then((t) => { part.text = t; part.draw(); }) : blob(path).then(show);
    read.catch(() => link.replaceChildren(`${file} cannot be shown`));
    return part;
  });
  return {
    node: el('section', { class: 'panel' }, el('header', {}, el('h2', {}, 'Figures of the evaluation')), ...parts.map((p) => p.link)),
    draw: () => parts.forEach((p) => p.draw()),
    close: () => { for (const url of urls.values()) URL.revokeObjectURL(url); },
  };
}
