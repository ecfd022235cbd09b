// The two answers that need input: changed arguments, or a reply.
// Must not know: the rest of the request.

import { useDraft } from '../../core/drafts.js';
import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { plainly } from '../../parts/text.js';
import { askerOf } from './kinds.js';

/** @typedef {import('../../core/types.js').PersonRequest} PersonRequest */

/** The name of the only field if a request has no arguments. */
const WHOLE = 'Arguments, as a JSON object';

/** Ctrl+Enter sends. @param {() => void} send */
const sendBy = (send) => (/** @type {KeyboardEvent} */ event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    send();
  }
};

const useFocus = () => {
  const field = useRef(/** @type {any} */ (null));
  useEffect(() => field.current?.focus(), []);
  return field;
};

/** @param {{one: PersonRequest, close: () => void, give: (args: any) => void}} props */
export function Edit({ one, close, give }) {
  const args = one.action?.args ?? {};
  const named = Object.entries(args);
  const plain = /** @type {[string, any][]} */ (named.length ? named : [[WHOLE, {}]]);
  // A run's questions are in the arguments: they are answered, not changed.
  const asks = one.kind === 'run_input';
  const [values, set] = useDraft(`${one.request_id} edit`, /** @type {Record<string, string>} */ (Object.fromEntries(plain.map(([name, value]) => [name, asks ? '' : typeof value === 'string' ? value : JSON.stringify(value)]))));
  const [trouble, setTrouble] = useState('');
  const first = useFocus();
  const send = () => {
    /** @type {Record<string, any>} */
    const changed = {};
    for (const [name, was] of plain) {
      if (asks || typeof was === 'string') changed[name] = values[name];
      else {
        try {
          changed[name] = JSON.parse(values[name]);
        } catch {
          return setTrouble(`${name} is not JSON`);
        }
      }
    }
    give(WHOLE in changed ? changed[WHOLE] : changed);
  };
  return html`<form class="answer-form" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); send(); }}>
    ${plain.map(([name, was], n) => html`<label><span>${plainly(name)}</span>${asks && typeof was === 'string' ? html` <span class="aside">${plainly(was)}</span>` : null}
      <textarea ref=${n === 0 ? first : null} rows=${Math.min(8, values[name].split('\n').length)} spellcheck=${false} class="mono" value=${values[name]}
        onInput=${(/** @type {any} */ event) => set({ ...values, [name]: event.target.value })} onKeyDown=${sendBy(send)}></textarea></label>`)}
    ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : null}
    <div class="answer-bar"><button class="primary">${asks ? 'Answer' : 'Accept'} with these <kbd>Ctrl ↵</kbd></button><button type="button" class="quiet" onClick=${close}>Cancel</button></div>
  </form>`;
}

/** @param {{one: PersonRequest, close: () => void, give: (text: string) => void}} props */
export function Respond({ one, close, give }) {
  const [text, set] = useDraft(`${one.request_id} respond`, '');
  const field = useFocus();
  const send = () => {
    if (text.trim()) give(text);
  };
  return html`<form class="answer-form" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); send(); }}>
    <label>Your reply to <b>${plainly(askerOf(one))}</b>
      <textarea ref=${field} rows="3" value=${text} onInput=${(/** @type {any} */ event) => set(event.target.value)} onKeyDown=${sendBy(send)}></textarea></label>
    <div class="answer-bar"><button class="primary" disabled=${!text.trim()}>Send <kbd>Ctrl ↵</kbd></button><button type="button" class="quiet" onClick=${close}>Cancel</button></div>
  </form>`;
}
