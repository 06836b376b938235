// The plots beside the table of runs: curves over steps, points of two columns, lines over many.

import { el } from './dom.js';
import { keep, setting } from './address.js';
import { Curves, look, mostColours } from './curves.js';
import { RunPlots } from './plots.js';

const kinds = [['curves', 'Curves'], ['scatter', 'Scatter'], ['parallel', 'Parallel coordinates'], ['none', 'No plots']];

// Panel shows one kind of plot of the runs that it is given.
export class Panel {
  constructor({ columns, failed, filter }) {
    this.columns = columns;
    this.kind = kinds.some(([k]) => k === setting('plot')) ? setting('plot') : kinds[0][0];
    const small = matchMedia('(max-width: 720px)').matches;
    this.curves = new Curves({ metrics: small ? 'validation/objective' : 'validation/objective,train/objective', failed });
    this.plots = new RunPlots({ columns, filter });
    this.choice = el('select', { 'aria-label': 'Plots', onchange: (e) => this.turn(e.target.value) }, ...kinds.map(([k, title]) => el('option', { value: k, selected: k === this.kind }, title)));
    this.node = el('aside', { class: 'plots', 'aria-label': 'Plots' });
    this.turn(this.kind);
  }

  // turn shows another kind.
  turn(kind) {
    this.kind = kind;
    keep({ plot: kind === kinds[0][0] ? '' : kind });
    this.node.hidden = kind === 'none';
    this.node.replaceChildren(...({ curves: [this.curves.node], none: [] }[kind] ?? [this.plots.node]));
    if (this.latest) this.show(this.latest);
  }

  // learn takes the names of the metrics that there are.
  learn(rows) {
    this.curves.offer([...this.columns.all.values()].filter((c) => c.group === 'Training').map((c) => c.key));
    this.plots.learn(rows);
  }

  // show draws the runs that pass the filter.
  show(latest) {
    this.latest = latest;
    if (this.kind === 'curves') this.curves.show(this.lines(latest));
    else if (this.kind !== 'none') this.plots.show(latest, this.kind);
  }

  // lines are those of the groups if there are any, or of each run. Once some are picked, the others are pale.
  lines({ rows, groups, picked }) {
    const lines = groups ? groups.map((g) => ({ label: g.label, runs: g.members })) : rows.map((r) => ({ label: r.name, runs: [r] }));
    const own = (l) => l.runs.some((r) => picked.has(r.name));
    const some = lines.some(own);
    const many = lines.length > mostColours;
    return lines.map((l, i) => ({ ...l, ...look(i), ...(many ? { dash: [] } : {}), pale: some && !own(l) }));
  }

  // point marks a run.
  point(name) {
    if (this.kind === 'curves') this.curves.point(name);
    else this.plots.point(name);
  }

  // recolour draws in other colours.
  recolour() { this.curves.group.draw(); }

  close() {
    this.curves.close();
    this.plots.close();
  }
}
