// What a person has typed and not sent. It is kept while the console is open, so that neither a failure nor another page loses it.
// Must not know: the use of the text.

import { me } from './api.js';
import { useState } from './preact.js';

/** @type {Map<string, any>} */
const drafts = new Map();
let of = '';

/** The drafts of the signed-in person. Another person on the same page finds none. */
const mine = () => {
  const now = `${me.value?.role} ${me.value?.owner} ${me.value?.person}`;
  if (now !== of) drafts.clear();
  of = now;
  return drafts;
};

/**
 * A state that outlives the component.
 * @template T
 * @param {string} key
 * @param {T} first
 * @returns {[T, (value: T) => void]}
 */
export function useDraft(key, first) {
  const [held, hold] = useState(/** @type {T} */ (mine().get(key) ?? first));
  return [held, (value) => {
    mine().set(key, value);
    hold(value);
  }];
}

/** @param {string} key */
export const draftOf = (key) => mine().get(key);
/** @param {string} key @param {any} value */
export const keepDraft = (key, value) => void mine().set(key, value);

/** Forgets the drafts whose keys begin like this. @param {string} start */
export const forgetDrafts = (start) => [...mine().keys()].filter((key) => key.startsWith(start)).forEach((key) => drafts.delete(key));
