// The workers of a run, and what went wrong and was put right.

import { el, text, number, count, ago, bytes } from './dom.js';

// workersPanel is a table of the workers. It is only there for runs that the server leads.
export function workersPanel() {
  const body = el('tbody');
  const note = el('p', { class: 'fine' });
  const table = el('table', { class: 'workers' }, el('thead', {}, el('tr', {}, ...['Worker', 'State', 'Slots', 'Leased', 'Shards/s', 'Cores', 'Memory', 'Last seen'].map((h) => el('th', { scope: 'col' }, h)))), body);
  const node = el('section', { class: 'panel', hidden: true }, el('header', {}, el('h2', {}, 'Workers'), note), table);
  const rows = new Map();
  const show = (r) => {
    node.hidden = !r.live;
    if (!r.live) return;
    const list = r.live.workers ?? [];
    text(note, list.length ? `term ${r.live.term}` : 'none is connected');
    table.hidden = list.length === 0;
    const banned = new Set(r.live.quarantined ?? []);
    const most = Math.max(...list.map((w) => w.busy));
    for (const w of list) {
      if (!rows.has(w.id)) {
        const cells = [el('th', { scope: 'row' }), el('td'), el('td'), el('td', {}, el('meter', { min: 0, 'aria-hidden': 'true' }), el('span')), el('td'), el('td'), el('td'), el('td')];
        rows.set(w.id, { cells, tr: el('tr', {}, ...cells) });
      }
      const { cells, tr } = rows.get(w.id);
      text(cells[0], w.id);
      text(cells[1], banned.has(w.id) ? 'quarantined' : w.state);
      tr.dataset.state = banned.has(w.id) ? 'failed' : w.state;
      text(cells[2], String(w.slots));
      Object.assign(cells[3].firstChild, { max: Math.max(1, most), value: w.busy });
      text(cells[3].lastChild, w.busy === 1 ? '1 shard' : `${w.busy} shards`);
      text(cells[4], w.shards_per_second ? number(w.shards_per_second) : '–');
      text(cells[5], w.memory_bytes ? w.cores.toFixed(1) : '–');
      text(cells[6], w.memory_bytes ? bytes(w.memory_bytes) : '–');
      text(cells[7], ago(w.last_seen));
    }
    const want = list.map((w) => rows.get(w.id).tr);
    if (want.length !== body.children.length || want.some((tr, i) => tr !== body.children[i])) body.replaceChildren(...want);
    for (const id of [...rows.keys()]) if (!list.some((w) => w.id === id)) rows.delete(id);
  };
  return { node, show };
}

// faultsPanel counts what was done twice, refused or cut off.
export function faultsPanel() {
  const list = el('dl', { class: 'facts small' });
  const refused = el('p', { class: 'fine' });
  const node = el('section', { class: 'panel', hidden: true }, el('header', {}, el('h2', {}, 'Work and faults')), list, refused);
  const cells = new Map();
  const put = (name, value, below = '', bad = false) => {
    if (!cells.has(name)) {
      const c = { value: el('dd'), below: el('dd', { class: 'below' }) };
      c.node = el('div', {}, el('dt', {}, name), c.value, c.below);
      cells.set(name, c);
      list.append(c.node);
    }
    const c = cells.get(name);
    text(c.value, value);
    text(c.below, below);
    c.node.classList.toggle('bad', bad);
  };
  const show = (r) => {
    node.hidden = !r.live;
    if (!r.live) return;
    const l = r.live;
    const goodput = l.shards_issued ? (100 * l.shards_useful) / l.shards_issued : null;
    put('Goodput', goodput === null ? '–' : `${goodput.toFixed(goodput > 99.95 ? 0 : 1)} %`, `${count(l.shards_useful)} of ${count(l.shards_issued)} shards`);
    const [exchange, ...why] = (l.exchange || 'star').split(': ');
    put('Exchange', exchange, why.join(': ') || 'of gradients');
    put('Speculations', count(l.speculations), 'leases issued twice');
    put('Audits', count(l.audits), 'blocks checked');
    put('Disputes', count(l.disputes), 'blocks with two answers', l.disputes > 0);
    put('Rollbacks', count(l.rollbacks), 'to a checkpoint', l.rollbacks > 0);
    put('Quarantined', count(l.cut_off ?? 0), (l.quarantined ?? []).join(', ') || 'workers cut off', l.cut_off > 0);
    const reasons = Object.entries(l.rejections ?? {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
    put('Refused', count(reasons.reduce((n, [, k]) => n + k, 0)), 'messages');
    text(refused, reasons.length ? `Refused messages: ${reasons.map(([k, n]) => `${k} ${count(n)}`).join(', ')}. A refused message changes nothing.` : '');
  };
  return { node, show };
}
