// The evaluation of a run, its files, and the end of its log.

import { el, text, bytes } from './dom.js';
import { blob, get, getText, runPath } from './api.js';

const tablePath = (name, file) => runPath(name, `/files/tables/${encodeURIComponent(file)}`);

// evaluation shows the tables that eval has written; the usual one is open. What a table says in words of the model's worth
// stands above it.
export async function evaluation(name, files) {
  const tables = files.filter((f) => f.name.startsWith('tables/') && f.name.endsWith('.txt'));
  if (tables.length === 0) return null;
  const parts = await Promise.all(tables.map(async (f, i) => {
    const body = await getText(tablePath(name, f.name.slice('tables/'.length))).catch((e) => e.message);
    const title = body.split('\n')[0];
    const verdict = body.match(/^Verdict: (.*)$/m)?.[1];
    const table = el('details', { open: i === 0 }, el('summary', {}, title), el('pre', { tabindex: '0', class: 'measured', 'aria-label': title }, body.slice(title.length + 1)));
    return verdict ? el('div', {}, el('p', { class: 'verdict' }, verdict), table) : table;
  }));
  return el('section', { class: 'panel' }, el('header', {}, el('h2', {}, 'Evaluation')), ...parts);
}

// downloads lists the files of the run.
export function downloads(name, files) {
  const list = files.map((f) => {
    const link = el('button', { type: 'button', class: 'file' }, f.name);
    const size = f.size ? ` ${bytes(f.size)}` : '';
    const small = el('small', { role: 'status' }, size);
    link.addEventListener('click', async () => {
      try {
        const url = await blob(runPath(name, `/files/${f.name.split('/').map(encodeURIComponent).join('/')}`));
        el('a', { href: url, download: `${name}-${f.name.replaceAll('/', '-')}` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 10000);
        text(small, size);
      } catch (error) {
        text(small, ` it did not come to its end: ${error.message}`);
      }
    });
    return el('li', {}, link, small);
  });
  return el('section', { class: 'panel' }, el('header', {}, el('h2', {}, 'Downloads')), el('ul', { class: 'files' }, ...list));
}

// logTail shows the last lines of the log, and reads on while it is open.
export function logTail(name, signal) {
  const pre = el('pre', { tabindex: '0', class: 'log', 'aria-label': 'End of the log' }, 'loading …');
  const node = el('details', { class: 'panel' }, el('summary', {}, 'End of the log'), pre);
  const read = async () => {
    if (!node.open || signal.aborted) return;
    const answer = await get(runPath(name, '/log?lines=60')).catch((e) => ({ lines: [e.message] }));
    const below = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 8;
    text(pre, answer.lines.join('\n') || 'the log is empty');
    if (below) pre.scrollTop = pre.scrollHeight;
  };
  node.addEventListener('toggle', read);
  const clock = setInterval(read, 3000);
  signal.addEventListener('abort', () => clearInterval(clock), { once: true });
  return node;
}
