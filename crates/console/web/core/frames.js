// The frames received while the page is open. They are not in the log; the server keeps each for a few minutes.
// Must not know: pages.

import { signal } from './preact.js';

/** @typedef {import('./types.js').WatchEvent} WatchEvent */

/** The server keeps 256 per handle; a page that is open for long keeps more. */
const FRAMES_MAX = 1_000;

/** In the order in which the server received them. @type {import('@preact/signals').Signal<WatchEvent[]>} */
export const frames = signal(/** @type {WatchEvent[]} */ ([]));

/** Each stream begins with the frames that the server still keeps, so a frame may arrive twice. @param {WatchEvent} event */
export const keepFrame = (event) => {
  const cursor = `frame-${event.data.number}`;
  if (frames.value.some((one) => one.cursor === cursor)) return;
  frames.value = [...frames.value, { ...event, cursor }].slice(-FRAMES_MAX);
};

export const forgetFrames = () => {
  frames.value = [];
};
