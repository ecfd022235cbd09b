// The delivery states of a conversation's messages, read a few at a time, and again while they can change.
// Must not know: how ticks are drawn.

import { useEffect, useRef, useState } from '../../core/preact.js';
import { get } from '../../core/api.js';
import { onEvent } from '../../core/store.js';

const NEWEST = 24;
const AT_ONCE = 4;
const AGAIN_MS = 10_000;
const FINAL = new Set(['answered', 'expired']);

/** @param {any} status */
const isFinal = (status) => status?.recipients?.every((/** @type {any} */ one) => FINAL.has(one.state));

/** @param {string} id @param {string | undefined} reader @param {any[]} events @returns {Record<number, any>} by sequence */
export function useTicks(id, reader, events) {
  const [ticks, set] = useState(/** @type {Record<number, any>} */ ({}));
  const known = useRef(/** @type {Record<number, any>} */ ({})).current;
  const wanted = events.filter(({ type }) => type === 'session.message').slice(-NEWEST).map(({ sequence }) => sequence);
  useEffect(() => {
    if (!reader) return undefined;
    let ended = false;
    let timer = 0;
    const ask = async () => {
      const open = wanted.filter((sequence) => !isFinal(known[sequence])).reverse();
      const next = async () => {
        for (let sequence = open.shift(); sequence !== undefined && !ended; sequence = open.shift()) {
          try {
            known[sequence] = await get(`/sessions/${encodeURIComponent(id)}/messages/${sequence}/status`, { as: reader });
          } catch {
            return;
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
      if (!ended) {
        set({ ...known });
        timer = setTimeout(ask, AGAIN_MS);
      }
    };
    ask();
    const end = onEvent((event) => {
      if (event.room !== 'sessions' || event.stream !== id) return;
      clearTimeout(timer);
      timer = setTimeout(ask, 300);
    });
    return () => {
      ended = true;
      clearTimeout(timer);
      end();
    };
  }, [id, reader, events.length]);
  return ticks;
}
