// The page: which view is shown, its token, its colours.

import { el, text } from './dom.js';
import { get, takeToken, setToken, Refused, Missing } from './api.js';
import { Table } from './table.js';
import { RunView } from './run.js';
import { CompareView } from './compare.js';
import { parts } from './address.js';
import { theme } from './theme.js';

const main = document.getElementById('main');
const link = document.getElementById('link');
const words = { live: 'live', lost: 'connection lost, trying again', off: 'connecting', locked: 'locked', none: 'connected' };
let view = null;
let about = null; // what the server said of itself
let retry = 0;

function state(word) {
  link.dataset.state = word;
  text(link, words[word]);
}

// route shows the view that the fragment of the address names. Its frame is there before its numbers are.
async function route() {
  clearTimeout(retry);
  takeToken();
  view?.close();
  state('off');
  document.title = 'Switchyard';
  const { path, settings } = parts();
  const run = /^\/run\/([^/]+)$/.exec(path);
  const common = { state, about: () => about };
  const names = (settings.get('runs') ?? '').split(',').filter(Boolean).map(decodeURIComponent);
  const shown = view = run ? new RunView(decodeURIComponent(run[1]), common) : path === '/compare' ? new CompareView(names, common) : new Table(common);
  shown.fail = failed;
  main.replaceChildren(shown.node);
  scrollTo(0, 0);
  try {
    await Promise.all([shown.open(), learn()]);
    if (view === shown) shown.know?.(about);
  } catch (error) {
    if (view === shown) failed(error);
  }
}

// learn asks what the server can do.
async function learn() {
  about ??= await get('api/about');
  text(document.getElementById('version'), `switchyard ${about.version}`);
}

// failed says why nothing is shown, and tries again if that may help.
function failed(error) {
  const name = view?.name;
  view?.close();
  view = null;
  const final = error instanceof Refused || error instanceof Missing;
  state(error instanceof Refused ? 'locked' : final ? 'none' : 'lost');
  main.replaceChildren(error instanceof Refused ? tokenForm() : el('div', { class: 'empty' },
    el('p', {}, error instanceof Missing ? `There is no such run${name ? `: ${name}` : ''}. It may have been renamed or removed.` : `The server does not answer as it should: ${error.message}.`),
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

addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target.matches('input:not([type=range]):not([type=checkbox]), select, textarea') && e.key !== 'Escape') return;
  view?.key?.(e);
});
addEventListener('hashchange', route);

theme(() => view?.recolour?.());
route();
