// The frames that came while the page is open. They are in no log: the server keeps each for a few minutes.
// Must not know: pages.

import { signal } from './preact.js';

/** @typedef {import('./types.js').WatchEvent} WatchEvent */

/** The server keeps 256 of a handle; a page that is open for a day keeps some more. */
const FRAMES_MAX = 1_000;

/** In the order in which the server got them. @type {import('@preact/signals').Signal<WatchEvent[]>} */
export const frames = signal(/** @type {WatchEvent[]} */ ([]));

/** Each stream begins with what is still kept, so a frame may come again. @param {WatchEvent} event */
export const keepFrame = (event) => {
  const cursor = `frame-${event.data.number}`;
  if (frames.value.some((one) => one.cursor === cursor)) return;
  frames.value = [...frames.value, { ...event, cursor }].slice(-FRAMES_MAX);
};

export const forgetFrames = () => {
  frames.value = [];
};
