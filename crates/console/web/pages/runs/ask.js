// Starts a run of an agent.
// Must not know: the list of runs.

import { html, useState } from '../../core/preact.js';
import { request } from '../../core/api.js';
import { go } from '../../core/route.js';
import { useDraft } from '../../core/drafts.js';
import { useSend } from '../../core/send.js';
import { Dialog } from '../../parts/dialog.js';
import { plainly } from '../../parts/text.js';

/** @param {{what: {name?: string, as?: string, input?: string}, runners: import('../../core/types.js').Runner[], close: () => void}} props */
export function Ask({ what, runners, close }) {
  const [text, set] = useDraft(`ask ${what.input ?? ''}`, what.input ?? '');
  const [trouble, setTrouble] = useState('');
  const { busy, send: sendOnce } = useSend('ask');
  // The choice stays when events update the list.
  const [asked, choose] = useState('');
  const send = async (/** @type {any} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    const [name, body] = [String(fields.get('name')), { input: String(fields.get('input')) }];
    try {
      await sendOnce([name, body, what.as], async (key) => {
        const reply = await request('POST', `/agent/${encodeURIComponent(name)}/run`, { body, as: what.as, key });
        set(what.input ?? '');
        close();
        const run = reply.headers.get('X-Run-Id');
        if (run) go('runs', run);
      });
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return html`<${Dialog} title="Ask an agent" close=${close}><form class="form" onSubmit=${send}>
    <label>Agent <select name="name" value=${asked || (what.name ?? runners[0]?.name)} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>${runners.map(({ name, purpose }) => html`<option value=${name}>${name}${purpose ? ` · ${plainly(purpose.slice(0, 60))}` : ''}</option>`)}</select></label>
    <label>What <textarea name="input" rows="5" required autofocus value=${text} onInput=${(/** @type {any} */ event) => set(event.target.value)}></textarea></label>
    ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : null}
    <div class="answer-bar"><button class="primary" disabled=${busy}>Ask</button><button type="button" class="quiet" onClick=${close}>Cancel</button></div></form><//>`;
}
