// What the views build on: elements, and numbers and times as text.

// el makes an element. Properties that begin with "on" are listeners, those that the
// element has are set, others become attributes.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'class') e.className = value;
    else if (name === 'data') Object.assign(e.dataset, value);
    else if (name in e && typeof value !== 'string') e[name] = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// text sets the text of an element if it differs, so that selections stay.
export function text(e, value) {
  if (e.textContent !== value) e.textContent = value;
}

// thin is the space between groups of three digits; no line breaks there.
export const thin = '\u202f';

// number shows a value with about four significant digits.
export function number(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e7) return count(v).replace('-', '−');
  if (a !== 0 && (a < 1e-3 || a >= 1e7)) return v.toExponential(2).replace('-', '−').replace('e+', 'e');
  const digits = a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : a >= 1 ? 3 : 4;
  return v.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: a >= 1 ? digits : 0 }).replaceAll(',', thin).replace('-', '−');
}

// count shows a whole number with groups of three.
export function count(n) {
  return n === null || n === undefined ? '–' : n.toLocaleString('en').replaceAll(',', thin);
}

// counted is a number of things: 1 slot, 2 slots.
export const counted = (n, thing) => `${count(n)} ${thing}${n === 1 ? '' : 's'}`;

// span shows a duration given in seconds.
export function span(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return '–';
  if (seconds > 0 && seconds < 0.1) return `${number(1000 * seconds)} ms`;
  if (seconds < 10) return `${seconds < 1 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const m = Math.floor(seconds / 60);
  if (m < 100) return `${m} min`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

// ago shows how long a time is past.
export function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  return seconds < 5 ? 'just now' : `${span(seconds)} ago`;
}

// moment shows a time as date and clock.
export function moment(time) {
  const d = new Date(time);
  return Number.isNaN(d.getTime()) || d.getFullYear() < 2000 ? '–' : d.toLocaleString('sv');
}

// copyButton copies what a function returns.
export function copyButton(what) {
  const b = el('button', { type: 'button', class: 'quiet copy' }, 'Copy');
  b.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(what());
      b.textContent = 'Copied';
    } catch {
      select(b.closest('.copyable')?.querySelector('code'));
      b.textContent = 'Press Ctrl-C'; // the clipboard is closed to pages that are not secure
    }
    setTimeout(() => { b.textContent = 'Copy'; }, 1600);
  });
  return b;
}

function select(node) {
  if (!node) return;
  const range = document.createRange();
  range.selectNodeContents(node);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

// svg makes an element of a drawing.
export function svg(tag, attributes = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// power shows a power of 2 or 10 with small digits.
export function power(exponent, base = 2) {
  return base + [...String(exponent)].map((c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c])).join('');
}

// bytes shows a size.
export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  const i = n < 1000 ? 0 : Math.min(4, Math.floor(Math.log2(n / 1000 * 1.024) / 10) + 1);
  const v = n / 1024 ** i;
  return `${i === 0 ? v : v.toFixed(v < 10 ? 1 : 0)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][i]}`;
}

// loading says that something is on its way; it appears only if that takes a while.
export const loading = () => el('p', { class: 'loading', role: 'status' }, 'loading …');
