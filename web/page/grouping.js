// Runs that have a value in common: how many, and the mean and the range of what they reached.

import { shown, compare, sorted } from './columns.js';

// grouped puts runs together whose value in a column reads the same, in the order of the values.
export function grouped(runs, column) {
  const groups = new Map();
  for (const r of runs) {
    const value = column.value(r) ?? undefined;
    const label = `${column.title}=${shown(column, value)}`;
    if (!groups.has(label)) groups.set(label, { value, label, members: [] });
    groups.get(label).members.push(r);
  }
  return [...groups.values()].sort((a, b) => compare(a.value, b.value));
}

// summary is what the members of a group have in a column: {mean, low, high, n} of numbers, or {words}; none says
// that they have nothing.
export function summary(column, members) {
  const values = members.map(column.value).filter((v) => v !== undefined && v !== null && v !== '');
  if (values.length === 0) return { words: '–', none: true };
  if (new Set(values).size === 1) return { words: shown(column, values[0]), mean: typeof values[0] === 'number' ? values[0] : undefined };
  const numbers = values.filter((v) => typeof v === 'number');
  if (numbers.length < values.length) return { words: `${new Set(values).size} values` };
  const mean = numbers.reduce((sum, v) => sum + v, 0) / numbers.length;
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const words = shown(column, mean);
  return { mean, low, high, n: numbers.length, words, range: `${shown(column, low)} … ${shown(column, high)}`, of: numbers.length < members.length ? `${numbers.length} of ${members.length}` : '' };
}

// sortedGroups are groups in the order of what they have in a column; those without a value stay last.
export function sortedGroups(groups, column, up) {
  const of = (g) => { const s = summary(column, g.members); return s.none ? undefined : s.mean ?? s.words; };
  return sorted(groups, { value: of }, up);
}
