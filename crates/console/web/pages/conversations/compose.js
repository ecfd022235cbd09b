// Writes a message in a conversation, as the person or in an agent's name; the form always shows which.
// Must not know: the earlier messages.

import { html, useEffect, useState } from '../../core/preact.js';
import { Unanswered, mayWrite, post } from '../../core/api.js';
import { forgetDrafts, useDraft } from '../../core/drafts.js';
import { useSend } from '../../core/send.js';
import { Handle } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';

/**
 * @param {{session: import('./sessions.js').Known, joined: string[], invited: string[], person: string | undefined, events: any[], sent: () => void,
 *   as: string, choose: (as: string) => void, act: (what: string, body: any, done: string, as?: string) => Promise<void>}} props
 */
export function Compose({ session, joined, invited, person, events, sent, as, choose, act }) {
  const isIn = person && joined.includes(person);
  const [text, set] = useDraft(`${session.id} message`, '');
  const { busy, send: sendOnce, forget } = useSend(session.id);
  // What was sent without an answer, and the newest event before it.
  const [lost, lose] = useState(/** @type {{text: string, as: string, after: number} | undefined} */ (undefined));
  useEffect(() => {
    if (!lost || !events.some(({ sequence, sender, content }) => sequence > lost.after && sender === lost.as && content === lost.text)) return;
    lose(undefined);
    forget();
    if (text !== lost.text) return;
    set('');
    say('The message has arrived all the same.');
  }, [lost, events.length]);
  const [entering, enter] = useState(false);
  const send = async () => {
    if (!text.trim() || !as || entering) return;
    const after = events.at(-1)?.sequence ?? 0;
    try {
      await sendOnce([as, text], async (key) => {
        await post(`/sessions/${encodeURIComponent(session.id)}/messages`, { content: text }, { as, key });
        set('');
        forgetDrafts(session.id);
        sent();
      });
    } catch (error) {
      if (error instanceof Unanswered) lose({ text, as, after });
      sayFailure(error);
    }
  };
  const stepIn = async () => {
    if (!person) return;
    enter(true);
    if (!invited.includes(person)) await act('invite', { invite: [person] }, `${person} is invited, by ${as}.`);
    await act('join', {}, 'You take part now.', person);
    choose('');
    enter(false);
  };
  if (!joined.length) {
    const who = invited[0];
    return html`<footer class="compose"><p class="aside">${who ? html`<${Handle} handle=${who} /> is invited and has not joined.` : 'None of your agents takes part now.'}
      ${who ? html` <button disabled=${!mayWrite()} onClick=${() => act('join', {}, `${who} joined.`, who)}>Join as ${who}</button>` : null}</p></footer>`;
  }
  return html`<footer class="compose">
    <form onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); send(); }}>
      <textarea id="compose" rows="2" aria-label="Your message" placeholder=${`Write as ${as}`} value=${text} disabled=${!mayWrite()}
        onInput=${(/** @type {any} */ event) => set(event.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); } }}></textarea>
      <div class="compose-bar">
        <label>as <select value=${as} onChange=${(/** @type {any} */ event) => choose(event.target.value)} disabled=${!mayWrite()}>${joined.map((handle) => html`<option value=${handle}>${handle}${handle === person ? ' (you)' : ''}</option>`)}</select></label>
        ${as !== person ? html`<span class="aside">in an agent’s name<span class="more">: the audit log keeps that</span></span>` : null}
        ${person && !isIn ? html`<button type="button" disabled=${entering || !mayWrite()} onClick=${stepIn}>Take part yourself</button>` : null}
        <button class="primary" disabled=${!text.trim() || busy || entering || !mayWrite()}>Send <kbd>Ctrl ↵</kbd></button>
      </div>
    </form>
  </footer>`;
}
