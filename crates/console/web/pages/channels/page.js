// Channels: append-only logs in which agents coordinate: charter and state, live agents, and posts.
// Must not know: the view of a channel for agents.

import { html, useRef, useState } from '../../core/preact.js';
import { get, getPage, me, mayWrite, post } from '../../core/api.js';
import { refine, route } from '../../core/route.js';
import { span } from '../../core/time.js';
import { useDraft } from '../../core/drafts.js';
import { useSend } from '../../core/send.js';
import { useResource } from '../../core/store.js';
import { List } from '../../parts/list.js';
import { Markdown } from '../../parts/markdown.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle, Json, Text } from '../../parts/text.js';
import { Dialog } from '../../parts/dialog.js';
import { say, sayFailure } from '../../parts/toast.js';
import { AGENTS_MAX, useChannels, useLinked } from './channels.js';

const LIMIT = 100;

export function Page() {
  const { id } = route.value;
  const { channels, trusted } = useChannels();
  const items = channels.data.value ?? [];
  const listed = id ? items.find((channel) => channel.id === id) : items[0];
  const linked = useLinked(id && !listed && channels.data.value ? id : '');
  const one = listed ?? linked.data.value;
  const why = linked.error.value?.status === 404 ? 'There is no such channel, or it is not yours.' : linked.error.value ? `The channel cannot be read: ${linked.error.value.message}` : 'Looking …';
  return html`<div class=${id ? 'page split open' : 'page split'}>
    <h1 class="unseen">Channels</h1>
    <section class="split-list" aria-label="Channels"><header class="page-head slim"><p class="title" aria-hidden="true">Channels</p></header>
      ${channels.error.value ? html`<p class="trouble">The channels cannot be read: ${channels.error.value.message}</p>` : null}
      ${trusted > AGENTS_MAX ? html`<p class="list-count">Channels of other owners are read for ${AGENTS_MAX} of the ${trusted.toLocaleString('en')} agents that admit others.</p>` : null}
      <${List} items=${items} height=${62} label="Channels" keyOf=${(/** @type {any} */ item) => item.id} selected=${one?.id ?? ''} select=${(/** @type {string} */ key) => refine({ id: key })}
        empty=${channels.error.value ? null : channels.data.value ? html`No channel yet. Agents open them with a tool, and <code>plenary channel create TITLE</code> opens one.` : 'Looking …'} row=${(/** @type {any} */ item) => html`<div class="session-row"><p class="row-title"><${Mark} state=${item.closed_at ? 'ended' : 'active'} label /> <${Text} text=${item.title} /></p><p class="row-foot"><${Handle} handle=${item.created_by} plain /><span class="aside"><${Age} at=${item.created_at} /></span></p></div>`} /></section>
    <section class="split-detail" aria-label="The channel">${one ? html`<${Channel} key=${one.id} channel=${one} again=${channels.reload} />` : html`${id ? html`<p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All channels</button></p>` : null}
      <p class="quiet-note center" role="status">${id && channels.data.value ? why : ''}</p>`}</section>
  </div>`;
}

/** Shows a few plain members as one line, and anything else as JSON. @param {{value: any}} props */
const Payload = ({ value }) => {
  const members = value && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
  if (!members.length || members.some(([, member]) => member !== null && typeof member === 'object')) return html`<${Json} value=${value} />`;
  return html`<dl class="facts">${members.map(([name, member]) => html`<div><dt><${Text} text=${name} /></dt><dd><${Text} text=${member} /></dd></div>`)}</dl>`;
};

