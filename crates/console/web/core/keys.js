// Keyboard shortcuts: each page registers its keys, and `?` shows them.
// Must not know: pages.

import { signal, useLayoutEffect, useRef } from './preact.js';

/** @typedef {{keys: string, says: string, run: (event: KeyboardEvent) => void, hidden?: boolean}} Shortcut */

/** @type {import('@preact/signals').Signal<{title: string, shortcuts: Shortcut[]}[]>} */
export const layers = signal(/** @type {any} */ ([]));

let prefix = '';
let timer = 0;

/** @param {EventTarget | null} target */
const types = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input:not([type="checkbox"]), textarea, select'));

/** Whether the element uses the key itself: Enter on a link, an arrow in a text that scrolls. @param {EventTarget | null} target @param {string} name */
const isOwn = (target, name) => target instanceof HTMLElement && (name === 'Enter'
  ? target.matches('a[href], button, summary')
  : /^(Arrow(Up|Down)|Home|End)$/.test(name) && target.matches('[tabindex="0"]:not([role="listbox"])'));
/** The keys that repeat while they are held. The others act, and act once. */
const REPEATED = /^(j|k|Arrow.*|\+|-)$/;

/** @param {KeyboardEvent} event */
const pressed = (event) => {
  if (event.defaultPrevented || event.metaKey || event.altKey || event.isComposing) return;
  const open = document.querySelector('dialog[open]');
  const name = (event.ctrlKey ? 'Ctrl+' : '') + event.key;
  if (isOwn(event.target, name)) return;
  if (name === 'Escape' && !open && types(event.target)) {
    event.preventDefault();
    /** @type {HTMLElement} */ (event.target).blur();
    return;
  }
  if (types(event.target) && !(event.key === 'Escape' || name === 'Ctrl+k' || (event.ctrlKey && event.key === 'Enter'))) return;
  const wanted = prefix ? `${prefix} ${name}` : name;
  prefix = '';
  for (const layer of [...layers.value].reverse()) {
    if (open && layer.title !== 'Dialog') continue;
    const found = layer.shortcuts.find(({ keys }) => keys.split(' or ').includes(wanted));
    if (found) {
      event.preventDefault();
      if (!event.repeat || REPEATED.test(event.key)) found.run(event);
      return;
    }
  }
  if (wanted === 'g' && !open) {
    prefix = 'g';
    clearTimeout(timer);
    timer = setTimeout(() => (prefix = ''), 1200);
  }
};
addEventListener('keydown', pressed);

/** Registers shortcuts while the component is mounted. @param {string} title @param {Shortcut[]} shortcuts */
export function useKeys(title, shortcuts) {
  const layer = useRef(/** @type {{title: string, shortcuts: Shortcut[]}} */ ({ title, shortcuts })).current;
  layer.shortcuts = shortcuts;
  // Before the next paint: a key works as soon as the page shows it.
  useLayoutEffect(() => {
    layers.value = [...layers.peek(), layer];
    return () => {
      layers.value = layers.peek().filter((other) => other !== layer);
    };
  }, []);
}
