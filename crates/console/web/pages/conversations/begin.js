// Begins a conversation: the speaker, the participants, the topic.
// Must not know: the list of conversations.

import { html, useState } from '../../core/preact.js';
import { ApiError, me, post } from '../../core/api.js';
import { go } from '../../core/route.js';
import { useDraft } from '../../core/drafts.js';
import { useSend } from '../../core/send.js';
import { Dialog } from '../../parts/dialog.js';
import { refresh } from './sessions.js';

/** Why the server refuses an invitation: it gives one answer for agents that do not exist and for those that cannot be reached. @param {string[]} handles @param {string} as */
const notReached = (handles, as) => `${handles.length === 1 ? `${handles[0]} does` : 'One or more of these do'} not exist, or ${handles.length === 1 ? 'does' : 'do'} not admit ${as}. Nobody can tell which.`;

/** @param {{agents: import('../../core/types.js').Agent[], close: () => void}} props */
export function Begin({ agents, close }) {
  const [written, write] = useDraft('begin fields', /** @type {Record<string, string>} */ ({}));
  const typed = (/** @type {any} */ { target }) => /invite|topic|message/.test(target.name) && write({ ...written, [target.name]: target.value });
  const [trouble, setTrouble] = useState('');
  const { busy, send: sendOnce } = useSend('begin');
  // The choice stays when events update the list.
  const [as, speakAs] = useState('');
  const send = async (/** @type {any} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    const text = (/** @type {string} */ name) => String(fields.get(name) ?? '').trim();
    const invite = text('invite').split(/[\s,]+/).filter(Boolean);
    const body = {
      invite,
      ...(text('topic') ? { topic: text('topic') } : {}),
      ...(text('message') ? { initial_message: { content: text('message') } } : {}),
    };
    try {
      await sendOnce([text('as'), body], async (key) => {
        const made = await post('/sessions', body, { as: text('as'), key });
        write({});
        close();
        await refresh(made.session_id, [text('as')]);
        go('conversations', made.session_id);
      });
    } catch (error) {
      setTrouble(error instanceof ApiError && error.status === 404 ? notReached(invite, text('as')) : error instanceof Error ? error.message : String(error));
    }
  };
  return html`<${Dialog} title="A new conversation" close=${close}>
    <form class="form" onSubmit=${send} onInput=${typed}>
      <label>As <select name="as" value=${as || (me.value?.person ?? agents[0]?.handle)} onChange=${(/** @type {any} */ event) => speakAs(event.target.value)}>${agents.map(({ handle }) => html`<option value=${handle}>${handle}</option>`)}</select></label>
      <label>With <input name="invite" value=${written.invite ?? ''} required autofocus placeholder="@owner.agent, @owner.other" list="known-handles" spellcheck=${false} /></label>
      <datalist id="known-handles">${agents.map(({ handle }) => html`<option value=${handle}></option>`)}</datalist>
      <label>About <input name="topic" maxlength="200" value=${written.topic ?? ''} /></label>
      <label>First message <textarea name="message" rows="4" value=${written.message ?? ''}></textarea></label>
      ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : null}
      <div class="answer-bar"><button class="primary" disabled=${busy}>Begin</button><button type="button" class="quiet" onClick=${close}>Cancel</button></div>
    </form>
  <//>`;
}
