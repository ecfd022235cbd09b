// The page's cache: each resource is read once, and again after an event that changes it.
// Must not know: pages.

import { signal, useEffect, useMemo } from './preact.js';
import { me } from './api.js';
import { follow } from './watch.js';
import { forgetFrames, keepFrame } from './frames.js';

/**
 * @template T
 * @typedef {{data: import('@preact/signals').Signal<T | undefined>, error: import('@preact/signals').Signal<any>,
 *   reload: () => Promise<void>}} Resource
 */

/** @type {Set<(event: import('./types.js').WatchEvent) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const gaps = new Set();
/** @type {Set<() => void>} */
const opens = new Set();

/** Calls `listener` for each event of the stream. @param {(event: import('./types.js').WatchEvent) => void} listener */
export const onEvent = (listener) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Calls `listener` when events were lost and everything must be read again. @param {() => void} listener */
export const onGap = (listener) => {
  gaps.add(listener);
  return () => void gaps.delete(listener);
};

/** Calls `listener` when the stream is open, at first and after an interruption. @param {() => void} listener */
export const onOpen = (listener) => {
  opens.add(listener);
  return () => void opens.delete(listener);
};

let watching = /** @type {AbortController | undefined} */ (undefined);
let opened = Promise.resolve();
const UNOPENED_MS = 1500;

/** Waits for the stream before a read, so that no change is missed in between; gives up after a short time. */
export const following = async () => {
  await undefined;
  await opened;
};

/** Follows the stream while a session is open. */
export const watch = () => {
  watching?.abort();
  if (!me.value) return;
  watching = new AbortController();
  let open = () => {};
  opened = new Promise((done) => {
    open = () => done(undefined);
    setTimeout(done, UNOPENED_MS);
  });
  follow({
    event: (event) => (event.room === 'frames' ? keepFrame(event) : listeners.forEach((listener) => listener(event))),
    open: () => {
      open();
      opens.forEach((listener) => listener());
    },
    gap: () => gaps.forEach((listener) => listener()),
    stop: watching.signal,
  });
};

/**
 * A resource that `load` reads and that events make stale. Reads do not overlap; many events cause one read.
 * @template T
 * @param {() => Promise<T>} load
 * @param {(event: import('./types.js').WatchEvent) => boolean} [stale]
 * @param {number} [everyMs] the delay between an event and the read that it causes
 * @param {number} [pollMs] the interval of reads without an event, while the page is visible
 * @returns {Resource<T> & {close: () => void}}
 */
export function resource(load, stale = () => false, everyMs = 250, pollMs = 0) {
  const data = signal(/** @type {T | undefined} */ (undefined));
  const error = signal(/** @type {any} */ (undefined));
  let reading = false;
  let again = false;
  let closed = false;
  let timer = 0;
  const reload = async () => {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    await following();
    try {
      const read = await load();
      if (!closed) {
        data.value = read;
        error.value = undefined;
      }
    } catch (failure) {
      if (!closed) error.value = failure;
    }
    reading = false;
    if (again && !closed) {
      again = false;
      later();
    }
  };
  const later = () => {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      reload();
    }, everyMs);
  };
  const poll = pollMs ? setInterval(() => document.hidden || reload(), pollMs) : 0;
  const ends = [onEvent((event) => stale(event) && later()), onGap(reload), onOpen(() => void (error.value && reload())), () => clearInterval(poll)];
  reload();
  const close = () => {
    closed = true;
    clearTimeout(timer);
    ends.forEach((end) => end());
  };
  return { data, error, reload, close };
}

/** @type {Map<string, {resource: any, users: number, timer: number}>} */
const shared = new Map();
const KEPT_MS = 30_000;

/**
 * A resource that components share by `key`. It is kept for a while after its last user, so that going back shows it at once.
 * @template T
 * @param {string} key
 * @param {() => Promise<T>} load
 * @param {(event: import('./types.js').WatchEvent) => boolean} [stale]
 * @param {number} [everyMs]
 * @param {number} [pollMs]
 * @returns {Resource<T>}
 */
export function useResource(key, load, stale, everyMs, pollMs) {
  const found = useMemo(() => {
    let entry = shared.get(key);
    if (!entry) {
      entry = { resource: resource(load, stale, everyMs, pollMs), users: 0, timer: 0 };
      shared.set(key, entry);
    }
    return entry;
  }, [key]);
  useEffect(() => {
    found.users++;
    clearTimeout(found.timer);
    return () => {
      if (--found.users > 0) return;
      found.timer = setTimeout(() => {
        found.resource.close();
        if (shared.get(key) === found) shared.delete(key);
      }, KEPT_MS);
    };
  }, [found]);
  return found.resource;
}

/** Clears the cache when another person signs in. */
export const forget = () => {
  shared.forEach(({ resource: one }) => one.close());
  shared.clear();
  forgetFrames();
};
