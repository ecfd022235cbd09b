// Follows the one stream of all events that the person may see, and resumes it after its last event.
// Must not know: the effects of an event.

import { signal } from './preact.js';
import { ApiError, request } from './api.js';
import { sent } from './sse.js';
import { now } from './time.js';

const SILENCE_MS = 15_000;
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 8_000;
/** A hidden page only polls: browsers open six connections per server, and each tab would hold one. */
const REST_MS = 30_000;

/** The interval at which everything is read again while the server refuses another stream. */
const REREAD_MS = 30_000;

/**
 * @typedef {{state: 'connecting' | 'live' | 'behind' | 'stale', behind: number, since: number, why: string}} Liveness
 *   `why`: the server's reason if it refuses the stream
 */
/** @type {import('@preact/signals').Signal<Liveness>} */
export const liveness = signal(/** @type {Liveness} */ ({ state: 'connecting', behind: 0, since: now(), why: '' }));

/** @param {Liveness['state']} state @param {number} [behind] @param {string} [why] */
const set = (state, behind = 0, why = '') => {
  const was = liveness.value;
  if (was.state !== state || was.behind !== behind || was.why !== why) {
    liveness.value = { state, behind, since: was.state === state ? was.since : now(), why };
  }
};

let cursor = /** @type {string | undefined} */ (undefined);
let target = 0;
let resting = false;

/** @param {string | undefined} place */
const position = (place) => (place && /^\d+$/.test(place) ? Number(place) : 0);

/**
 * Follows the stream until `stop` aborts.
 * @param {{event: (event: import('./types.js').WatchEvent) => void, open: () => void, gap: () => void, stop: AbortSignal}} to
 *   `open` is called when the stream has begun: later reads miss no change. `gap` is called when the cursor was no longer
 *   valid, so everything must be read again.
 */
export async function follow({ event, open, gap, stop }) {
  let wait = RETRY_MIN_MS;
  let lost = false;
  let read = Date.now();
  cursor = undefined;
  while (!stop.aborted) {
    const attempt = new AbortController();
    const end = () => attempt.abort();
    let why = '';
    stop.addEventListener('abort', end);
    try {
      await readStream(attempt, event, () => {
        wait = RETRY_MIN_MS;
        open();
        if (lost) gap();
        lost = false;
      });
    } catch (error) {
      if (resting) {
        resting = false;
        await pause(REST_MS, stop);
        continue;
      }
      if (error instanceof ApiError && error.status === 410) {
        cursor = undefined;
        lost = true;
        continue;
      }
      if (error instanceof ApiError && error.status === 401) return;
      if (error instanceof ApiError && error.status === 429) why = error.message;
    } finally {
      stop.removeEventListener('abort', end);
    }
    if (stop.aborted) return;
    set('stale', 0, why);
    if (why && Date.now() - read > REREAD_MS) {
      read = Date.now();
      gap();
    }
    await pause(wait * (0.75 + Math.random() / 2), stop);
    wait = Math.min(wait * 2, RETRY_MAX_MS);
  }
}

/** @param {AbortController} attempt @param {(event: any) => void} event @param {() => void} opened */
async function readStream(attempt, event, opened) {
  const path = cursor === undefined ? '/watch?frames=true' : `/watch?after=${encodeURIComponent(cursor)}&frames=true`;
  const reply = await request('GET', path, { accept: 'text/event-stream', signal: attempt.signal });
  let silence = setTimeout(() => attempt.abort(), SILENCE_MS);
  const sign = () => {
    clearTimeout(silence);
    silence = setTimeout(() => attempt.abort(), SILENCE_MS);
  };
  try {
    for await (const { id, data } of sent(reply, sign)) {
      take(id, data, event, opened);
      if (data.kind === 'head' && document.hidden) {
        resting = true;
        throw new DOMException('nobody looks', 'AbortError');
      }
    }
  } finally {
    clearTimeout(silence);
    attempt.abort();
  }
}

/** @param {string | undefined} id @param {any} told @param {(event: any) => void} event @param {() => void} opened */
function take(id, told, event, opened) {
  cursor = id ?? told.cursor ?? cursor;
  if (told.kind === 'hello') opened();
  if (told.kind === 'hello' || told.kind === 'head') target = position(told.head);
  else event(told);
  const behind = Math.max(0, target - position(cursor));
  set(behind ? 'behind' : 'live', behind);
}

/** The stream's cursor. */
export const place = () => cursor;

/** Waits, at most until the network is back or the page is visible. @param {number} ms @param {AbortSignal} stop */
const pause = (ms, stop) =>
  new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      document.removeEventListener('visibilitychange', end);
      done(undefined);
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    document.addEventListener('visibilitychange', end);
    stop.addEventListener('abort', end, { once: true });
  });