/** @param {{channel: any, again: () => Promise<void>}} props */
function Channel({ channel, again }) {
  const [closing, setClosing] = useState(false);
  const path = `/agent-channel/${encodeURIComponent(channel.id)}`;
  const more = { as: channel.as };
  const stale = (/** @type {import('../../core/types.js').WatchEvent} */ event) => event.room === 'channels' && event.stream === channel.id;
  const view = useResource(`channel:${channel.id}`, () => get(`${path}?format=json`, more), stale);
  const events = useResource(`channel-events:${channel.id}`, () => getPage(`${path}/events?limit=${LIMIT}`, more), stale);
  const [, draw] = useState(0);
  const known = useRef({ posts: /** @type {Map<number, any>} */ (new Map()), more: false }).current;
  const newest = events.data.value;
  // On the first read, or if a page does not connect to the known posts, replace them.
  if (newest && !newest.items.some(({ id }) => known.posts.has(id))) Object.assign(known, { posts: new Map(), more: newest.more });
  newest?.items.forEach((post) => known.posts.set(post.id, post));
  const older = async () => {
    try {
      const page = await getPage(`${path}/events?limit=${LIMIT}&before_id=${Math.min(...known.posts.keys())}`, more);
      page.items.forEach((post) => known.posts.set(post.id, post));
      known.more = page.more;
      draw((n) => n + 1);
    } catch (error) {
      sayFailure(error);
    }
  };
  const presence = useResource(`channel-presence:${channel.id}`, () => get(`${path}/presence`, more), stale);
  const [text, set] = useDraft(`channel ${channel.id} text`, '');
  const { busy, send } = useSend(`channel ${channel.id}`);
  const shown = view.data.value;
  const onboarding = shown?.onboarding ?? '';
  const act = async (/** @type {Promise<any>} */ done, /** @type {string} */ says) => {
    try {
      await done;
      say(says);
    } catch (error) {
      sayFailure(error);
    }
    [view, events, presence].forEach((one) => one.reload());
  };
  const end = async () => {
    setClosing(false);
    await act(post(`${path}/close`, {}, { as }), 'Closed.');
    again();
  };
  // In a channel that trust opens to one agent, only that agent writes.
  const as = channel.as ?? me.value?.person ?? undefined;
  const says = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy || !text.trim()) return;
    act(send([as, text], async (key) => {
      await post(`${path}/event`, { kind: 'comms', payload: { text } }, { as, key });
      set('');
    }), 'Posted.');
  };
  return html`<article class="detail-scroll" tabindex="0" aria-labelledby="channel-title">
    <p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All channels</button></p>
    <header class="agent-head"><div><h2 id="channel-title"><${Text} text=${channel.title} /></h2><p class="lead">by <${Handle} handle=${channel.created_by} />, <${Age} at=${channel.created_at} suffix=" ago" /></p></div>
      ${channel.closed_at ? html`<p class="big-state"><${Mark} state="ended" /> closed</p>` : html`<button disabled=${!mayWrite()} onClick=${() => setClosing(true)}>Close the channel …</button>`}</header>
    ${closing ? html`<${Dialog} title="Close the channel?" close=${() => setClosing(false)}><p>Nobody can post in it again. What was posted stays.</p>
      <div class="answer-bar"><button class="primary" onClick=${end}>Close the channel</button><button class="quiet" onClick=${() => setClosing(false)}>Cancel</button></div><//>` : null}
    <section class="block"><h3>Alive</h3>${presence.data.value?.agents?.length ? html`<ul class="people">${presence.data.value.agents.map((/** @type {any} */ one) => html`<li><${Mark} state=${one.presumed_dead ? 'failed' : 'working'} /> <${Handle} handle=${one.agent} /> <span class="aside">${one.presumed_dead ? 'presumed dead, ' : ''}last status ${span(one.silent_seconds * 1000)} ago</span></li>`)}</ul>` : html`<p class="aside">Nobody has posted a status.</p>`}</section>
    <section class="block"><h3>What was posted</h3>
      ${channel.closed_at ? null : html`<form class="field-row" onSubmit=${says}><input aria-label="What to post" placeholder="Post" value=${text} disabled=${!mayWrite()} onInput=${(/** @type {any} */ event) => set(event.target.value)} /><button disabled=${!mayWrite() || busy || !text.trim()}>Post as ${as ?? 'the operator'}</button></form>`}
      <ol class="posts" aria-label="Posts, newest first">${[...known.posts.values()].sort((a, b) => b.id - a.id).map((event) => html`<li key=${event.id}><p class="message-head"><${Handle} handle=${event.author} /><span class="kind"><${Text} text=${event.kind} /></span><span class="message-foot"><${Age} at=${event.created_at} suffix=" ago" /></span></p>${typeof event.payload?.text === 'string' ? html`<${Markdown} text=${event.payload.text} />` : html`<${Payload} value=${event.payload} />`}</li>`)}</ol>
      ${known.more ? html`<p><button onClick=${older}>Older posts</button></p>` : null}</section>
    <section class="block"><h3>What a newcomer is told <span class="aside">about ${Math.ceil(onboarding.length / 4).toLocaleString('en')} tokens</span></h3><div class="document"><${Markdown} text=${onboarding} /></div></section>
  </article>`;
}
