// Access: sessions, passkeys, notifications in this browser, people, invitation links, tokens of agents, and clients.
// Must not know: how a session is stored.

import { html, useState } from '../../core/preact.js';
import { get, me, mayWrite, post, remove } from '../../core/api.js';
import { useOverview } from '../../core/overview.js';
import { useSend } from '../../core/send.js';
import { useResource } from '../../core/store.js';
import { clock, span } from '../../core/time.js';
import { Secret } from '../../parts/dialog.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Notify } from './notify.js';
import { Passkeys } from './passkeys.js';
import { Tokens } from './tokens.js';

/** The maximum number of sessions of an owner; one more ends the one that has been idle longest. */
const SESSIONS_MAX = 32;

export function Page() {
  const sessions = useResource('console-sessions', () => get('/console/sessions'), ({ room }) => room === 'accounts', 2000);
  const overview = useOverview();
  const [link, setLink] = useState(/** @type {any} */ (undefined));
  const { busy, send } = useSend('link');
  const people = (overview.data.value?.agents ?? []).filter((/** @type {any} */ one) => one.kind === 'person');
  /** @type {any[]} */
  const list = [...(sessions.data.value?.sessions ?? [])].sort((a, b) => Number(b.current) - Number(a.current));
  const idlest = [...list].sort((a, b) => a.last_used_at - b.last_used_at)[0];
  const revoke = async (/** @type {any} */ one) => {
    try {
      await remove(`/console/sessions/${encodeURIComponent(one.session_id)}`);
      say('That session has ended.');
      if (one.current) me.value = null;
    } catch (error) {
      sayFailure(error);
    }
    sessions.reload();
  };
  const invite = async (/** @type {any} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    const person = String(fields.get('person') ?? '');
    const body = { role: String(fields.get('role')), ...(person ? { person } : {}) };
    try {
      await send(body, async () => setLink(await post('/console/links', body)));
    } catch (error) {
      sayFailure(error);
    }
  };
  const add = async (/** @type {any} */ event) => {
    event.preventDefault();
    const field = event.target.querySelector('input');
    const name = field.value.trim();
    try {
      await post('/_admin/people', { handle: name.startsWith('@') ? name : `@${me.value?.owner}.${name}` });
      say(`${name} is added.`);
      field.value = '';
    } catch (error) {
      sayFailure(error);
    }
    overview.reload();
  };
  return html`<div class="page"><header class="page-head"><div><h1>Access</h1><p class="lead">Who may look at this console, and act in it; what speaks as the agents.</p></div></header>
    <section class="panel" aria-labelledby="signed-in"><h2 id="signed-in">Signed in ${sessions.data.value ? html`<small><span class="num">${list.length}</span> of ${SESSIONS_MAX}</small>` : null}</h2>
      ${list.length >= SESSIONS_MAX && idlest ? html`<p class="banner" role="status">No session is left: whoever signs in next ends the one that was idle longest, ${idlest.current ? 'which is this one' : html`that of ${idlest.person ? html`<${Handle} handle=${idlest.person} />` : 'the operator'}, last used <${Age} at=${idlest.last_used_at} suffix=" ago" />`}. End those that nobody needs.</p>` : null}
      ${sessions.error.value ? html`<p class="trouble">${sessions.error.value.message}</p>` : null}
      <div class="scroll-x" tabindex="0" role="region" aria-label="Sessions, a table"><table class="table"><thead><tr><th scope="col">Who</th><th scope="col">Role</th><th scope="col" class="wide-only">From</th><th scope="col" class="wide-only">With</th><th scope="col" class="r wide-only">Began</th><th scope="col" class="r">Last used</th><th scope="col"><span class="unseen">End it</span></th></tr></thead>
      <tbody>${list.map((/** @type {any} */ one) => html`<tr key=${one.session_id}><th scope="row">${one.person ? html`<${Handle} handle=${one.person} />` : 'operator'}${one.issuer ? html` <span class="aside">at ${one.issuer}: <${Text} text=${one.issuer_subject ?? ''} /></span>` : null}${one.current ? html` <span class="tag">this one</span>` : null}</th><td>${one.role}</td><td class="num wide-only"><${Text} text=${one.address ?? ''} /></td><td class="aside wide-only"><${Text} text=${browser(one.user_agent)} /></td><td class="r wide-only"><${Age} at=${one.created_at} /></td><td class="r"><${Age} at=${one.last_used_at} /></td>
        <td class="r"><button disabled=${!mayWrite() && !one.current} aria-label=${one.current ? null : `End the session of ${one.person ?? 'the operator'}, last used ${span(clock.value - one.last_used_at)} ago`} onClick=${() => revoke(one)}>${one.current ? 'Sign out' : 'End'}</button></td></tr>`)}</tbody></table></div></section>
    <${Passkeys} />
    <${Notify} />
    <div class="two">
      <section class="panel spaced" aria-labelledby="people"><h2 id="people">People</h2>
        <ul class="chips">${people.map((/** @type {any} */ one) => html`<li class="tall"><${Handle} handle=${one.handle} /></li>`)}</ul>
        ${me.value?.owner ? html`<form class="field-row spaced" onSubmit=${add}><input aria-label="The name of a person" placeholder="name" spellcheck=${false} autocomplete="off" required disabled=${!mayWrite()} /><button disabled=${!mayWrite()}>Add a person</button></form>` : people.length ? null : html`<p class="aside">None yet. Each owner adds its own, with a link of <code>plenary console --owner NAME</code>.</p>`}</section>
      <section class="panel spaced" aria-labelledby="links"><h2 id="links">A link to sign in with</h2>
        <form class="field-row wrap" onSubmit=${invite}><select name="role" aria-label="Role">${me.value?.role === 'operator' ? html`<option>operator</option>` : html`<option>owner</option>`}<option>viewer</option></select>
          <select name="person" aria-label="Who"><option value="">for yourself</option>${people.map((/** @type {any} */ one) => html`<option value=${one.handle}>${one.handle}</option>`)}</select><button class="primary" disabled=${!mayWrite() || busy}>Make a link</button></form>
        <p class="aside spaced">It works once, within five minutes. A viewer sees everything and changes nothing.</p></section>
    </div>
    <${Tokens} />
    ${link ? html`<${Secret} title="The link" close=${() => setLink(undefined)} text=${link.url} label="The link">For ${link.role === 'viewer' ? 'a viewer' : `an ${link.role}`}, once, within ${span(link.expires_in * 1000)}. Whoever opens it first is signed in.<//>` : null}
  </div>`;
}

/** @param {string | null | undefined} agent */
const browser = (agent) => (agent ? (/(Firefox|Edg|Chrome|Safari|curl)\/[\d]+/.exec(agent)?.[0] ?? agent.slice(0, 40)).replace('/', ' ').replace('Edg', 'Edge') : '');
