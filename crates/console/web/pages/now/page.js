// Now: the requests that wait for the person, working and stuck agents, and the delivery of messages.
// Must not know: how an answer is stored.

import { html, useEffect, useState } from '../../core/preact.js';
import { mayWrite } from '../../core/api.js';
import { useKeys } from '../../core/keys.js';
import { go, href } from '../../core/route.js';
import { leftOut, useOverview } from '../../core/overview.js';
import { clock, span } from '../../core/time.js';
import { Text, plainly } from '../../parts/text.js';
import { gist } from '../inbox/kinds.js';
import { answer, failure, loading, openRequests } from '../inbox/requests.js';
import { Agents } from './agents.js';
import { Lane } from './lane.js';
import { Sampled } from './sampled.js';

const WORDS = ['Nothing', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten', 'Eleven', 'Twelve'];

/** A one-sentence summary. @param {{open: import('../../core/types.js').PersonRequest[]}} props */
function Statement({ open }) {
  const count = open.length;
  if (count === 0 && failure.value) return html`<h1 class="statement">What waits for you cannot be read.</h1><p class="statement-more trouble">${plainly(failure.value.message)}</p>`;
  if (count === 0 && loading.value) return html`<h1 class="statement">Looking …</h1>`;
  if (count === 0) return html`<h1 class="statement">Nothing waits for you.</h1>`;
  const oldest = open.reduce((a, b) => (b.created_at < a.created_at ? b : a));
  return html`<h1 class="statement"><em>${WORDS[count] ?? count}</em> ${count === 1 ? 'waits' : 'wait'} for you.</h1>
    <p class="statement-more">${count === 1 ? 'It has waited' : 'The oldest has waited'} <b class="num">${span(clock.value - oldest.created_at)}</b>: ${' '}
      <a href=${href('inbox', oldest.request_id)}><${Text} text=${oldest.title} /></a></p>`;
}

export function Page() {
  const overview = useOverview();
  const open = openRequests.value;
  const [chosen, choose] = useState(/** @type {string | undefined} */ (undefined));
  // A key answers only the selected request. If somebody else answers it, nothing is selected until the next `j`.
  const one = open.find(({ request_id }) => request_id === chosen);
  useEffect(() => {
    if (chosen === undefined && open.length) choose(open[0].request_id);
  }, [open.length]);
  const now = overview.data.value;
  const index = one ? open.indexOf(one) : -1;
  const move = (/** @type {number} */ by) => choose(open[Math.max(0, Math.min(open.length - 1, index + by))]?.request_id ?? '');
  const act = (/** @type {'accept' | 'ignore'} */ type) => () => {
    if (!one?.allow[type] || !mayWrite()) return;
    if (type === 'accept' && !gist(one).isWhole) return go('inbox', one.request_id);
    answer(one, { type });
    choose((open[index + 1] ?? open[index - 1])?.request_id);
  };
  useKeys('Now', [
    { keys: 'j or ArrowDown', says: 'The next that waits', run: () => move(1) },
    { keys: 'k or ArrowUp', says: 'The one before', run: () => move(-1) },
    { keys: 'a', says: 'Accept, or open what a row does not show whole', run: act('accept') },
    { keys: 'i', says: 'Ignore', run: act('ignore') },
    { keys: 'Enter or o or r or e', says: 'Open it in the inbox', run: () => one && go('inbox', one.request_id) },
  ]);
  return html`<div class="page now">
    <header class="page-head"><div><${Statement} open=${open} /></div>
      ${now ? html`<${Today} counts=${now.counts} />` : null}
    </header>
    <div class="now-grid">
      <section class="panel lane" aria-labelledby="lane">
        <h2 id="lane">Needs you</h2>
        <${Lane} open=${open} chosen=${one?.request_id ?? ''} choose=${choose} />
      </section>
      <section class="panel" aria-labelledby="delivery"><${Sampled} delivery=${now?.delivery} /></section>
      <section class="panel wide" aria-labelledby="agents">
        <h2 id="agents">Agents</h2>
        ${now ? html`<${Agents} agents=${now.agents} note=${leftOut(now)} />` : overview.error.value ? html`<p class="trouble">The overview cannot be read: ${overview.error.value.message}</p>` : html`<p class="quiet-note">Looking …</p>`}
      </section>
    </div>
  </div>`;
}

/** @param {{counts: import('../../core/types.js').Overview['counts']}} props */
const Today = ({ counts }) => html`<dl class="today" aria-label="Today">
  <div><dd class="num">${counts.messages_today.toLocaleString('en')}</dd><dt>messages today (UTC)</dt></div>
  <div><dd class="num">${counts.runs_today.toLocaleString('en')}</dd><dt>runs</dt></div>
  <div class=${counts.runs_failed_today ? 'bad' : ''}><dd class="num">${counts.runs_failed_today.toLocaleString('en')}</dd><dt>failed</dt></div>
</dl>`;
