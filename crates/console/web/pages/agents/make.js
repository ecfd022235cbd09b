// Creates an agent. Its token is shown once.
// Must not know: the list of agents.

import { html, useState } from '../../core/preact.js';
import { me, post } from '../../core/api.js';
import { useSend } from '../../core/send.js';
import { Dialog, Secret } from '../../parts/dialog.js';
import { Handle } from '../../parts/text.js';

/** @param {{close: () => void}} props */
export function Make({ close }) {
  const [made, setMade] = useState(/** @type {any} */ (undefined));
  const [trouble, setTrouble] = useState('');
  const { busy, send: sendOnce } = useSend('new agent');
  const owner = me.value?.owner;
  const send = async (/** @type {any} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    const name = String(fields.get('name')).trim();
    const description = String(fields.get('description')).trim();
    const body = { handle: name.startsWith('@') ? name : `@${owner}.${name}`, ...(description ? { description } : {}), ...(owner ? { allowlist: [`@${owner}.*`] } : {}) };
    try {
      await sendOnce(body, async (key) => setMade(await post('/_admin/agents', body, { key })));
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  if (made) {
    return html`<${Secret} title="The agent is made" close=${close} text=${made.token} label="The token"><${Handle} handle=${made.handle} /> has this token. It is shown once.<//>`;
  }
  return html`<${Dialog} title="A new agent" close=${close}><form class="form" onSubmit=${send}>
    <label>Name <input name="name" required autofocus placeholder=${owner ? 'laptop' : '@owner.laptop'} spellcheck=${false} autocomplete="off" /></label>
    <label>What it does <input name="description" maxlength="500" /></label>
    ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : null}
    <div class="answer-bar"><button class="primary" disabled=${busy}>Make it</button><button type="button" class="quiet" onClick=${close}>Cancel</button></div></form><//>`;
}
