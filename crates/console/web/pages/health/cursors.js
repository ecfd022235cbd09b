// The cursors of each agent: unread items, and the log positions of its last delivered and seen messages.
// Must not know: how the cursors move.

import { html } from '../../core/preact.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle } from '../../parts/text.js';

const SHOWN_MAX = 200;

/** A position; a dash before the first message. @param {number} at */
const position = (at) => (at ? at.toLocaleString('en') : '–');

/** @param {{agents: import('../../core/types.js').AgentNow[]}} props */
export function Cursors({ agents }) {
  const first = [...agents].sort((a, b) => (a.oldest_unread_at ?? Infinity) - (b.oldest_unread_at ?? Infinity) || b.seen_to - a.seen_to || a.handle.localeCompare(b.handle));
  if (!first.length) return html`<p class="aside">No agent yet.</p>`;
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="How far agents are, a table"><table class="table cursors"><thead><tr><th scope="col">Agent</th><th scope="col" class="r">Unread</th><th scope="col" class="r">Oldest</th><th scope="col" class="r">Delivered to</th><th scope="col" class="r">Seen to</th><th scope="col" class="r">Acknowledged to</th><th scope="col">State</th></tr></thead>
    <tbody>${first.slice(0, SHOWN_MAX).map((one) => html`<tr key=${one.handle}><th scope="row"><${Handle} handle=${one.handle} /></th><td class="r num">${one.unread}</td><td class="r num">${one.oldest_unread_at ? html`<${Age} at=${one.oldest_unread_at} />` : '–'}</td><td class="r num">${position(one.delivered_to)}</td><td class="r num">${position(one.seen_to)}</td><td class="r num">${position(one.acknowledged_to)}</td><td class="state"><${Mark} state=${one.state} /> ${one.state}</td></tr>`)}</tbody></table></div>
    ${first.length > SHOWN_MAX ? html`<p class="aside">${first.length - SHOWN_MAX} more agents.</p>` : null}`;
}
