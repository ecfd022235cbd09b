// The writes of a form, one at a time. After a lost answer the same content goes out with the same key, so that it is written once.
// Must not know: what is sent.

import { ApiError, freshId } from './api.js';
import { draftOf, forgetDrafts, keepDraft } from './drafts.js';
import { useRef, useState } from './preact.js';

/** @param {string} form the name under which the form keeps its key */
export function useSend(form) {
  const [busy, setBusy] = useState(false);
  const isBusy = useRef(false);
  const name = `${form} key`;
  const forget = () => forgetDrafts(name);
  /**
   * Does nothing while a write is under way: a second click or Enter sends nothing.
   * @param {any} content what the key stands for: other content gets another key
   * @param {(key: string) => Promise<any>} write
   */
  const send = async (content, write) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setBusy(true);
    const text = JSON.stringify(content);
    const was = draftOf(name);
    const key = was?.text === text ? was.key : freshId();
    keepDraft(name, { text, key });
    try {
      await write(key);
      forget();
    } catch (error) {
      // A refusal is an answer. What it refused may be allowed later, with a key of its own.
      if (error instanceof ApiError && error.status < 500) forget();
      throw error;
    } finally {
      isBusy.current = false;
      setBusy(false);
    }
  };
  return { busy, send, forget };
}
