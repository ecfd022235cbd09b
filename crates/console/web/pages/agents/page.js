// Agents: their profiles, their activity, and the policy of whom they can contact.
// Must not know: how a policy is enforced.

import { html, useState } from '../../core/preact.js';
import { me, mayWrite } from '../../core/api.js';
import { useAgents } from '../../core/agents.js';
import { useKeys } from '../../core/keys.js';
import { refine, route } from '../../core/route.js';
import { isDoctor, leftOut, useOverview } from '../../core/overview.js';
import { List } from '../../parts/list.js';
import { Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { Agent } from './agent.js';
import { Make } from './make.js';

const STATES = ['waiting', 'working', 'idle', 'gone'];

export function Page() {
  const { id, params } = route.value;
  const [making, setMaking] = useState(false);
  const agents = useAgents();
  const overview = useOverview();
  const now = new Map((overview.data.value?.agents ?? []).map((/** @type {any} */ one) => [one.handle, one]));
  const words = (params.q ?? '').toLowerCase();
  const items = (agents.data.value ?? []).filter((one) => (!words || `${one.handle} ${one.display_name} ${one.description ?? ''}`.toLowerCase().includes(words)) &&
    (!params.state || now.get(one.handle)?.state === params.state));
  const one = (id ? (agents.data.value ?? []).find(({ handle }) => handle === id) : undefined) ?? (id ? undefined : items.find(({ handle }) => now.get(handle)?.kind !== 'person') ?? items[0]);
  useKeys('Agents', [{ keys: 'n', says: 'A new agent', run: () => mayWrite() && setMaking(true) }]);
  const value = (/** @type {any} */ event) => event.target.value || undefined;
  return html`<div class=${id ? 'page split open' : 'page split'}>
    <h1 class="unseen">Agents</h1>
    <section class="split-list" aria-label="Agents">
      <header class="page-head slim"><p class="title" aria-hidden="true">Agents</p><button disabled=${!mayWrite()} onClick=${() => setMaking(true)}>New <kbd>n</kbd></button></header>
      <div class="filters">
        <input type="search" data-search placeholder="Name or description" aria-label="Search agents" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: value(event) } })} />
        <select aria-label="State" value=${params.state ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { state: value(event) } })}>
          <option value="">All states</option>${STATES.map((state) => html`<option value=${state}>${state}</option>`)}</select>
      </div>
      ${agents.error.value ? html`<p class="trouble">The agents cannot be read: ${agents.error.value.message}</p>` : null}
      ${overview.data.value?.more ? html`<p class="list-count">${leftOut(overview.data.value)}</p>` : null}
      <${List} items=${items} height=${58} label="Agents" keyOf=${(/** @type {any} */ item) => item.handle} selected=${one?.handle ?? ''} select=${(/** @type {string} */ key) => refine({ id: key })}
        empty=${agents.error.value ? null : agents.data.value ? (words || params.state ? 'No agent fits.' : html`There are no agents yet. <b>New</b> makes one; <code>plenary connect claude</code> in a directory makes one for its coding agent.`) : 'Looking …'} row=${(/** @type {any} */ item) => html`<${Row} one=${item} now=${now.get(item.handle)} />`} />
    </section>
    <section class="split-detail" aria-label="The agent">
      ${one ? html`<${Agent} key=${one.handle} agent=${one} now=${now.get(one.handle)} all=${agents.data.value ?? []} />` : html`<p class="quiet-note center">${id && agents.data.value && (me.value?.role === 'operator' || id.startsWith(`@${me.value?.owner}.`)) ? html`There is no agent of the name <${Handle} handle=${id} />.` : id && agents.data.value ? html`<${Handle} handle=${id} /> is not yours. What an agent of another owner is and allows, only that owner sees.` : ''}</p>`}
    </section>
    ${making ? html`<${Make} close=${() => setMaking(false)} />` : null}
  </div>`;
}

/** @param {{one: import('../../core/types.js').Agent, now: any}} props */
const Row = ({ one, now }) => html`<div class="session-row">
  <p class="row-title">${now ? html`<${Mark} state=${now.kind === 'person' && now.state === 'gone' ? 'idle' : now.state} label=${now.kind !== 'person'} />` : html`<span class="mark"></span>`} <${Handle} handle=${one.handle} />${now?.kind === 'person' ? html`<span class="tag">person</span>` : null}</p>
  <p class="row-foot"><span class="who-list"><${Text} text=${one.description || (one.display_name !== one.handle ? one.display_name : isDoctor(one.handle) ? 'sends the tests of plenary doctor' : '')} /></span><span class="aside">${one.policy === 'open' ? 'open' : `admits ${one.allowlist.length}`}</span></p>
</div>`;
