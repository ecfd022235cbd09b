// The decided and expired requests: the newest of each state, and older ones on request.
// Must not know: their presentation.

import { computed, signal } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { byAge, keep, known } from './requests.js';

const PAGE = 100;
const STATES = ['answered', 'expired', 'withdrawn'];

export const decided = computed(() =>
  [...known.value.values()].filter(({ state }) => state !== 'open' && state !== 'snoozed').sort((a, b) => byAge(b, a)),
);

/**
 * How far the decided requests are read: `cursors` has the next page of each state that has more.
 * @type {import('@preact/signals').Signal<{reading: boolean, failure?: any, cursors: Record<string, string>}>}
 */
export const progress = signal({ reading: true, cursors: {} });

/** @param {Record<string, string | undefined>} wanted the page to read of each state */
const read = async (wanted) => {
  const { cursors } = progress.value;
  progress.value = { reading: true, cursors };
  try {
    const pages = await Promise.all(Object.entries(wanted).map(async ([state, cursor]) => ({ state, page: await get(`/requests${query({ state, cursor, limit: PAGE })}`) })));
    keep(pages.flatMap(({ page }) => page.requests));
    progress.value = { reading: false, cursors: Object.fromEntries(pages.filter(({ page }) => page.next_cursor).map(({ state, page }) => [state, page.next_cursor])) };
  } catch (failure) {
    progress.value = { reading: false, failure, cursors };
  }
};

/** Reads the newest, when a person opens their list. */
export const readDecided = () => read(Object.fromEntries(STATES.map((state) => [state, undefined])));
export const readOlder = () => read(progress.value.cursors);
