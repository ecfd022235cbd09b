// The one log of all rooms, read by position: a stretch of it, and what comes.
// Must not know: how it is drawn.

import { request } from '../../core/api.js';
import { sent } from '../../core/sse.js';
import { place } from '../../core/watch.js';

/** @typedef {import('../../core/types.js').WatchEvent} WatchEvent */

const QUIET_MS = 1200;
/** The stream says within five seconds that nothing more is there; a slow server says nothing for a while, too. */
const SURE_MS = 8_000;
const STEP_MAX = 20_000;

/** @param {string | undefined} text */
export const position = (text) => (text && /^\d+$/.test(text) ? Number(text) : 0);

/**
 * The events behind a position, at most `limit`, or up to now.
 * @param {number} after
 * @param {number} limit
 * @param {AbortSignal} [stop]
 * @param {string} [only] a filter, as the stream takes it: `&kinds=session.message`
 * @param {number} [quietMs] after so long without an event there is none
 * @returns {Promise<{events: WatchEvent[], head: number, more: boolean}>}
 */
export async function readAfter(after, limit, stop, only = '', quietMs = QUIET_MS) {
  const attempt = new AbortController();
  const end = () => attempt.abort();
  stop?.addEventListener('abort', end);
  /** @type {WatchEvent[]} */
  const events = [];
  let head = 0;
  let quiet = setTimeout(end, quietMs * 3);
  try {
    const reply = await request('GET', `/watch?after=${after}${only}`, { accept: 'text/event-stream', signal: attempt.signal });
    for await (const { id, data } of sent(reply)) {
      clearTimeout(quiet);
      if (data.kind === 'hello') head = position(data.head);
      else if (data.kind === 'head') {
        if (position(data.cursor) >= position(data.head) || !data.cursor) break;
      }
      else {
        events.push({ ...data, cursor: data.cursor ?? id });
        if (events.length >= limit) return { events, head, more: true };
        if (head && position(data.cursor ?? id) >= head) break;
      }
      if (head && after >= head) break;
      quiet = setTimeout(end, quietMs);
    }
  } catch (error) {
    if (!attempt.signal.aborted || stop?.aborted) throw error;
  } finally {
    clearTimeout(quiet);
    stop?.removeEventListener('abort', end);
    attempt.abort();
  }
  return { events, head, more: false };
}

/** The newest events, stepping back until there are enough. @param {number} wanted @param {AbortSignal} stop @param {string} [only] */
export async function readNewest(wanted, stop, only = '') {
  const head = position(place());
  if (head === 0) return readAfter(0, wanted * 4, stop, only);
  for (let step = wanted * 4; ; step *= 16) {
    const after = Math.max(0, head - step);
    const read = await readAfter(after, Math.max(wanted * 4, step), stop, only);
    if (read.events.length >= wanted || after === 0 || step > STEP_MAX) return read;
  }
}

/** The position behind which the first event at or past a time stands, by halving; the last event, if there is none. @param {number} at @param {AbortSignal} stop */
export async function seekTime(at, stop) {
  // The server knows of more than has come here.
  const known = position(place());
  const head = Math.max(known, (await readAfter(known, 1, stop)).head);
  // Behind `low` stands an event before the time, behind `high` none.
  let low = -1;
  let high = head;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    let { events } = await readAfter(middle, 1, stop);
    // To take a slow answer for none would lead to another place.
    if (events.length === 0) ({ events } = await readAfter(middle, 1, stop, '', SURE_MS));
    if (events.length === 0 || events[0].at >= at) high = middle;
    else low = middle;
  }
  return Math.max(0, Math.min(high, head - 1));
}
