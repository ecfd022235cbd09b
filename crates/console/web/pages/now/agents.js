// The overview of agents: the activity of each, since when, and its unread items.
// Must not know: the rest of the page.

import { html } from '../../core/preact.js';
import { isDoctor } from '../../core/overview.js';
import { href } from '../../core/route.js';
import { clock, span } from '../../core/time.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';

/** @typedef {import('../../core/types.js').AgentNow} AgentNow */
const ORDER = ['waiting', 'working', 'idle', 'gone'];
const LATE_MS = 15 * 60_000;

/** @param {{agents: AgentNow[], note: string}} props */
export function Agents({ agents, note }) {
  const shown = agents.filter(({ handle, kind }) => kind !== 'person' && !isDoctor(handle))
    .sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.handle.localeCompare(b.handle));
  const late = shown.filter(({ oldest_unread_at }) => oldest_unread_at).sort((a, b) => (a.oldest_unread_at ?? 0) - (b.oldest_unread_at ?? 0))[0];
  if (!shown.length) return html`<p class="quiet-note">No agent yet. <a href=${href('agents')}>Make the first one</a>, or run <code>plenary connect claude</code> in a project.</p>`;
  return html`
    <ul class="tally">
      ${ORDER.map((state) => html`<li><${Mark} state=${state} /><b class="num">${shown.filter((one) => one.state === state).length}</b> ${state}</li>`)}
      ${late?.oldest_unread_at ? html`<li class=${clock.value - late.oldest_unread_at > LATE_MS ? 'oldest late' : 'oldest'}>oldest unattended <b class="num">${span(clock.value - late.oldest_unread_at)}</b> at <${Handle} handle=${late.handle} /></li>` : null}
    </ul>
    <div class="scroll-x" tabindex="0" role="region" aria-label="Agents, a table">
    <table class="table">
      <thead><tr><th scope="col">Agent</th><th scope="col">State</th><th scope="col" class="r">Unread</th><th scope="col" class="r">Oldest</th><th scope="col" class="r">Conversations</th><th scope="col" class="r">Runs</th></tr></thead>
      <tbody>${shown.map((one) => html`<${Row} key=${one.handle} one=${one} />`)}</tbody>
    </table></div>
    ${note ? html`<p class="aside spaced">${note} <a href=${href('agents')}>All agents</a></p>` : null}`;
}

/** @param {{one: AgentNow}} props */
function Row({ one }) {
  const late = one.oldest_unread_at && clock.value - one.oldest_unread_at > LATE_MS;
  return html`<tr>
    <th scope="row"><a href=${href('agents', one.handle)}><${Handle} handle=${one.handle} /></a> ${one.display_name && one.display_name !== one.handle ? html`<span class="aside"><${Text} text=${one.display_name} /></span>` : null}</th>
    <td class="state"><${Mark} state=${one.state} /> ${one.state} ${one.since ? html`<span class="aside"><${Age} at=${one.since} /></span>` : null}</td>
    <td class="r num">${one.unread || html`<span class="nil">0</span>`}</td>
    <td class=${late ? 'r num late' : 'r num'}>${one.oldest_unread_at ? html`<${Age} at=${one.oldest_unread_at} />` : html`<span class="nil">none</span>`}</td>
    <td class="r num"><a href=${href('conversations', '', { agent: one.handle })}>${one.sessions_active}</a></td>
    <td class="r num">${one.runs_waiting ? html`<span class="late nowrap">${one.runs_waiting} waiting</span> ` : null}${one.runs_active || !one.runs_waiting ? one.runs_active : null}</td>
  </tr>`;
}
