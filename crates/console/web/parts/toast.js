// Short notes at the edge of the page: actions with their undo, and refusals with their reason.
// Must not know: pages.

import { html, signal } from '../core/preact.js';
import { clock, now } from '../core/time.js';
import { plainly } from './text.js';

/** @typedef {{id: number, text: string, bad?: boolean, until: number, undo?: () => void, ms: number}} Note */
/** @type {import('@preact/signals').Signal<Note[]>} */
const notes = signal(/** @type {Note[]} */ ([]));
let serial = 0;
/** A note that stays so long tells no time: it goes when what it tells of ends. */
export const UNTIMED_MS = 60_000;

/** @type {Map<number, number>} */
const timers = new Map();
/** @param {number} id @param {number} ms */
const wait = (id, ms) => {
  clearTimeout(timers.get(id));
  timers.set(id, setTimeout(() => drop(id), ms));
};
// A note stays while the pointer or the focus is on the notes. One with an undo does not: its time is the server's.
const stay = () => notes.value.filter(({ undo }) => !undo).forEach(({ id }) => clearTimeout(timers.get(id)));
const leave = () => notes.value.filter(({ undo }) => !undo).forEach(({ id, ms }) => wait(id, ms));

/** @param {string} text @param {{bad?: boolean, ms?: number, undo?: () => void}} [more] */
export function say(text, { bad = false, ms = bad ? 8000 : 4000, undo } = {}) {
  const id = ++serial;
  notes.value = [...notes.value.slice(-3), { id, text, bad, until: now() + ms, undo, ms }];
  wait(id, ms);
  return id;
}

/** @param {number} id */
export const drop = (id) => {
  clearTimeout(timers.get(id));
  timers.delete(id);
  notes.value = notes.value.filter((note) => note.id !== id);
};

/** The latest undo, for the key `u`. */
export const undoLast = () => {
  const last = [...notes.value].reverse().find(({ undo }) => undo);
  if (!last) return;
  drop(last.id);
  last.undo?.();
};

/** Shows why an action failed. @param {any} error */
export const sayFailure = (error) => say(`${error?.message ?? error}${error?.code ? ` (${error.code})` : ''}`, { bad: true });

export const Toasts = () => html`<div class="toasts" role="status" aria-live="polite" onMouseEnter=${stay} onMouseLeave=${leave} onFocusIn=${stay} onFocusOut=${leave}>
  ${notes.value.map((note) => html`<div key=${note.id} class=${note.bad ? 'toast bad' : 'toast'}>
    <span>${plainly(note.text)}</span>
    ${note.undo ? html`<button class="quiet" onClick=${() => { drop(note.id); note.undo?.(); }}>Undo <kbd>u</kbd>${note.ms < UNTIMED_MS ? html` <span class="num">${Math.max(0, Math.min(note.ms / 1000, Math.ceil((note.until - clock.value) / 1000)))} s</span>` : null}</button>` : null}
    <button class="quiet close" aria-label="Close this note" onClick=${() => drop(note.id)}>×</button>
  </div>`)}
</div>`;
