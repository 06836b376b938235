// What differs among runs that are shown together.

const most = 8; // keys, from which on only those count that somebody has set

// differing are the keys of the configuration whose values are not the same in all runs. Where they are many, as between
// presets, they are those that were set on top of a preset in one of the runs.
export function differing(columns, runs) {
  const keys = (columns.settings ?? []).filter((key) => {
    const { value } = columns.get(key);
    return runs.some((r) => value(r) !== value(runs[0]));
  });
  if (keys.length <= most) return keys;
  const set = new Set(runs.flatMap((r) => (r.overrides ?? []).map((o) => o.split('=')[0])));
  return keys.filter((key) => set.has(key));
}

// change writes into each run what differs of it among the runs: key=value, each key as short as it stays clear.
export function change(columns, runs) {
  const keys = columns.settings ? differing(columns, runs) : [];
  const last = (key) => key.split('.').at(-1);
  const short = new Map(keys.map((key) => [key, keys.filter((k) => last(k) === last(key)).length > 1 ? key : last(key)]));
  for (const r of runs) {
    r.changed = columns.settings
      ? keys.map((key) => [short.get(key), columns.get(key).value(r)]).filter(([, v]) => v !== undefined).map(([key, v]) => `${key}=${v}`).join(' ')
      : (r.overrides ?? []).filter((o) => !o.startsWith('seed=')).join(' ');
  }
}
