// Conversations: the sessions of the person's agents, and one of them in full.
// Must not know: how a session is stored.

import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { mayWrite } from '../../core/api.js';
import { byPerson, useAgents } from '../../core/agents.js';
import { useKeys } from '../../core/keys.js';
import { refine, route } from '../../core/route.js';
import { List } from '../../parts/list.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { Begin } from './begin.js';
import { Found } from './found.js';
import { begin, failure, reading, sessionOf, sessions } from './sessions.js';
import { Talk } from './talk.js';

export function Page() {
  const { id, params } = route.value;
  const [beginning, setBeginning] = useState(false);
  const agents = byPerson(useAgents().data.value);
  useEffect(begin, []);
  const words = (params.q ?? '').toLowerCase();
  const parts = words.split(/\s+/).filter(Boolean);
  const items = sessions.value.filter((one) =>
    (!params.state || one.state === params.state) &&
    (!params.agent || one.participants.some(({ handle }) => handle === params.agent)) &&
    parts.every((part) => `${one.topic ?? ''} ${one.id} ${one.participants.map(({ handle }) => handle).join(' ')}`.toLowerCase().includes(part)));
  // Without a choice the newest conversation is shown, and stays when others become newer.
  const pinned = useRef('');
  if (!items.some((item) => item.id === pinned.current)) pinned.current = items[0]?.id ?? '';
  const one = sessionOf(id || pinned.current);
  useKeys('Conversations', [{ keys: 'n', says: 'A new conversation', run: () => mayWrite() && setBeginning(true) }]);
  const value = (/** @type {any} */ event) => event.target.value || undefined;
  return html`<div class=${id ? 'page split open' : 'page split'}>
    <h1 class="unseen">Conversations</h1>
    <section class="split-list" aria-label="Sessions">
      <header class="page-head slim"><p class="title" aria-hidden="true">Conversations</p><button disabled=${!mayWrite()} onClick=${() => setBeginning(true)}>New <kbd>n</kbd></button></header>
      <div class="filters">
        <input type="search" data-search placeholder="Topic, agent, words" aria-label="Search conversations and messages" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: value(event) } })} />
        <select aria-label="State" value=${params.state ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { state: value(event) } })}>
          <option value="">All</option><option value="active">Active</option><option value="ended">Ended</option></select>
        <select aria-label="Agent" value=${params.agent ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { agent: value(event) } })}>
          <option value="">All agents</option>${agents.map(({ handle }) => html`<option value=${handle}>${handle}</option>`)}</select>
      </div>
      ${failure.value ? html`<p class="trouble">The sessions cannot be read: ${failure.value.message}</p>` : null}
      ${words.length > 2 ? html`<${Found} words=${params.q ?? ''} agent=${params.agent} />` : null}
      <p class="list-count" aria-live="polite"><span class="num">${items.length.toLocaleString('en')}</span> ${items.length === 1 ? 'conversation' : 'conversations'}${reading.value ? ', reading on …' : ''}</p>
      <${List} items=${items} height=${62} label="Conversations" keyOf=${(/** @type {any} */ item) => item.id} selected=${one?.id ?? ''}
        select=${(/** @type {string} */ key) => refine({ id: key, params: { at: undefined } })} empty=${failure.value ? null : reading.value ? 'Looking …' : sessions.value.length ? 'None.' : html`None. <b>New</b> begins one; so does an agent that you tell to ask another.`}
        row=${(/** @type {any} */ item) => html`<${Row} one=${item} />`} />
    </section>
    <section class="split-detail" aria-label="The conversation">
      ${one ? html`<${Talk} key=${one.id} session=${one} agents=${agents} />` : html`<p class="quiet-note center">${id && !reading.value ? failure.value ? 'The conversations cannot be read now.' : 'None of your agents may read this conversation.' : 'Your agents’ conversations appear here.'}</p>`}
    </section>
    ${beginning ? html`<${Begin} agents=${agents} close=${() => setBeginning(false)} />` : null}
  </div>`;
}

/** @param {{one: import('./sessions.js').Known}} props */
const Row = ({ one }) => html`<div class="session-row">
  <p class="row-title"><${Mark} state=${one.state === 'active' ? 'active' : 'ended'} label /> ${one.topic ? html`<${Text} text=${one.topic} />` : html`<span class="aside">without a topic</span>`}</p>
  <p class="row-foot"><span class="who-list">${one.participants.slice(0, 4).map(({ handle }, n) => html`${n ? ', ' : ''}<${Handle} handle=${handle} plain />`)}${one.participants.length > 4 ? ` and ${one.participants.length - 4} more` : ''}</span><span class="aside"><${Age} at=${one.touched} /></span></p>
</div>`;
