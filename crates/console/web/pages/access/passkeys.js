// The passkeys of the console: adds one in this browser, lists and removes them.
// Must not know: how a passkey signs.

import { html, useState } from '../../core/preact.js';
import { ApiError, get, me, mayWrite, remove } from '../../core/api.js';
import { addPasskey, hasPasskeys, whyNot } from '../../core/passkeys.js';
import { useResource } from '../../core/store.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';

export function Passkeys() {
  const passkeys = useResource('passkeys', () => get('/console/passkeys'), ({ room }) => room === 'accounts', 1000);
  const [busy, setBusy] = useState(false);
  /** @type {any[]} */
  const list = passkeys.data.value?.passkeys ?? [];
  const mine = list.filter(({ person }) => person === me.value?.person);
  const add = async (/** @type {any} */ event) => {
    event.preventDefault();
    const field = event.target.querySelector('input');
    setBusy(true);
    try {
      await addPasskey(field.value.trim(), me.value?.person ?? 'operator', mine.map(({ credential_id }) => credential_id));
      say('The passkey is added. It signs you in on the sign-in page.');
      field.value = '';
    } catch (error) {
      error instanceof ApiError ? sayFailure(error) : say(whyNot(error), { bad: true });
    }
    setBusy(false);
    passkeys.reload();
  };
  const drop = async (/** @type {any} */ one) => {
    try {
      await remove(`/console/passkeys/${encodeURIComponent(one.passkey_id)}`);
      say(`${one.name} is removed, and its sessions have ended.`);
    } catch (error) {
      sayFailure(error);
    }
    passkeys.reload();
  };
  const available = passkeys.data.value?.available && hasPasskeys();
  return html`<section class="panel spaced" aria-labelledby="passkeys"><h2 id="passkeys">Passkeys</h2>
    ${passkeys.error.value ? html`<p class="trouble">${passkeys.error.value.message}</p>` : null}
    ${list.length ? html`<div class="scroll-x" tabindex="0" role="region" aria-label="Passkeys, a table"><table class="table"><thead><tr><th scope="col">Name</th><th scope="col">Who</th><th scope="col" class="wide-only">Role</th><th scope="col" class="r wide-only">Added</th><th scope="col" class="r">Last used</th><th scope="col"><span class="unseen">Remove it</span></th></tr></thead>
      <tbody>${list.map((one) => html`<tr key=${one.passkey_id}><th scope="row"><${Text} text=${one.name} />${one.usable ? null : html` <span class="tag">its token was replaced</span>`}</th><td>${one.person ? html`<${Handle} handle=${one.person} />` : 'operator'}</td><td class="wide-only">${one.role}</td><td class="r wide-only"><${Age} at=${one.created_at} /></td><td class="r">${one.last_used_at ? html`<${Age} at=${one.last_used_at} />` : 'never'}</td>
        <td class="r"><button disabled=${!mayWrite()} aria-label=${`Remove ${one.name}`} onClick=${() => drop(one)}>Remove</button></td></tr>`)}</tbody></table></div>` : null}
    ${available ? html`<form class="field-row spaced" onSubmit=${add}><input aria-label="A name for the passkey" placeholder="Phone, laptop, key …" maxlength="60" autocomplete="off" required disabled=${!mayWrite() || busy} /><button disabled=${!mayWrite() || busy}>Add a passkey</button></form>
      <p class="aside spaced">It signs you in without a link. It ends when the token is replaced with which this session began.</p>`
    : passkeys.data.value ? html`<p class="aside">${passkeys.data.value.available ? 'This browser has no passkeys here; open the console at its public URL.' : 'Passkeys need a public URL with a host name, such as https://agents.example or http://localhost:7420.'}</p>` : null}
  </section>`;
}
