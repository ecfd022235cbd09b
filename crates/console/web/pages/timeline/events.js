// The one log of all rooms, read by position: a stretch of it, and what comes.
// Must not know: how it is drawn.

import { request } from '../../core/api.js';
import { sent } from '../../core/sse.js';
import { place } from '../../core/watch.js';

/** @typedef {import('../../core/types.js').WatchEvent} WatchEvent */

/** Without an event for so long, what has come is shown; there may be more. */
const QUIET_MS = 1_200;
/** The stream says every five seconds how far it is; a slow server takes longer. */
const SURE_MS = 9_000;
/** How many events back it is looked at first, and how many times more then. */
const STEP = 800;
const STEP_TIMES = 8;
/** How far back words are looked for at once: the server does not know them, so each event is read here. */
export const LOOKED_MAX = 20_000;
export const KEPT_MAX = 20_000;

/** @param {string | undefined} text */
export const position = (text) => (text && /^\d+$/.test(text) ? Number(text) : 0);

/**
 * @typedef {{stop?: AbortSignal, only?: string, fits?: (event: WatchEvent) => boolean, tell?: (events: WatchEvent[]) => void}} Wanted
 *   `only`: a filter as the stream takes it, `&rooms=context`; `fits`: what the stream cannot filter by; `tell`: is called with
 *   what has come, when nothing has come for a while
 */

/**
 * The events behind a position in the order of the log: at most `limit`, and none past `until`; more of them keep the last ones
 * where `last` says so.
 * @param {number} after
 * @param {Wanted & {limit?: number, until?: number, last?: number, hasty?: boolean}} [wanted] `hasty`: a silence is the end
 * @returns {Promise<{events: WatchEvent[], head: number, more: boolean, at: number, seen: number}>} `at`: all is read up to here;
 *   `more`: there may be events behind it; `seen`: how many the stream had, fitting or not
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

/** How far the log is. @param {AbortSignal} [stop] */
export const readHead = async (stop) => position(place()) || (await readAfter(0, { stop, limit: 0 })).head;

/**
 * The newest events up to a position: stepping back until there are `count`, the beginning, or enough was looked at.
 * @param {number} until
 * @param {number} count
 * @param {Wanted} [wanted]
 * @returns {Promise<{events: WatchEvent[], low: number}>} `low`: all that fits behind it is among them
 */
export async function readBack(until, count, { stop, only = '', fits, tell } = {}) {
  /** @type {WatchEvent[]} */
  let events = [];
  let [top, seen] = [until, 0];
  for (let step = STEP; ; step *= STEP_TIMES) {
    // Where the filter lets nothing through, all the rest is one stream: the server filters faster than it is asked.
    const far = seen === 0 && step > STEP && only && !fits ? top : step;
    const after = Math.max(0, fits ? Math.max(top - far, until - LOOKED_MAX) : top - far);
    const told = events;
    const hasty = seen === 0 && step === STEP && after > 0;
    const read = await readAfter(after, { stop, only, fits, until: top, last: KEPT_MAX, hasty, tell: tell && ((some) => tell([...some, ...told])) });
    seen += read.seen;
    // A hasty look that found nothing is looked at again, with what is before it.
    if (hasty && read.seen === 0 && read.at < top) continue;
    if (read.at < Math.min(top, read.head || top)) throw new Error('The server is silent. Try again.');
    events = [...read.events, ...events];
    if (events.length >= count || after === 0 || (fits && until - after >= LOOKED_MAX)) return { events, low: read.events.length >= KEPT_MAX ? position(read.events[0].cursor) - 1 : after };
    top = after;
    if (tell && events.length) tell(events);
  }
}

/** The position behind which the first event at or past a time stands, by halving; the last event, if there is none. @param {number} at @param {AbortSignal} stop */
export async function seekTime(at, stop) {
  // The server knows of more than has come here.
  const known = position(place());
  const head = Math.max(known, (await readAfter(known, { stop, limit: 1 })).head);
  // Behind `low` stands an event before the time, behind `high` none.
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
