// One run: its state, charts, workers, configuration and figures.

import { el, text, number, count, counted, span, ago, moment, bytes, copyButton, loading } from './dom.js';
import { get, listen, runPath } from './api.js';
import { Group, Chart } from './chart.js';
import { chartTools, options, range } from './chartoptions.js';
import { Store } from './store.js';
import { stateOf, dot } from './states.js';
import { workersPanel, faultsPanel } from './cluster.js';
import { listAddress } from './address.js';
import { controls } from './controls.js';
import { labels } from './edit.js';
import { modelPanel } from './model.js';
import { magnitudesPanel } from './magnitudes.js';
import { evaluation, downloads, logTail } from './files.js';
import { timeline } from './timeline.js';
import { figures } from './figures.js';

const system = new Set(['objective', 'elbo', 'importance_elbo', 'loss', 'gradient_norm', 'learning_rate', 'step_seconds', 'compute_seconds', 'workers', 'bytes_in', 'bytes_out', 'bytes_per_worker', 'switching']);
const hues = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];

// termLabel is what a term of the loss is called, with its weight in the loss where that is not 1. A run of an older
// release does not say.
function termLabel(run, name) {
  const term = termOf(run, name);
  if (!term) return name.replaceAll('_', ' ');
  return term.weight === 1 || name === 'loss' ? term.label : `${term.label} (× ${number(term.weight)} in the loss)`;
}

// unitOf is the unit of the terms of the loss, in a word if that is nats.
function unitOf(run) {
  const unit = termOf(run, 'loss')?.unit ?? 'nats';
  return unit.startsWith('nats') ? 'nats' : unit;
}

const termOf = (run, name) => (run?.terms ?? []).find((t) => t.name === name);

// RunView is the view of one run.
export class RunView {
  constructor(name, { state }) {
    Object.assign(this, { name, state, store: new Store(name), stop: new AbortController(), about: {} });
    this.group = new Group(options());
    this.group.range = range();
    this.title = el('h1', {}, name);
    this.pill = el('span', { class: 'pill' });
    this.facts = el('dl', { class: 'facts' });
    this.bar = el('progress', { max: 1, value: 0, 'aria-label': 'Steps done' });
    this.wait = el('p', { class: 'waiting', hidden: true, role: 'status' });
    this.loading = loading();
    this.controls = controls(name);
    this.labels = labels(name);
    this.model = modelPanel(name);
    this.magnitudes = magnitudesPanel(name);
    this.workers = workersPanel();
    this.faults = faultsPanel();
    this.timeline = timeline();
    this.figured = el('div');
    this.measured = el('div');
    this.rest = el('div', { class: 'rest' });
    const charts = this.charts();
    this.node = el('div', { class: 'run' },
      el('div', { class: 'top' }, el('a', { class: 'back', href: listAddress(), 'aria-label': 'All runs' }, '←'), this.title, this.pill, this.controls.node),
      this.bar, this.wait, this.labels.node, this.facts, this.loading, charts, this.model.node, this.measured, this.figured, this.magnitudes.node, this.system(), this.rest);
  }

  charts() {
    const g = this.group;
    this.objective = new Chart(g, { title: 'Objective', unit: 'minus the loss' });
    this.elbo = new Chart(g, { title: 'Evidence lower bound', unit: 'nats, at validation' });
    this.terms = new Chart(g, { title: 'Terms of the loss', unit: 'nats' });
    this.switching = new Chart(g, { title: 'Switching', unit: 'share of the steps at which the regime changes', zero: true });
    this.use = new Chart(g, { title: 'Use of the base systems', unit: 'share of the validation set', zero: true, smoothing: false });
    this.norm = new Chart(g, { title: 'Gradient norm', unit: 'before clipping' });
    const tools = chartTools(g, () => this.draw());
    g.onzoom = (r) => { tools.zoomed(r); this.zoomed(r); };
    return el('section', { class: 'charts', 'aria-label': 'Charts' }, tools.node, el('div', { class: 'grid' }, ...g.charts.map((c) => c.node)));
  }

  // system is what is about machines, folded until somebody asks.
  system() {
    const g = this.group;
    this.rate = new Chart(g, { title: 'Learning rate', smoothing: false });
    this.speed = new Chart(g, { title: 'Steps per second', zero: true });
    this.crew = new Chart(g, { title: 'Workers', smoothing: false, steps: true, zero: true, whole: true });
    this.traffic = new Chart(g, { title: 'Bytes to and from each worker', unit: 'MiB per step', zero: true });
    const node = el('details', { class: 'system' }, el('summary', {}, 'System: speed, workers, traffic'),
      el('div', { class: 'grid' }, ...[this.rate, this.speed, this.crew, this.traffic].map((c) => c.node)), this.timeline.node, this.workers.node, this.faults.node);
    node.addEventListener('toggle', () => this.draw());
    return node;
  }

