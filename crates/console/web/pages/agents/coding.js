// The live sessions of an agent's coding agents: the program, its activity, and when it was last active.
// Must not know: the agent's settings.

import { html } from '../../core/preact.js';
import { get } from '../../core/api.js';
import { useResource } from '../../core/store.js';
import { Age, Mark } from '../../parts/marks.js';
import { Text } from '../../parts/text.js';

/** Polling is needed because the activity of a coding agent is not an event of the log. */
const POLL_MS = 10_000;

/** @typedef {{session: string, client: string, state: string, hooks: boolean, since: number}} CodingNow */

/** @param {{handle: string}} props */
export function Coding({ handle }) {
  // The caller is first in the list.
  const who = useResource(`coding:${handle}`, () => get('/who?limit=1', { as: handle }), () => true, 2000, POLL_MS);
  /** @type {CodingNow[]} */
  const sessions = who.data.value?.agents?.[0]?.sessions ?? [];
  if (!sessions.length) return null;
  return html`<section class="block"><h3>Coding agents</h3>
    <table class="table coding"><thead><tr><th scope="col">Program</th><th scope="col">State</th><th scope="col">Hears of news</th><th scope="col" class="r">Last seen</th><th scope="col">Session</th></tr></thead>
      <tbody>${sessions.map((one) => html`<tr key=${one.session}><th scope="row"><${Text} text=${one.client} /></th><td><${Mark} state=${one.state} /> ${one.state}</td><td>${one.hooks ? 'by its hooks' : 'when it looks'}</td><td class="r num"><${Age} at=${one.since} /></td><td><code><${Text} text=${one.session} /></code></td></tr>`)}</tbody></table>
  </section>`;
}
