// The agent that is selected on the map: its activity, its conversations, and whom it may not write to, with reasons.
// Must not know: the canvas.

import { html } from '../../core/preact.js';
import { href, refine } from '../../core/route.js';
import { List } from '../../parts/list.js';
import { Mark } from '../../parts/marks.js';
import { Handle } from '../../parts/text.js';
import { KINDS } from './reachable.js';

/**
 * @param {{handle: string, agent: import('../../core/types.js').Agent | undefined, now: import('../../core/types.js').AgentNow | undefined,
 *   byReach: boolean, verdicts: import('./reachable.js').Verdict[], talks: {a: string, b: string, count: number}[], why: string, close: () => void}} props
 */
export function Chosen({ handle, agent, now, byReach, verdicts, talks, why, close }) {
  const mine = talks.filter(({ a, b }) => a === handle || b === handle).map(({ a, b, count }) => ({ handle: a === handle ? b : a, count }));
  const counts = Object.keys(KINDS).map((kind) => ({ kind, count: verdicts.filter((one) => one.kind === kind).length })).filter(({ count }) => count);
  const shown = verdicts.filter(({ kind }) => !why || kind === why);
  return html`<aside class="panel map-chosen" aria-label="The agent that is chosen">
    <header><h2><${Handle} handle=${handle} /></h2><button class="quiet close" aria-label="Choose nobody" onClick=${close}>×</button></header>
    <p>${now ? html`<${Mark} state=${now.state} /> ${now.state}, ${now.unread} unread` : agent ? 'Nothing happened there yet.' : 'It belongs to another owner.'}</p>
    <p class="acts">${agent ? html`<a class="button" href=${href('agents', handle)}>Open</a>` : null}<a class="button" href=${href('conversations', '', { agent: handle })}>Conversations</a></p>
    ${byReach && agent ? html`<ul class="why" aria-label="By reason">${counts.map(({ kind, count }) => html`<li><button class="quiet" aria-pressed=${why === kind ? 'true' : 'false'} onClick=${() => refine({ params: { why: why === kind ? undefined : kind } })}><${Mark} state=${kind === 'yes' ? 'done' : kind === 'open' || kind === 'foreign' ? 'queued' : 'failed'} /> <b class="num">${count.toLocaleString('en')}</b> ${KINDS[kind]}</button></li>`)}</ul>
      <${List} items=${shown} height=${58} label="Others" keys=${false} keyOf=${(/** @type {any} */ item) => item.handle} selected="" select=${(/** @type {string} */ key) => (location.hash = href('agents', handle, { other: key }))} empty="Nobody."
        row=${(/** @type {any} */ item) => html`<div class="why-row"><p><${Mark} state=${item.may ? 'done' : item.may === false ? 'failed' : 'queued'} label /> <${Handle} handle=${item.handle} /></p><p class="aside" title=${item.because}>${item.may ? 'Each admits the other.' : item.because}</p></div>`} />`
    : byReach ? html`<p class="aside">What it allows, only its owner knows.</p>`
    : html`<${List} items=${mine} height=${34} label="Talks with" keys=${false} keyOf=${(/** @type {any} */ item) => item.handle} selected="" select=${(/** @type {string} */ key) => (location.hash = href('conversations', '', { agent: handle, q: key }))} empty="It shares no conversation."
        row=${(/** @type {any} */ item) => html`<div class="talk-row"><${Handle} handle=${item.handle} /><span class="num aside">${item.count}</span></div>`} />`}
  </aside>`;
}
