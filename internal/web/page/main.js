// The page: which view is shown, its token, its colours.

import { el, text } from './dom.js';
import { get, takeToken, setToken, Refused, Missing } from './api.js';
import { Table } from './table.js';
import { RunView } from './run.js';

const main = document.getElementById('main');
const link = document.getElementById('link');
const words = { live: 'live', lost: 'connection lost, trying again', off: 'connecting', locked: 'locked', none: 'not connected' };
let view = null;
let about = null; // what the server said of itself
let retry = 0;

function state(word) {
  link.dataset.state = word;
  text(link, words[word]);
}

// route shows the view that the fragment of the address names.
async function route() {
  clearTimeout(retry);
  takeToken();
  view?.close();
  view = null;
  state('off');
  const run = /^#\/run\/([^/?]+)/.exec(location.hash);
  document.title = 'Switchyard';
  try {
    about ??= await get('api/runs');
    text(document.getElementById('version'), `switchyard ${about.version}`);
    const shown = view = run ? new RunView(decodeURIComponent(run[1]), { state, canStop: about.can_stop }) : new Table({ state });
    shown.fail = failed;
    await shown.open();
    if (view !== shown) { shown.close(); return; }
    main.replaceChildren(shown.node);
    scrollTo(0, 0);
  } catch (error) {
    failed(error);
  }
}

// failed says why nothing is shown, and tries again if that may help.
function failed(error) {
  view?.close();
  view = null;
  const final = error instanceof Refused || error instanceof Missing;
  state(error instanceof Refused ? 'locked' : final ? 'none' : 'lost');
  main.replaceChildren(error instanceof Refused ? tokenForm() : el('div', { class: 'empty' },
    el('p', {}, error instanceof Missing ? 'There is no such run.' : `The server does not answer as it should: ${error.message}.`),
    el('p', {}, el('a', { href: '#/' }, 'All runs'))));
  main.querySelector('input')?.focus();
  if (!final) retry = setTimeout(route, 3000);
}

// tokenForm asks for the token, which stays in this tab.
function tokenForm() {
  const input = el('input', { type: 'password', autocomplete: 'off', 'aria-label': 'Token', required: true, minlength: '16' });
  return el('form', { class: 'token', onsubmit: (e) => { e.preventDefault(); setToken(input.value.trim()); route(); } },
    el('h1', {}, 'Token'), el('p', {}, 'This page is served with a token: the line in the file that ', el('code', {}, '--web-token-file'), ' names. It stays in this tab.'),
    el('div', {}, input, el('button', { type: 'submit' }, 'Open')));
}

// Colours: as the system has them, light or dark.
const themes = ['auto', 'light', 'dark'];
const button = document.getElementById('theme');
function paint(theme) {
  document.documentElement.dataset.theme = theme;
  text(button.querySelector('.label'), theme);
  view?.group?.draw();
}
button.addEventListener('click', () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
  localStorage.setItem('switchyard-theme', next);
  paint(next);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => view?.group?.draw());

addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target.matches('input:not([type=range]):not([type=checkbox]), select') && e.key !== 'Escape') return;
  view?.key?.(e);
});
addEventListener('hashchange', route);

paint(localStorage.getItem('switchyard-theme') ?? 'auto');
route();
