// The policy editor: allowlist and blocks. Each change is one call, and is visible at once.
// Must not know: the effects on others.

import { html } from '../../core/preact.js';
import { mayWrite, patch, post, remove } from '../../core/api.js';
import { readBlocks } from '../../core/agents.js';
import { useResource } from '../../core/store.js';
import { Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';

/** @param {string} handle */
export const useBlocks = (handle) => useResource(`blocks:${handle}`, () => readBlocks(handle), ({ room }) => room === 'accounts');

/** @param {string} handle @param {string} entry */
export const allow = (handle, entry) => post(`/_admin/agents/${handle}/allowlist`, { entries: [entry] });
/** @param {string} handle @param {string} entry */
export const unblock = (handle, entry) => remove(`/_admin/agents/${handle}/blocks/${entry}`);

/** @param {{agent: import('../../core/types.js').Agent, all: import('../../core/types.js').Agent[]}} props */
export function Policy({ agent, all }) {
  const { handle } = agent;
  const blocks = useBlocks(handle);
  const act = async (/** @type {Promise<any>} */ done, /** @type {string} */ says) => {
    let isDone = true;
    try {
      await done;
      say(says);
    } catch (error) {
      isDone = false;
      sayFailure(error);
    }
    blocks.reload();
    return isDone;
  };
  const path = `/_admin/agents/${handle}`;
  return html`<section class="block policy"><h3>Who reaches it</h3>
    <div class="segments" role="group" aria-label="Policy">
      <button aria-pressed=${agent.policy === 'allowlist' ? 'true' : 'false'} disabled=${!mayWrite()} onClick=${() => act(patch(path, { policy: 'allowlist' }), `${handle} admits only its list.`)}>Only its list</button>
      <button aria-pressed=${agent.policy === 'open' ? 'true' : 'false'} disabled=${!mayWrite()} onClick=${() => act(patch(path, { policy: 'open' }), `${handle} is open.`)}>Open to everybody</button>
    </div>
    ${blocks.error.value ? html`<p class="trouble">What ${handle} blocks cannot be read: ${blocks.error.value.message}</p>` : null}
    <div class="entries">
      <${Entries} title="Admitted" note="An entry is one agent, or all of an owner: @acme.*. It counts in both directions." list=${agent.allowlist} all=${all}
        add=${(/** @type {string} */ entry) => act(allow(handle, entry), `${handle} admits ${entry}.`)}
        drop=${(/** @type {string} */ entry) => act(remove(`${path}/allowlist/${encodeURIComponent(entry)}`), `${handle} no longer admits ${entry}.`)} />
      <${Entries} title="Blocked" note="A block ends what they share, and the other side does not learn why." list=${blocks.data.value} all=${all}
        add=${(/** @type {string} */ entry) => act(post(`${path}/blocks`, { handle: entry }), `${handle} blocks ${entry}.`)}
        drop=${(/** @type {string} */ entry) => act(unblock(handle, entry), `${handle} no longer blocks ${entry}.`)} />
    </div>
  </section>`;
}

/** @param {{title: string, note: string, list: string[] | undefined, all: import('../../core/types.js').Agent[], add: (entry: string) => Promise<boolean>, drop: (entry: string) => void}} props */
function Entries({ title, note, list, all, add, drop }) {
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const field = event.target.querySelector('input');
    const typed = field.value;
    if (typed.trim() && (await add(typed.trim())) && field.value === typed) field.value = '';
  };
  const id = `list-${title}`;
  return html`<div><h4>${title} <span class="num aside">${list?.length ?? '…'}</span></h4>
    <ul class="chips">${list?.map((entry) => html`<li><code><${Text} text=${entry} /></code><button class="quiet close" aria-label=${`Take ${entry} off`} disabled=${!mayWrite()} onClick=${() => drop(entry)}>×</button></li>`)}</ul>
    <form class="field-row" onSubmit=${submit}><input aria-label=${`Add to ${title.toLowerCase()}`} placeholder="@owner.agent" spellcheck=${false} autocomplete="off" list=${id} disabled=${!mayWrite()} /><button disabled=${!mayWrite()}>Add</button></form>
    <datalist id=${id}>${all.map(({ handle }) => html`<option value=${handle}></option>`)}</datalist>
    <p class="aside">${note}</p>
  </div>`;
}