  async open() {
    const first = range();
    const [detail] = await Promise.all([
      get(runPath(this.name)).then((d) => {
        if (this.stop.signal.aborted) return d; // nobody would end what reads on
        this.show(d);
        this.loading.remove();
        this.fillRest(d);
        return d;
      }),
      this.store.load(),
    ]);
    if (this.stop.signal.aborted) return;
    this.latest ??= detail;
    this.draw();
    if (first) this.zoomed(first);
    this.follow();
    this.clock = setInterval(() => { if (this.latest) this.show(this.latest); }, 1000);
  }

  // know takes what the server can do.
  know(about) {
    this.about = about;
    this.controls.know(about);
    this.labels.know(about);
    if (this.latest) this.show(this.latest);
  }

  follow() {
    listen(`api/events?run=${encodeURIComponent(this.name)}`, { signal: this.stop.signal, state: this.state, last: this.store.position, on: (name, data) => {
      if (name === 'run') this.show(data);
      else if (name === 'records') return this.take(data);
      else if (name === 'back') { this.store.back(data.step); this.draw(); }
      else if (name === 'reload' || name === 'gone') return this.reload(); // another run may have the name by now
      else if (name === 'error') this.fail?.(data);
    } });
  }

  // reload loads all that a page missed that was away for long. Events go on behind it.
  async reload() {
    await this.store.load(this.store.range);
    this.draw();
    return this.store.position;
  }

  close() {
    this.stop.abort();
    clearInterval(this.clock);
    for (const c of this.group.charts) c.observer.disconnect();
    this.pictures?.close();
  }

  // take adds records, and loads fewer points when there are too many. Events wait for that: what is loaded replaces what
  // is here. The next ones may repeat steps that it has.
  async take(records) {
    if (this.store.range) return; // a zoomed view stands still
    const full = this.store.append(records);
    this.draw();
    if (!full) return;
    await this.store.load();
    this.draw();
  }

  // zoomed loads a range in more detail where the points are thinned out.
  async zoomed(range) {
    const { store } = this;
    if (!range && !store.range) return;
    // Of times outside of the part that was loaded the steps are not known: then everything is read.
    const inTime = range && this.group.options.time;
    const steps = inTime ? (store.spans(range) ? range.map((t) => store.stepAt(t)) : null) : range;
    if (steps && store.width === 1 && store.holds(steps)) return;
    const asked = this.asked = {};
    const fresh = new Store(this.name);
    fresh.start = this.store.start;
    const margin = steps ? (steps[1] - steps[0]) * 0.05 + 1 : 0;
    await fresh.load(steps && [steps[0] - margin, steps[1] + margin]);
    if (this.asked !== asked || this.stop.signal.aborted) return;
    this.store = fresh;
    this.draw();
  }

  draw() {
    const { store } = this;
    const { time } = this.group.options;
    const line = (split, metric, name, color, more = {}, map = undefined) => ({ name, color, ...store.line(split, metric, time, map), ...more });
    this.objective.set([line('train', 'objective', 'train', 'c1'), line('validation', 'objective', 'validation', 'c2', { dots: true })]);
    const bounds = [['elbo', 'ELBO', 'c2'], ['importance_elbo', 'importance-weighted', 'c3']].filter(([metric]) => store.has('validation', metric));
    this.elbo.node.hidden = bounds.length === 0;
    this.elbo.set(bounds.map(([metric, name, color]) => line('validation', metric, name, color, { dots: true })));
    const terms = store.names('train').filter((n) => !system.has(n));
    this.terms.set(terms.map((n, i) => line('train', n, termLabel(this.latest, n), hues[i % hues.length], { note: termOf(this.latest, n)?.note })));
    text(this.terms.unit, ` ${unitOf(this.latest)}`);
    this.switching.node.hidden = !store.has('train', 'switching');
    this.switching.set([line('train', 'switching', 'share', 'c1')]);
    const shares = store.names('validation').filter((n) => n.startsWith('share_'));
    this.use.node.hidden = shares.length === 0;
    this.use.set(shares.map((n, i) => line('validation', n, `system ${n.slice('share_'.length)}`, hues[i % hues.length], { dots: true })));
    this.norm.set([line('train', 'gradient_norm', 'norm', 'c1')]);
    this.rate.set([line('train', 'learning_rate', 'rate', 'c1')]);
    const inverse = line('train', 'step_seconds', 'steps/s', 'c1', {}, (s) => (s > 0 ? 1 / s : null));
    if (inverse.low) [inverse.low, inverse.high] = [inverse.high, inverse.low];
    this.speed.set([inverse]);
    this.crew.set([line('train', 'workers', 'workers', 'c1')]);
    this.traffic.set([line('train', 'bytes_per_worker', 'MiB', 'c1', {}, (b) => b / 2 ** 20)]);
    this.timeline.show(store.splits.train);
  }

