// Colours: as the system has them, light or dark. The choice holds for all pages of this address.

import { text } from './dom.js';

const themes = ['auto', 'light', 'dark'];

// theme lets the button choose, and calls changed after every change.
export function theme(changed = () => {}) {
  const button = document.getElementById('theme');
  const paint = (name) => {
    document.documentElement.dataset.theme = name;
    text(button.querySelector('.label'), name);
    button.setAttribute('aria-label', `Colours: ${name}`);
    changed();
  };
  button.addEventListener('click', () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    localStorage.setItem('switchyard-theme', next);
    paint(next);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  paint(localStorage.getItem('switchyard-theme') ?? 'auto');
}
