// The tokens of agents as a tree, and the authorized clients: scope, expiry, last use; and revoking.
// Must not know: how a token is created.

import { html, useEffect, useState } from '../../core/preact.js';
import { get, mayWrite, remove } from '../../core/api.js';
import { useAgents } from '../../core/agents.js';
import { useKeys } from '../../core/keys.js';
import { href } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { clock, exact, inFull, span } from '../../core/time.js';
import { Dialog } from '../../parts/dialog.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Issue } from './issue.js';
import { OWN, grantsIn, nameOf, treeOf } from './tree.js';

/** The maximum number of agents shown; their tokens are read for `AT_ONCE` agents at a time. */
const AGENTS_MAX = 100;
const AT_ONCE = 6;
const EVENTS_MS = 1_000;
/** Polling is needed because the use of a token is not an event. */
const POLL_MS = 60_000;

/** @typedef {import('../../core/types.js').Agent} Agent @typedef {import('./tree.js').TreeRow} TreeRow */

/** The tokens of each of these agents. @param {Agent[]} agents @returns {Promise<Map<string, TreeRow[]>>} */
async function readTokens(agents) {
  /** @type {Map<string, TreeRow[]>} */
  const all = new Map();
  for (let from = 0; from < agents.length; from += AT_ONCE) {
    await Promise.all(agents.slice(from, from + AT_ONCE).map(async ({ handle }) => {
      const { tokens } = await get(`/_admin/agents/${handle}/tokens`);
      all.set(handle, treeOf(tokens));
    }));
  }
  return all;
}

export function Tokens() {
  const agents = useAgents();
  const [words, search] = useState('');
  const [issuing, issue] = useState('');
  const [ending, end] = useState(/** @type {{handle: string, row: TreeRow} | undefined} */ (undefined));
  const able = (agents.data.value ?? []).filter(({ kind }) => kind !== 'person');
  const found = able.filter(({ handle }) => handle.includes(words.trim().toLowerCase()));
  // Agents with tokens come first, so that the limit hides only agents without.
  const list = [...found].sort((a, b) => Number(b.tokens_issued > 0) - Number(a.tokens_issued > 0)).slice(0, AGENTS_MAX);
  const asked = list.filter(({ tokens_issued }) => tokens_issued > 0);
  const key = asked.map(({ handle }) => handle).join(' ');
  const tokens = useResource(`tokens:${key}`, () => readTokens(asked), ({ room }) => room === 'accounts', EVENTS_MS, POLL_MS);
  const counts = asked.map(({ tokens_issued }) => tokens_issued).join(' ');
  useEffect(() => void tokens.reload(), [counts]);
  useKeys('Access', [{ keys: 'n', says: 'A new token', run: () => able.length && mayWrite() && issue(list[0]?.handle ?? able[0].handle) }]);
  const trouble = agents.error.value ?? tokens.error.value;
  const rowsOf = (/** @type {string} */ handle) => tokens.data.value?.get(handle) ?? [];
  const clients = list.flatMap(({ handle }) => grantsIn(rowsOf(handle)).map((row) => ({ handle, row })));
  const revoke = async () => {
    if (!ending) return;
    try {
      await remove(`/_admin/agents/${ending.handle}/tokens/${ending.row.token.id}`);
      say(`${nameOf(ending.row.token)} has ended.`);
    } catch (error) {
      sayFailure(error);
    }
    end(undefined);
    tokens.reload();
  };
  return html`<section class="panel spaced" aria-labelledby="tokens"><header class="panel-head"><h2 id="tokens">Tokens of agents</h2>
      <button disabled=${!mayWrite() || !able.length} onClick=${() => issue(list[0]?.handle ?? able[0].handle)}>New token <kbd>n</kbd></button></header>
      <p class="aside">A token is below the one that it was made with: it does no more, lasts no longer, and ends with it.</p>
      <div class="filters spaced"><input type="search" data-search placeholder="An agent" aria-label="Search agents" value=${words} onInput=${(/** @type {any} */ event) => search(event.target.value)} /></div>
      ${trouble ? html`<p class="trouble">${trouble.message}</p>` : null}
      ${found.length > list.length ? html`<p class="banner" role="status">${list.length} of ${found.length} agents; search for the others.</p>` : null}
      ${list.length ? html`<div class="scroll-x" tabindex="0" role="region" aria-label="Tokens, a table"><table class="table tree"><thead><tr><th scope="col">Token</th><th scope="col" class="wide-only">Made with</th><th scope="col">May</th><th scope="col">Ends</th><th scope="col">Last used</th><th scope="col"><span class="unseen">End it</span></th></tr></thead>
        ${list.map((agent) => html`<tbody key=${agent.handle}><${Own} agent=${agent} />${rowsOf(agent.handle).map((row) => html`<${Row} key=${row.token.id} row=${row} rows=${rowsOf(agent.handle)} end=${() => end({ handle: agent.handle, row })} />`)}</tbody>`)}</table></div>`
      : html`<p class="aside">${agents.error.value ? null : agents.data.value ? 'No agents.' : 'Looking …'}</p>`}</section>
    <section class="panel spaced" aria-labelledby="clients"><h2 id="clients">Clients that were let in</h2>
      ${clients.length ? html`<div class="scroll-x" tabindex="0" role="region" aria-label="Clients, a table"><table class="table"><thead><tr><th scope="col">Client</th><th scope="col">Speaks as</th><th scope="col">May</th><th scope="col" class="wide-only">Since</th><th scope="col">Ends</th><th scope="col">Last used</th><th scope="col"><span class="unseen">End it</span></th></tr></thead>
        <tbody>${clients.map(({ handle, row }) => html`<tr key=${row.token.id}><th scope="row"><${Text} text=${row.token.client?.name ?? ''} /> <span class="aside num"><${Text} text=${hostOf(row.token.client?.id ?? '')} /></span></th><td><${Handle} handle=${handle} /></td><td><${Scope} scope=${row.token.scope} /></td><td class="wide-only"><${Age} at=${row.token.created_at} suffix=" ago" /></td><td><${Until} at=${row.token.expires_at} /></td><td><${Used} at=${row.last_used_at} /></td>
          <td class="r"><button disabled=${!mayWrite()} aria-label=${`Revoke the access of ${nameOf(row.token)} as ${handle}`} onClick=${() => end({ handle, row })}>Revoke</button></td></tr>`)}</tbody></table></div>`
      : trouble ? html`<p class="trouble">The clients cannot be read: ${trouble.message}</p>`
      : html`<p class="aside">${agents.data.value && tokens.data.value ? 'None. A client on the web asks you on a page of this server, and speaks as the agent that you choose there.' : 'Looking …'}</p>`}</section>
    ${issuing ? html`<${Issue} agents=${able} handle=${issuing} close=${() => issue('')} made=${() => tokens.reload()} />` : null}
    ${ending ? html`<${Dialog} title="Revoke it?" close=${() => end(undefined)}><p><b><${Text} text=${nameOf(ending.row.token)} /></b> of <${Handle} handle=${ending.handle} /> ends at once${ending.row.below ? `, with the ${ending.row.below} below it` : ''}. Its connections close.</p>
      <div class="answer-bar"><button class="primary" onClick=${revoke}>Revoke</button><button class="quiet" onClick=${() => end(undefined)}>Cancel</button></div><//>` : null}`;
}