  show(r) {
    this.latest = r;
    const state = stateOf(r);
    document.title = `${r.state === 'running' && r.steps ? `${Math.floor((100 * r.step) / r.steps)} % ` : ''}${r.name} – Switchyard`;
    if (this.pill.dataset.state !== state) {
      this.pill.dataset.state = state;
      this.pill.replaceChildren(dot(state), state);
    }
    this.bar.value = r.steps ? r.step / r.steps : 0;
    this.controls.show(r);
    this.labels.show(r);
    this.model.show(r, this.about.can_model);
    const since = Date.parse(r.live?.waiting_since);
    const damage = (r.damage ?? []).map((d) => `Damaged: ${d.file}: ${d.what}; ${d.remedy}.`).join(' ');
    this.wait.hidden = !r.live?.waiting && !r.exit_reason && !damage;
    text(this.wait, r.live?.waiting ? `Waiting${since > 0 ? ` for ${span((Date.now() - since) / 1000)}` : ''}: ${r.live.waiting}` : damage || (r.exit_reason ?? ''));
    this.wait.dataset.state = state;
    const m = r.metrics ?? {};
    const rate = state === 'running' ? r.steps_per_second : 0;
    this.fact('Step', `${count(r.step)} of ${count(r.steps)}`);
    this.fact('Objective', number(r.objective), 'latest step, training', 'minus the loss: what training maximises');
    this.fact('Best', number(m.best_validation_objective), m.best_step ? `objective, validation at step ${count(m.best_step)}` : 'no validation yet');
    if (m.validation_elbo !== undefined) this.fact('ELBO', number(m.validation_elbo), 'latest validation', 'evidence lower bound: every divergence with weight 1, schedules at their end');
    this.fact('Speed', rate ? `${number(rate)} steps/s` : '–', rate ? `${span((r.steps - r.step) / rate)} left` : '');
    this.fact('Workers', r.state === 'running' ? String(r.members) : '–', r.live ? counted((r.live.workers ?? []).reduce((n, w) => n + w.slots, 0), 'slot') : '');
    this.fact('Checkpoint', r.checkpoint_step ? `step ${count(r.checkpoint_step)}` : '–', r.params_sha256 ? `sha256 ${r.params_sha256.slice(0, 12)}` : '', r.params_sha256);
    this.fact('Started', ago(r.started), moment(r.started));
    this.fact('Parameters', r.parameters ? count(r.parameters) : '–', `${r.preset}, seed ${r.seed}`);
    this.fact('Disk', bytes(r.disk), r.was ? `its folder was renamed; it began as ${r.was}` : '');
    this.magnitudes.show(r);
    this.workers.show(r);
    this.faults.show(r);
    if (this.ended === false && r.state !== 'running') get(runPath(this.name)).then((d) => this.fillRest(d), () => {});
    this.ended = r.state !== 'running';
  }

  fact(name, value, below = '', title = '') {
    this.cells ??= new Map();
    let c = this.cells.get(name);
    if (!c) {
      c = { value: el('dd', {}), below: el('dd', { class: 'below' }) };
      this.cells.set(name, c);
      this.facts.append(el('div', {}, el('dt', {}, name), c.value, c.below));
    }
    text(c.value, value);
    text(c.below, below);
    c.below.title = title ?? '';
  }

  // fillRest shows what does not change while a run goes on, and its files.
  async fillRest(d) {
    const quote = (w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`);
    const words = d.command?.[0] === 'train' ? d.command : ['train', d.preset, ...d.overrides]; // the same bits on one machine
    const command = ['switchyard', ...words].map(quote).join(' ');
    const versions = Object.entries(d.versions ?? {}).map(([k, v]) => `${k} ${v}`).join(' · ');
    this.pictures?.close();
    this.pictures = d.figures.length ? figures(this.name, d.figures) : undefined;
    this.figured.replaceChildren(...(this.pictures ? [this.pictures.node] : []));
    this.rest.replaceChildren(
      downloads(this.name, d.files), this.log ??= logTail(this.name, this.stop.signal),
      el('section', { class: 'panel copyable' }, el('header', {}, el('h2', {}, 'Reproduce'), copyButton(() => command)),
        el('pre', { tabindex: '0' }, el('code', {}, command)), el('p', { class: 'fine' }, [versions, d.git_revision ? `revision ${d.git_revision.slice(0, 12)}` : ''].filter(Boolean).join(' · '))),
      el('section', { class: 'panel copyable' }, el('header', {}, el('h2', {}, 'Configuration'), copyButton(() => d.config)),
        el('pre', { tabindex: '0', class: 'config' }, el('code', {}, ...yaml(d.config)))));
    const tables = await evaluation(this.name, d.files);
    this.measured.replaceChildren(...(tables ? [tables] : []));
  }

  // recolour draws in other colours.
  recolour() {
    this.group.draw();
    this.pictures?.draw();
  }

  key(e) {
    if (e.key === 'Escape' && !this.labels.stays()) location.hash = listAddress();
  }
}

// yaml marks keys and comments.
function yaml(source) {
  return source.split('\n').flatMap((line) => {
    const m = /^(\s*(?:- )?)([\w.]+:)?([^#]*)(#.*)?$/.exec(line);
    return m ? [m[1], el('span', { class: 'k' }, m[2] ?? ''), m[3], el('span', { class: 'n' }, m[4] ?? ''), '\n'] : [`${line}\n`];
  });
}
