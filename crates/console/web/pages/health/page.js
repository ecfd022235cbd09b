// Health: the server's readiness, the lag of agents, the storage of owners, and the metrics.
// Must not know: how the server works.

import { html } from '../../core/preact.js';
import { get, me } from '../../core/api.js';
import { leftOut, useOverview } from '../../core/overview.js';
import { useResource } from '../../core/store.js';
import { clock, span } from '../../core/time.js';
import { liveness, place } from '../../core/watch.js';
import { save } from '../../parts/download.js';
import { Mark } from '../../parts/marks.js';
import { Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Cursors } from './cursors.js';
import { parse } from './samples.js';
import { Writing } from './writing.js';

const every = () => true;
const OWNERS_MAX = 100;

export function Page() {
  const health = useResource('health', () => get('/healthz'), every, 5000, 5000);
  const usage = useResource('usage', () => (me.value?.role === 'operator' ? get(`/_admin/owners?limit=${OWNERS_MAX}`) : get('/usage')), every, 5000);
  const overview = useOverview();
  const metrics = useResource('metrics', async () => (me.value?.role === 'operator' ? parse(await get('/metrics', { accept: 'text/plain' })) : []), every, 5000);
  const up = health.data.value;
  // A refused stream has a reason: the server serves.
  const isDown = health.error.value || (liveness.value.state === 'stale' && !liveness.value.why);
  const own = me.value?.role === 'operator' ? undefined : usage.data.value;
  const diagnosis = async () => {
    try {
      const whole = { at: new Date().toISOString(), health: up, usage: usage.data.value, overview: overview.data.value, stream: { ...liveness.value, place: place() }, metrics: metrics.data.value, browser: navigator.userAgent };
      save(new Blob([JSON.stringify(whole, null, 2)], { type: 'application/json' }), 'plenary-diagnosis.json');
      say('The diagnosis has no message and no token in it.');
    } catch (error) {
      sayFailure(error);
    }
  };
  return html`<div class="page">
    <header class="page-head"><div><h1>Health</h1></div><button onClick=${diagnosis}>Save a diagnosis</button></header>
    <dl class="gauges">
      <div class=${isDown ? 'bad' : ''}><dd><${Mark} state=${isDown ? 'failed' : up ? 'working' : 'queued'} /> ${isDown ? 'down' : up ? 'serves' : '…'}</dd><dt>${isDown ? health.error.value?.message ?? 'The server does not answer.' : up ? `version ${up.version}, up ${span(up.uptime_ms ?? 0)}` : ''}</dt></div>
      <div class=${liveness.value.state === 'stale' ? 'bad' : ''}><dd>${liveness.value.state}</dd><dt>this page, for ${span(clock.value - liveness.value.since)}</dt></div>
      <div><dd class="num">${place() ?? '…'}</dd><dt>position in the log</dt></div>
      ${own ? html`<div><dd class="num">${own.stored_events.toLocaleString('en')}</dd><dt>events stored${own.stored_events_max ? `, of ${own.stored_events_max.toLocaleString('en')}` : ''}</dt></div>
      <div><dd class="num">${bytes(own.stored_bytes)}</dd><dt>stored${own.stored_bytes_max ? `, of ${bytes(own.stored_bytes_max)}` : ''}</dt></div>` : null}
    </dl>
    <section class="panel spaced" aria-labelledby="lag"><h2 id="lag">How far agents are <small>unread items, and positions in the log</small></h2><${Cursors} agents=${overview.data.value?.agents ?? []} /><p class="aside">${leftOut(overview.data.value)}</p></section>
    ${me.value?.role === 'operator' ? html`<section class="panel spaced" aria-labelledby="writing"><h2 id="writing">Commits and queues</h2><${Writing} samples=${metrics.data.value ?? []} /></section>
      <section class="panel spaced" aria-labelledby="owners"><h2 id="owners">What owners store</h2><table class="table"><thead><tr><th scope="col">Owner</th><th scope="col" class="r">Events</th><th scope="col" class="r">Bytes</th></tr></thead><tbody>${(usage.data.value?.owners ?? []).map((/** @type {any} */ one) => html`<tr><th scope="row"><${Text} text=${one.owner} /></th><td class="r num">${one.stored_events.toLocaleString('en')}</td><td class="r num">${bytes(one.stored_bytes)}</td></tr>`)}</tbody></table>${usage.data.value?.owners?.length === 0 ? html`<p class="aside spaced">No owner yet.</p>` : null}${usage.data.value?.next_cursor ? html`<p class="aside spaced">The first ${OWNERS_MAX}; there are more.</p>` : null}</section>
      <section class="panel spaced" aria-labelledby="counters"><h2 id="counters">Counters</h2><div class="scroll-x counters" tabindex="0" role="region" aria-label="Counters, a table"><table class="table"><tbody>${(metrics.data.value ?? []).filter(({ name, value }) => value && !name.includes('_bucket')).slice(0, 300).map(({ name, value }) => html`<tr><th scope="row"><code>${name}</code></th><td class="r num">${value.toLocaleString('en')}</td></tr>`)}</tbody></table></div></section>` : null}
  </div>`;
}

/** @param {number} n */
const bytes = (n) => (n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : n < 1 << 30 ? `${(n / (1 << 20)).toFixed(1)} MiB` : `${(n / (1 << 30)).toFixed(1)} GiB`);
