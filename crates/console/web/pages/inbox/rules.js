// The rules that people made from answers: what is accepted automatically, and until when.
// Must not know: how a rule is applied.

import { html } from '../../core/preact.js';
import { get, mayWrite, remove } from '../../core/api.js';
import { useResource } from '../../core/store.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { date } from '../../core/time.js';

export function Rules() {
  const rules = useResource('rules', () => get('/requests/rules'), ({ room }) => room === 'requests', 1000, 4000);
  const list = rules.data.value?.rules ?? [];
  const end = async (/** @type {any} */ rule) => {
    try {
      await remove(`/requests/rules/${encodeURIComponent(rule.rule_id ?? rule.id)}`);
      say('The rule has ended.');
    } catch (error) {
      sayFailure(error);
    }
    rules.reload();
  };
  if (rules.error.value) return html`<p class="trouble">The rules cannot be read: ${rules.error.value.message}</p>`;
  if (!rules.data.value) return html`<p class="quiet-note">Looking …</p>`;
  if (!list.length) return html`<p class="quiet-note">No rules. Tick “Always accept” when you accept, and the next requests like it are answered at once.</p>`;
  return html`<ul class="rules">${list.map((/** @type {any} */ rule) => html`<li>
    <p><b>${rule.type ?? rule.answer?.type ?? 'accept'}</b> <code><${Text} text=${rule.tool} /></code> of <${Handle} handle=${rule.agent} />${rule.directory ? html` in <code><${Text} text=${rule.directory} /></code>` : null}</p>
    <p class="aside">made <${Age} at=${rule.created_at} suffix=" ago" />${rule.expires_at ? `, ends ${date(rule.expires_at)}` : ''}</p>
    <button disabled=${!mayWrite()} onClick=${() => end(rule)}>End</button>
  </li>`)}</ul>`;
}
