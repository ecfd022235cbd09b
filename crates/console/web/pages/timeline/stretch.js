// The part of the log that the timeline shows: read from a position, extended in both directions, and by new events.
// Must not know: the drawing.

import { useEffect, useRef, useState } from '../../core/preact.js';
import { following, onEvent, onGap, onOpen } from '../../core/store.js';
import { KEPT_MAX, position, readAfter, readBack, readHead } from './events.js';

/** @typedef {import('../../core/types.js').WatchEvent} WatchEvent */
/**
 * @typedef {{only: string, fits: (event: WatchEvent) => boolean, isByWords: boolean, key: string}} Filter
 *   `only`: the part that the server applies; `fits`: the whole filter
 */
/**
 * @typedef {{events: WatchEvent[], low: number, at: number, joined: boolean}} Held
 *   all matching events after `low` and up to `at` are present; `joined`: `at` is the end of the log, new events are appended
 */

const WANTED = 200;
const STRETCH = 800;
const WAITING_MAX = 2_000;
const TYPING_MS = 250;

/** @param {WatchEvent[]} events */
const end = (events) => position(events[events.length - 1]?.cursor);
/** @param {WatchEvent[]} before @param {WatchEvent[]} after may overlap with `before` */
const join = (before, after) => [...before, ...after.filter(({ cursor }) => position(cursor) > end(before))];
/** Keeps only the newest events up to the limit. @param {Held} held @returns {Held} */
const newest = (held) => {
  if (held.events.length <= KEPT_MAX) return held;
  const events = held.events.slice(-KEPT_MAX);
  return { ...held, events, low: position(events[0].cursor) - 1 };
};

/**
 * @param {{from: string, around: string}} start a position to read from, or to read around; with neither, the newest events
 * @param {Filter} filter
 */
export function useStretch({ from, around }, filter) {
  const [held, hold] = useState(/** @type {Held} */ ({ events: [], low: 0, at: 0, joined: false }));
  const [reading, setReading] = useState(true);
  const [trouble, setTrouble] = useState('');
  const work = useRef({ stop: new AbortController(), waiting: /** @type {WatchEvent[]} */ ([]), lost: false, failed: false }).current;
  const wanted = () => ({ stop: work.stop.signal, only: filter.only, fits: filter.isByWords ? filter.fits : undefined });

  /** @param {() => Promise<void>} read */
  const busy = async (read) => {
    const { signal } = work.stop;
    setReading(true);
    setTrouble('');
    work.failed = false;
    try {
      await read();
    } catch (error) {
      work.failed = read === fill && !signal.aborted;
      if (!signal.aborted) setTrouble(error instanceof Error ? error.message : String(error));
    }
    if (!signal.aborted) setReading(false);
  };
  /**
   * Appends a read page, and the events that arrived meanwhile if none is missing in between.
   * @param {{events: WatchEvent[], at: number, more: boolean}} got
   */
  const extend = ({ events, at, more }) => hold((was) => {
    const joined = !more && !work.lost;
    const all = join(join(was.events, events), joined ? work.waiting : []);
    if (!more) Object.assign(work, { waiting: [], lost: false });
    return newest({ ...was, events: all, at: Math.max(at, end(all)), joined });
  });
  const begin = () => {
    work.stop.abort();
    work.stop = new AbortController();
    busy(fill);
  };
  const fill = async () => {
    const { signal } = work.stop;
    const place = position(around || from);
    hold({ events: [], low: Math.max(0, place - 1), at: place, joined: !place });
    Object.assign(work, { waiting: [], lost: false });
    await following();
    if (around) {
      // Read both sides before showing them, so that the row in the middle keeps its place.
      const [back, on] = await Promise.all([readBack(place, WANTED, wanted()), readAfter(place, { ...wanted(), limit: STRETCH })]);
      hold((was) => ({ ...was, events: back.events, low: back.low }));
      extend(on);
    } else if (place) {
      extend(await readAfter(place - 1, { ...wanted(), limit: STRETCH }));
    } else {
      const show = (/** @type {WatchEvent[]} */ events) => !signal.aborted && hold((was) => ({ ...was, events: join(events, was.events) }));
      const { events, low } = await readBack(await readHead(signal), WANTED, { ...wanted(), tell: show });
      show(events);
      hold((was) => ({ ...was, low }));
    }
  };

  useEffect(() => {
    const timer = setTimeout(begin, filter.isByWords ? TYPING_MS : 0);
    const ends = [onGap(begin), onOpen(() => void (work.failed && begin())), onEvent((event) => filter.fits(event) && hold((was) => {
      if (was.joined) return newest({ ...was, events: join(was.events, [event]), at: position(event.cursor) });
      if (work.waiting.push(event) > WAITING_MAX) Object.assign(work, { waiting: [], lost: true });
      return was;
    }))];
    return () => {
      work.stop.abort();
      clearTimeout(timer);
      ends.forEach((stop) => stop());
    };
  }, [from, around, filter.key]);

  const older = () => busy(async () => {
    const { events, low } = await readBack(held.low, WANTED, wanted());
    hold((was) => {
      const all = [...events, ...was.events];
      const kept = all.slice(0, KEPT_MAX);
      return all.length === kept.length ? { ...was, events: all, low } : { events: kept, low, at: end(kept), joined: false };
    });
  });
  const newer = () => busy(async () => extend(await readAfter(held.at, { ...wanted(), limit: STRETCH })));
  return { held, reading, trouble, older, newer };
}
