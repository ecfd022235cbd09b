// Writes a message in a conversation, as the person or in an agent's name; the form always shows which.
// Must not know: the earlier messages.

import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { freshId, mayWrite, post } from '../../core/api.js';
import { forgetDrafts, useDraft } from '../../core/drafts.js';
import { Handle } from '../../parts/text.js';
import { sayFailure } from '../../parts/toast.js';

/**
 * @param {{session: import('./sessions.js').Known, joined: string[], invited: string[], person: string | undefined, sent: () => void,
 *   act: (what: string, body: any, done: string, as?: string) => Promise<void>}} props
 */
export function Compose({ session, joined, invited, person, sent, act }) {
  const self = person && joined.includes(person) ? person : undefined;
  const [as, setAs] = useState(self ?? joined[0] ?? '');
  const [text, set] = useDraft(`${session.id} message`, '');
  const [busy, setBusy] = useState(false);
  const key = useRef(freshId());
  useEffect(() => {
    if (self) setAs(self);
    else if (!joined.includes(as)) setAs(joined[0] ?? '');
  }, [self, joined.join()]);
  const send = async () => {
    if (!text.trim() || !as || busy) return;
    setBusy(true);
    try {
      await post(`/sessions/${encodeURIComponent(session.id)}/messages`, { content: text }, { as, key: key.current });
      key.current = freshId();
      set('');
      forgetDrafts(session.id);
      sent();
    } catch (error) {
      sayFailure(error);
    }
    setBusy(false);
  };
  const stepIn = async () => {
    if (!person) return;
    if (!invited.includes(person)) await act('invite', { invite: [person] }, `${person} is invited.`, joined[0]);
    await act('join', {}, 'You take part now.', person);
  };
  if (!joined.length) {
    const who = invited[0];
    return html`<footer class="compose"><p class="aside">${who ? html`<${Handle} handle=${who} /> is invited and has not joined.` : 'None of your agents takes part now.'}
      ${who ? html` <button disabled=${!mayWrite()} onClick=${() => act('join', {}, `${who} joined.`, who)}>Join as ${who}</button>` : null}</p></footer>`;
  }
  const other = as !== person;
  return html`<footer class="compose">
    <form onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); send(); }}>
      <textarea id="compose" rows="2" aria-label="Your message" placeholder=${`Write as ${as}`} value=${text} disabled=${!mayWrite()}
        onInput=${(/** @type {any} */ event) => set(event.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); } }}></textarea>
      <div class="compose-bar">
        <label>as <select value=${as} onChange=${(/** @type {any} */ event) => setAs(event.target.value)} disabled=${!mayWrite()}>${joined.map((handle) => html`<option value=${handle}>${handle}${handle === person ? ' (you)' : ''}</option>`)}</select></label>
        ${other ? html`<span class="aside">in an agent’s name: the audit log keeps that</span>` : null}
        ${person && !self ? html`<button type="button" disabled=${!mayWrite()} onClick=${stepIn}>Take part yourself</button>` : null}
        <button class="primary" disabled=${!text.trim() || busy || !mayWrite()}>Send <kbd>Ctrl ↵</kbd></button>
      </div>
    </form>
  </footer>`;
}
