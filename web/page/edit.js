// What people say of runs: tags, a note, another name; and runs that are archived or deleted.

import { el, text, count, counted } from './dom.js';
import { post, runPath } from './api.js';
import { runAddress, listAddress } from './address.js';

const label = (name, labels) => post(runPath(name, '/labels'), labels);

// sure is a button that acts at the second press, if it is on the same runs as the first: of() names them.
function sure(title, ask, act, of = () => '') {
  let timer = 0;
  const b = el('button', { type: 'button', class: 'danger' }, title);
  const calm = () => { clearTimeout(timer); delete b.dataset.sure; text(b, title); };
  b.addEventListener('click', () => {
    const now = `yes ${of()}`;
    if (b.dataset.sure === now) { calm(); act(); return; }
    calm();
    b.dataset.sure = now;
    text(b, ask());
    timer = setTimeout(calm, 6000);
  });
  return b;
}

// labels shows the tags and the note of a run, and a form where they can be changed.
export function labels(name) {
  const chips = el('span');
  const comment = el('span', { class: 'comment' });
  const said = el('span', { class: 'said', role: 'status' });
  const tags = el('input', { id: 'tags', autocomplete: 'off', placeholder: 'words separated by spaces' });
  const note = el('textarea', { id: 'comment' });
  const to = el('input', { id: 'to', autocomplete: 'off', spellcheck: 'false', value: name });
  let now = {};
  const tell = async (act, done) => {
    try {
      await act();
      text(said, done);
    } catch (error) {
      text(said, error.message);
    }
  };
  const own = () => ({ tags: tags.value.split(/[\s,]+/).filter(Boolean), note: note.value });
  let kept = JSON.stringify(own()); // what the form began with, or was saved
  let leaving = 0; // when Escape was last pressed
  const typed = () => JSON.stringify(own()) !== kept || to.value !== name;
  const save = async () => {
    const fresh = own();
    await label(name, { ...now, ...fresh });
    kept = JSON.stringify(fresh);
  };
  const archive = el('button', { type: 'button', onclick: () => tell(() => label(name, { ...now, archived: !now.archived }), now.archived ? 'restored' : 'archived') }, 'Archive');
  const rename = () => tell(async () => { await post(runPath(name, '/rename'), { to: to.value.trim() }); location.hash = runAddress(to.value.trim()); }, '');
  const remove = sure('Delete', () => 'Delete the run with all its files?', () => tell(async () => { await post(runPath(name, '/remove'), {}); location.hash = listAddress(); }, ''));
  const form = el('details', { hidden: true }, el('summary', {}, 'Tags, note, name'),
    el('form', { onsubmit: (e) => { e.preventDefault(); tell(save, 'saved'); } },
      el('label', { for: 'tags' }, 'Tags'), tags, el('label', { for: 'comment' }, 'Note'), note, el('div', {}, el('button', { type: 'submit' }, 'Save'), archive, remove, said),
      el('label', { for: 'to' }, 'Name'), el('div', {}, to, el('button', { type: 'button', onclick: rename }, 'Rename'))));
  return {
    node: el('div', { class: 'labels' }, chips, comment, form),
    // stays says that something typed is not saved, and that it would be lost; whoever presses Escape again leaves it.
    stays() {
      if (!typed() || Date.now() - leaving < 6000) return false;
      leaving = Date.now();
      form.open = true;
      text(said, 'not saved: press Escape again to leave without it');
      return true;
    },
    know(about) { form.hidden = !about.can_edit; },
    show(r) {
      const fresh = r.labels ?? {};
      if (JSON.stringify(fresh) === JSON.stringify(now)) return;
      now = fresh;
      chips.replaceChildren(...(now.archived ? ['archived', ...(now.tags ?? [])] : now.tags ?? []).map((t) => el('span', { class: 'tag' }, t)));
      text(comment, now.note ?? '');
      text(archive, now.archived ? 'Restore' : 'Archive');
      if (typed()) return;
      tags.value = (now.tags ?? []).join(' ');
      note.value = now.note ?? '';
      kept = JSON.stringify(own());
    },
  };
}

// bulkEdit are the same acts on the runs that are picked.
export function bulkEdit(picked) {
  const said = el('span', { class: 'said', role: 'status' });
  const all = async (act, word) => {
    const runs = picked();
    let done = 0;
    const faults = [];
    for (const r of runs) {
      text(said, `${count(done)} of ${count(runs.length)} …`);
      try {
        await act(r);
        done++;
      } catch (error) {
        faults.push(`${r.name}: ${error.message}`);
      }
    }
    text(said, faults.length ? `${count(done)} ${word}; ${faults[0]}${faults.length > 1 ? `, and ${faults.length - 1} more` : ''}` : `${count(done)} ${word}`);
  };
  const relabel = (change, word) => all((r) => label(r.name, change({ tags: [], ...r.labels })), word);
  const tag = el('input', { placeholder: 'tag, or -tag', 'aria-label': 'Tag the selected runs; -tag removes a tag', autocomplete: 'off' });
  const form = el('form', { class: 'tagging', onsubmit: (e) => {
    e.preventDefault();
    const word = tag.value.trim();
    if (!word) return;
    const off = word.startsWith('-') ? word.slice(1) : '';
    relabel((l) => ({ ...l, tags: off ? l.tags.filter((t) => t !== off) : [...l.tags, word] }), off ? 'untagged' : 'tagged').then(() => { tag.value = ''; });
  } }, tag);
  const archive = el('button', { type: 'button', onclick: () => {
    const back = picked().every((r) => r.labels?.archived);
    relabel((l) => ({ ...l, archived: !back }), back ? 'restored' : 'archived');
  } }, 'Archive');
  const remove = sure('Delete', () => `Delete ${counted(picked().length, 'run')} with all files?`, () => all((r) => post(runPath(r.name, '/remove'), {}), 'deleted'), () => picked().map((r) => r.name).join());
  return { node: el('span', { class: 'picks', hidden: true }, form, archive, remove, said) };
}
