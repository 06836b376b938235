// What is shown, kept in the address: whoever reloads or passes the link on sees the same.
// The fragment is #/PATH?NAME=VALUE&…; a path is a view, the rest its settings.

export function parts() {
  const [path, query = ''] = location.hash.replace(/^#/, '').split('?');
  return { path: path || '/', settings: new URLSearchParams(query) };
}

// setting reads a setting of the view.
export const setting = (name, missing = '') => parts().settings.get(name) ?? missing;

// keep sets settings of the view; those that are empty or at their default are left out. The view does not begin anew.
export function keep(changes) {
  const { path, settings } = parts();
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value === null || value === undefined || value === false) settings.delete(name);
    else settings.set(name, value === true ? '1' : String(value));
  }
  const text = settings.toString().replaceAll('%2C', ',').replaceAll('%2F', '/');
  history.replaceState(null, '', `#${path}${text ? `?${text}` : ''}`);
  if (path === '/') list = location.hash;
}

// list is the address of the table of runs as it was last.
let list = '#/';
export const listAddress = () => list;

// runAddress is the address of a run, compareAddress that of a comparison.
export const runAddress = (name) => `#/run/${encodeURIComponent(name)}`;
export const compareAddress = (names) => `#/compare?runs=${names.map(encodeURIComponent).join(',')}`;
