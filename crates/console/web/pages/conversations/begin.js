// Begins a conversation: the speaker, the participants, the topic.
// Must not know: the list of conversations.

import { html, useState } from '../../core/preact.js';
import { me, post } from '../../core/api.js';
import { go } from '../../core/route.js';
import { Dialog } from '../../parts/dialog.js';

/** @param {{agents: import('../../core/types.js').Agent[], close: () => void}} props */
export function Begin({ agents, close }) {
  const [trouble, setTrouble] = useState('');
  // The choice stays when events update the list.
  const [as, speakAs] = useState('');
  const send = async (/** @type {any} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    const text = (/** @type {string} */ name) => String(fields.get(name) ?? '').trim();
    const invite = text('invite').split(/[\s,]+/).filter(Boolean);
    try {
      const made = await post('/sessions', {
        invite,
        ...(text('topic') ? { topic: text('topic') } : {}),
        ...(text('message') ? { initial_message: { content: text('message') } } : {}),
      }, { as: text('as') });
      close();
      go('conversations', made.session_id);
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return html`<${Dialog} title="A new conversation" close=${close}>
    <form class="form" onSubmit=${send}>
      <label>As <select name="as" value=${as || (me.value?.person ?? agents[0]?.handle)} onChange=${(/** @type {any} */ event) => speakAs(event.target.value)}>${agents.map(({ handle }) => html`<option value=${handle}>${handle}</option>`)}</select></label>
      <label>With <input name="invite" required autofocus placeholder="@owner.agent, @owner.other" list="known-handles" spellcheck=${false} /></label>
      <datalist id="known-handles">${agents.map(({ handle }) => html`<option value=${handle}></option>`)}</datalist>
      <label>About <input name="topic" maxlength="200" /></label>
      <label>First message <textarea name="message" rows="4"></textarea></label>
      ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : null}
      <div class="answer-bar"><button class="primary">Begin</button><button type="button" class="quiet" onClick=${close}>Leave</button></div>
    </form>
  <//>`;
}
