// The events of a conversation that the page holds: the newest or those around one message, and more on request.
// Must not know: their presentation.

import { useEffect, useRef, useState } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { following, onEvent, onGap, onOpen } from '../../core/store.js';

const PAGE = 200;
const LATER_PAGES = 5;
const HELD_MAX = 3_000;

/**
 * @typedef {{events: any[], begin: number, joined: boolean}} Held
 *   `begin`: the sequence of the first event that the agent may read; `joined`: whether the newest event is held
 */

/** @param {string} id @param {string | undefined} agent @param {number} around a sequence to begin at, or 0 for the newest */
export function useHeld(id, agent, around) {
  const [held, hold] = useState(/** @type {Held} */ ({ events: [], begin: 0, joined: false }));
  const [trouble, setTrouble] = useState('');
  const acts = useRef({ earlier: () => {}, later: () => {} });
  useEffect(() => {
    if (!agent) return undefined;
    let ended = false;
    let isOpen = false;
    let failed = false;
    /** @type {Held} */
    let now = { events: [], begin: 0, joined: false };
    const show = (/** @type {Held} */ next) => {
      now = next;
      if (!ended) hold(now);
    };
    /** @param {number} after @param {number} [limit] */
    const page = (after, limit = PAGE) => get(`/_admin/agents/${agent}/sessions/${encodeURIComponent(id)}/events${query({ after_sequence: after, limit })}`);
    /** Finds a place between one and two pages before the newest event: the server reads forwards only. @param {number} from */
    const nearEnd = async (from) => {
      const isAfter = async (/** @type {number} */ place) => (await page(place, 1)).events.length > 0;
      let [low, high] = [from, from * 2];
      while (await isAfter(high)) [low, high] = [high, high * 2];
      while (high - low > PAGE) {
        const middle = (low + high) >> 1;
        if (await isAfter(middle)) low = middle;
        else high = middle;
      }
      return Math.max(from, high - 2 * PAGE);
    };
    const open = async () => {
      let got = await page(0);
      const begin = got.events[0]?.sequence ?? 0;
      const last = got.events.at(-1)?.sequence ?? 0;
      if (got.next_cursor && !(around && around <= last)) {
        const near = around ? await page(around - PAGE / 2) : undefined;
        got = near?.events.length ? near : await page(await nearEnd(last));
      }
      isOpen = true;
      show({ events: got.events, begin, joined: !got.next_cursor });
      if (got.next_cursor) await forward(LATER_PAGES);
    };
    /** @param {number} pages */
    const forward = async (pages) => {
      for (let n = 0; n < pages && !ended; n++) {
        const got = await page(now.events.at(-1)?.sequence ?? 0);
        const begin = now.begin || (got.events[0]?.sequence ?? 0);
        show({ events: got.events.length ? [...now.events, ...got.events].slice(-HELD_MAX) : now.events, begin, joined: !got.next_cursor });
        if (now.joined) break;
      }
    };
    const backward = async () => {
      const first = now.events[0]?.sequence ?? 0;
      for (let to = first; to > now.begin && !ended;) {
        const from = Math.max(now.begin - 1, to - 1 - PAGE);
        const found = (await page(from)).events.filter((/** @type {any} */ { sequence }) => sequence < first);
        if (found.length) return show({ ...now, events: [...found, ...now.events] });
        to = from + 1;
      }
    };
    let last = Promise.resolve();
    /** Runs one read after the other. @param {() => Promise<void>} work */
    const next = (work) => {
      last = last.then(async () => {
        if (ended) return;
        await following();
        try {
          await work();
          failed = false;
          if (!ended) setTrouble('');
        } catch (error) {
          failed = true;
          if (!ended) setTrouble(error instanceof Error ? error.message : String(error));
        }
      });
    };
    let isDue = false;
    /** Reads what is new, once for many events. */
    const read = () => {
      if (isDue) return;
      isDue = true;
      next(async () => {
        isDue = false;
        if (!isOpen) await open();
        else if (now.joined) await forward(Infinity);
      });
    };
    hold(now);
    read();
    acts.current = { earlier: () => next(backward), later: () => next(() => forward(LATER_PAGES)) };
    const ends = [onEvent((event) => event.room === 'sessions' && event.stream === id && read()), onGap(read), onOpen(() => void (failed && read()))];
    return () => {
      ended = true;
      ends.forEach((end) => end());
    };
  }, [id, agent, around]);
  return { held, trouble, earlier: () => acts.current.earlier(), later: () => acts.current.later() };
}
