// The live page of sweeps: the list, or one of them, asked for again while it goes on.

import { el, number, moment } from './dom.js';
import { get, takeToken, setToken, Refused, Missing } from './api.js';
import { theme } from './theme.js';

const main = document.getElementById('main');
const link = document.getElementById('link');
let timer = 0;
let view = null;
let last = '';

function state(word, text) {
  link.dataset.state = word;
  link.textContent = text;
}

let asked = 0; // the latest view that was asked for

// route shows the view that the fragment of the address names. What comes for an earlier one is not shown any more.
async function route(fresh = true) {
  clearTimeout(timer);
  takeToken();
  const name = decodeURIComponent(/^#\/([^/?]+)/.exec(location.hash)?.[1] ?? '');
  const mine = ++asked;
  let wait = 3000;
  try {
    const found = await get(name ? `api/sweeps/${encodeURIComponent(name)}` : 'api/sweeps');
    if (mine !== asked) return;
    if (name) wait = one(name, found, fresh);
    else list(found);
    state('live', 'live');
  } catch (error) {
    if (mine !== asked) return;
    const keep = view && !fresh && !(error instanceof Refused || error instanceof Missing); // what was chosen in it stays, too
    if (!keep) view = null;
    if (error instanceof Refused) { state('locked', 'locked'); main.replaceChildren(tokenForm()); return; }
    if (error instanceof Missing) state('none', 'connected');
    else state('lost', 'connection lost, trying again');
    if (!keep) main.replaceChildren(el('div', { class: 'empty' }, el('p', {}, error instanceof Missing ? `There is no such sweep${name ? `: ${name}` : ''}.` : `The server does not answer as it should: ${error.message}.`), el('p', {}, el('a', { href: '#/' }, 'All sweeps'))));
    if (error instanceof Missing) return;
  }
  timer = setTimeout(() => route(false), wait);
}

// one shows a sweep. It returns the time until the next look, which grows with the sweep.
function one(name, report, fresh) {
  document.title = `${name} · sweep`;
  if (fresh || !view) {
    main.replaceChildren(el('div', { id: 'sweep' }));
    view = new globalThis.SweepView(document.getElementById('sweep'), (run) => `./#/run/${encodeURIComponent(run)}`);
    last = '';
  }
  const now = report.updated + report.state + report.live;
  if (now !== last) view.show(report);
  last = now;
  return report.state === 'done' ? 30000 : Math.max(2000, 10 * report.trials.length);
}

function list(all) {
  view = null;
  document.title = 'Sweeps';
  const columns = [['name', (s) => el('a', { href: `#/${encodeURIComponent(s.name)}` }, s.name)], ['state', (s) => s.state], ['trials', (s) => `${s.trials}/${Math.max(s.run_cap, s.trials)}`],
    ['metric', (s) => s.metric], ['best', (s) => (s.best === undefined ? '–' : number(s.best))], ['began', (s) => moment(s.began)]];
  const rows = all.map((s) => el('tr', {}, ...columns.map(([label, show]) => el('td', { data: { label } }, show(s)))));
  main.replaceChildren(el('div', { class: 'top' }, el('h1', {}, 'Sweeps')), all.length ? el('section', { class: 'panel' }, el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, el('tr', {}, ...columns.map(([label]) => el('th', {}, label)))), el('tbody', {}, ...rows))))
    : el('p', { class: 'empty' }, 'There are no sweeps here.'));
}

function tokenForm() {
  const input = el('input', { type: 'password', autocomplete: 'off', 'aria-label': 'Token', required: true, minlength: '16' });
  return el('form', { class: 'token', onsubmit: (e) => { e.preventDefault(); setToken(input.value.trim()); route(); } },
    el('h1', {}, 'Token'), el('p', {}, 'This page is served with a token: the line in the file that ', el('code', {}, '--web-token-file'), ' names. It stays in this tab.'), input, el('button', {}, 'Open'));
}

addEventListener('hashchange', () => route());
theme();
route();