/** The agent's own token, the root of its tree. @param {{agent: Agent}} props */
const Own = ({ agent }) => html`<tr class="root"><th scope="row"><${Handle} handle=${agent.handle} /> <span class="aside">its own</span></th><td class="wide-only"></td><td>everything</td><td>never</td><td><span class="unseen">not noted</span></td>
  <td class="r"><a href=${href('agents', agent.handle)}>Replace<span class="unseen"> the own token of ${agent.handle}</span></a></td></tr>`;

/** @param {{row: TreeRow, rows: TreeRow[], end: () => void}} props */
function Row({ row: { token, depth }, rows, end }) {
  const parent = rows.find(({ token: { id } }) => id === token.parent)?.token;
  return html`<tr><th scope="row" class=${`depth-${Math.min(depth, 4)}`}><${Text} text=${nameOf(token)} />${token.client ? html` <span class="tag">client</span>` : null}</th>
    <td class="wide-only aside">${parent ? html`<${Text} text=${nameOf(parent)} />` : token.parent === OWN ? 'its own token' : 'the owner'}</td><td><${Scope} scope=${token.scope} /></td><td><${Until} at=${token.expires_at} /></td><td>${token.client ? html`<span class="unseen">see below</span>` : html`<${Used} at=${token.last_used_at} />`}</td>
    <td class="r"><button disabled=${!mayWrite()} aria-label=${`Revoke ${nameOf(token)}`} onClick=${end}>Revoke</button></td></tr>`;
}

/** @param {{scope: string}} props */
const Scope = ({ scope }) => html`<ul class="words">${scope.split(' ').map((word) => html`<li><code><${Text} text=${word} /></code></li>`)}</ul>`;

/** @param {{at: number | undefined}} props */
const Until = ({ at }) => (at ? html`<time class="num" datetime=${exact(at)} title=${inFull(at)}>${at > clock.value ? `in ${span(at - clock.value)}` : 'now'}</time>` : html`never`);

/** @param {{at: number | undefined}} props */
const Used = ({ at }) => (at ? html`<${Age} at=${at} suffix=" ago" />` : html`never`);

/** The host of a client's id, if the id is the URL of its metadata document. @param {string} id */
const hostOf = (id) => (/^https?:\/\//.test(id) && URL.canParse(id) ? new URL(id).host : '');
