// Reads the log of all rooms by position, through `/watch`.
// Must not know: the drawing.

import { request } from '../../core/api.js';
import { sent } from '../../core/sse.js';
import { place } from '../../core/watch.js';

/** @typedef {import('../../core/types.js').WatchEvent} WatchEvent */

/** After this time without an event, the events so far are shown; there may be more. */
const QUIET_MS = 1_200;
/** A read gives up after this silence. The stream reports its head every five seconds; a slow server takes longer. */
const SURE_MS = 9_000;
/** The number of positions of the first step back, and the factor of each further step. */
const STEP = 800;
const STEP_TIMES = 8;
/** The positions that one search for words covers. The server does not filter by them, so every event is read here. */
export const LOOKED_MAX = 20_000;
export const KEPT_MAX = 20_000;

/** @param {string | undefined} text */
export const position = (text) => (text && /^\d+$/.test(text) ? Number(text) : 0);

/**
 * @typedef {{stop?: AbortSignal, only?: string, fits?: (event: WatchEvent) => boolean, tell?: (events: WatchEvent[]) => void}} Wanted
 *   `only`: the server's part of the filter, `&rooms=context`; `fits`: the part that is applied here; `tell`: called with the
 *   events so far, when none has arrived for a while
 */

/**
 * The events after a position in log order: at most `limit`, and none after `until`. With `last`, only that many of the last
 * ones are kept.
 * @param {number} after
 * @param {Wanted & {limit?: number, until?: number, last?: number, hasty?: boolean}} [wanted] `hasty`: a pause ends the read
 * @returns {Promise<{events: WatchEvent[], head: number, more: boolean, at: number, seen: number}>}
 *   `at`: everything up to here is read; `more`: there may be later events; `seen`: the number of events received
 */
export async function readAfter(after, { stop, only = '', fits, tell, limit = Infinity, until = Infinity, last = Infinity, hasty = false } = {}) {
  const attempt = new AbortController();
  const end = () => attempt.abort();
  stop?.addEventListener('abort', end);
  /** @type {WatchEvent[]} */
  let events = [];
  let [head, at, seen] = [0, after, 0];
  const quiet = () => {
    if (hasty && seen === 0) end();
    else tell?.(events);
  };
  let timers = [setTimeout(quiet, QUIET_MS), setTimeout(end, SURE_MS)];
  const done = (/** @type {boolean} */ more) => ({ events: events.slice(-last), head, more, at, seen });
  try {
    const reply = await request('GET', `/watch?after=${after}${only}`, { accept: 'text/event-stream', signal: attempt.signal });
    for await (const { id, data } of sent(reply)) {
      const here = position(data.cursor ?? id);
      timers.forEach(clearTimeout);
      if (data.kind === 'hello' || data.kind === 'head') head = position(data.head);
      else if (here > until) {
        at = until;
        return done(true);
      } else {
        seen++;
        const event = { ...data, cursor: String(here) };
        if (!fits || fits(event)) events.push(event);
        if (events.length > 2 * last) events = events.slice(-last);
      }
      at = Math.max(at, here);
      if (at >= head || at >= until) return done(at < head);
      if (events.length >= limit || (fits && seen >= LOOKED_MAX)) return done(true);
      timers = [setTimeout(quiet, QUIET_MS), setTimeout(end, SURE_MS)];
    }
  } catch (error) {
    if (!attempt.signal.aborted || stop?.aborted) throw error;
  } finally {
    timers.forEach(clearTimeout);
    stop?.removeEventListener('abort', end);
    attempt.abort();
  }
  return done(true);
}

/** The head of the log. @param {AbortSignal} [stop] */
export const readHead = async (stop) => position(place()) || (await readAfter(0, { stop, limit: 0 })).head;

/**
 * The newest events up to a position: steps back until there are `count`, or the beginning or the search limit is reached.
 * @param {number} until
 * @param {number} count
 * @param {Wanted} [wanted]
 * @returns {Promise<{events: WatchEvent[], low: number}>} `low`: all matching events after it are included
 */
export async function readBack(until, count, { stop, only = '', fits, tell } = {}) {
  /** @type {WatchEvent[]} */
  let events = [];
  let [top, seen] = [until, 0];
  for (let step = STEP; ; step *= STEP_TIMES) {
    // If the server's filter matched nothing, read the rest in one request: filtering is faster than further requests.
    const far = seen === 0 && step > STEP && only && !fits ? top : step;
    const after = Math.max(0, fits ? Math.max(top - far, until - LOOKED_MAX) : top - far);
    const told = events;
    const hasty = seen === 0 && step === STEP && after > 0;
    const read = await readAfter(after, { stop, only, fits, until: top, last: KEPT_MAX, hasty, tell: tell && ((some) => tell([...some, ...told])) });
    seen += read.seen;
    // A hasty read that found nothing is repeated as a part of the next, larger step.
    if (hasty && read.seen === 0 && read.at < top) continue;
    if (read.at < Math.min(top, read.head || top)) throw new Error('The server does not answer. Try again.');
    events = [...read.events, ...events];
    if (events.length >= count || after === 0 || (fits && until - after >= LOOKED_MAX)) return { events, low: read.events.length >= KEPT_MAX ? position(read.events[0].cursor) - 1 : after };
    top = after;
    if (tell && events.length) tell(events);
  }
}

/**
 * The position before the first event at or after a time, by binary search; before the last event if there is none.
 * @param {number} at
 * @param {AbortSignal} stop
 */
export async function seekTime(at, stop) {
  // The stream may be behind the head of the log.
  const known = position(place());
  const head = Math.max(known, (await readAfter(known, { stop, limit: 1 })).head);
  // The event after `low` is earlier than the time; the one after `high` is not, or does not exist.
  let low = -1;
  let high = head;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const { events } = await readAfter(middle, { stop, limit: 1 });
    if (events.length === 0 || events[0].at >= at) high = middle;
    else low = middle;
  }
  return Math.max(0, Math.min(high, head - 1));
}
