// What runs have in common: which differ in their seed alone, and the mean of their lines.

// differences are the keys whose values are not the same in all configurations.
function differences(configs) {
  const all = new Set(configs.flatMap((c) => [...c.keys()]));
  return [...all].filter((key) => configs.some((c) => c.get(key) !== configs[0].get(key)));
}

// seedGroups puts runs together whose configurations differ in the seed alone.
export function seedGroups(runs) {
  const groups = new Map();
  for (const r of runs) {
    const same = [...r.config].filter(([key]) => key !== 'seed').map((pair) => pair.join('=')).sort().join('\n');
    if (!groups.has(same)) groups.set(same, []);
    groups.get(same).push(r);
  }
  const firsts = [...groups.values()].map((list) => list[0].config);
  const keys = differences(firsts).filter((key) => key !== 'seed');
  return [...groups.values()].map((list) => {
    const what = keys.map((key) => `${key}=${list[0].config.get(key) ?? '–'}`).join(' ');
    const seeds = `${list.length} seeds`;
    if (list.length === 1) return { runs: list, label: list[0].name };
    return { runs: list, label: what && what.length < 60 ? `${what}, ${seeds}` : `${list[0].name} and others, ${seeds}` };
  });
}

// meanOf is the mean of lines at the places of the longest, where at least one of them is, with the least and the greatest.
export function meanOf(lines) {
  const longest = lines.reduce((a, b) => (b.x.length > a.x.length ? b : a));
  const at = lines.map(() => 0);
  const y = [];
  const low = [];
  const high = [];
  for (const x of longest.x) {
    let sum = 0;
    let n = 0;
    let least = Infinity;
    let most = -Infinity;
    lines.forEach((line, k) => {
      while (at[k] < line.x.length - 1 && line.x[at[k] + 1] <= x) at[k]++;
      const v = between(line, at[k], x);
      if (v === null) return;
      sum += v;
      n++;
      least = Math.min(least, v);
      most = Math.max(most, v);
    });
    y.push(n ? sum / n : null);
    low.push(n ? least : null);
    high.push(n ? most : null);
  }
  return { x: longest.x, y, low, high };
}

// between is the value of a line at x, which is not before point i and not behind point i+1; null beyond its ends.
function between(line, i, x) {
  const a = line.y[i];
  if (x < line.x[i] || a === null || a === undefined) return null;
  if (x === line.x[i]) return a;
  const b = line.y[i + 1];
  if (b === null || b === undefined) return null;
  return a + ((b - a) * (x - line.x[i])) / (line.x[i + 1] - line.x[i]);
}
