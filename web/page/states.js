// The states of runs, in words and as dots.

import { el } from './dom.js';

const states = { running: 'running', waiting: 'waits', finished: 'finished', interrupted: 'interrupted, with a checkpoint', failed: 'failed', lost: 'lost: its process ended', damaged: 'damaged: a file cannot be read' };

// stateOf is the state of a run as it is shown, in a word.
export const stateOf = (r) => (r.state === 'running' && r.live?.waiting ? 'waiting' : r.state);

// dot shows a state.
export function dot(state) { return el('span', { class: 'dot', data: { state }, title: states[state] ?? state, 'aria-hidden': 'true' }); }
