// The server: requests with the token, and events.

const key = 'switchyard-token';

// takeToken moves a token from the fragment of the address, where no server and no log
// sees it, to the storage of this tab.
export function takeToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(key, decodeURIComponent(found[1]));
  history.replaceState(null, '', `${location.pathname}#/`);
}

export function setToken(token) { sessionStorage.setItem(key, token); }

// Refused is what a request ends with that needs another token.
export class Refused extends Error {}

// Missing is what a request for something that is not there ends with.
export class Missing extends Error {}

// address is relative to the page, so that it works behind a path prefix.
function address(path) { return new URL(path, document.baseURI); }

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  const token = sessionStorage.getItem(key);
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(address(path), { ...options, headers, cache: options.cache ?? 'no-cache' });
  if (answer.ok) return answer;
  const reason = await answer.json().then((b) => b.error, () => answer.statusText);
  if (answer.status === 401) throw new Refused(reason);
  if (answer.status === 404) throw new Missing(reason);
  throw new Error(reason);
}

export async function get(path) { return (await ask(path)).json(); }

export async function post(path, body = undefined) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  return (await ask(path, { method: 'POST', cache: 'no-store', ...sent })).json();
}

export async function getText(path) { return (await ask(path)).text(); }

// blob returns a file as an address for an image or a download, which cannot carry a token.
export async function blob(path) { return URL.createObjectURL(await (await ask(path)).blob()); }

export const runPath = (name, rest = '') => `api/runs/${encodeURIComponent(name)}${rest}`;

// listen calls on(event, data) for each event until the signal aborts, and connects again
// after failures, from the last event on. Where on returns another position, it goes on from
// there. It tells state(word) how it stands. EventSource cannot carry a token, hence fetch.
export async function listen(path, { on, state, signal, last = '' }) {
  let id = last;
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 15000)) {
    try {
      const answer = await ask(path, { signal, cache: 'no-store', headers: id ? { 'Last-Event-ID': id } : {} });
      state('live');
      wait = 500;
      for await (const event of parse(answer.body)) {
        if (event.id) id = event.id;
        id = await on(event.name, JSON.parse(event.data)) ?? id;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused || error instanceof Missing) { on('error', error); return; }
    }
    state('lost');
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
    });
  }
}

// parse reads server-sent events from a stream of bytes.
async function* parse(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const event = { name: 'message', data: '', id: '' };
      for (const line of rest.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        const value = line.slice(colon + 1).replace(/^ /, '');
        if (line.startsWith('event:')) event.name = value;
        else if (line.startsWith('data:')) event.data += value;
        else if (line.startsWith('id:')) event.id = value;
      }
      if (event.data) yield event;
    }
  }
}
