// The delivery states: of all messages if the server counts them, otherwise of the newest ones, read one by one.
// Must not know: the drawing.

import { html } from '../../core/preact.js';
import { get, me } from '../../core/api.js';
import { following, useResource } from '../../core/store.js';
import { readBack, readHead } from '../timeline/events.js';
import { Delivery } from './delivery.js';

const MESSAGES = 40;
const AT_ONCE = 4;
const AGAIN_MS = 20_000;

/** @typedef {import('../../core/types.js').DeliveryCounts} DeliveryCounts */

/** @param {string[]} agents */
const mineOf = (agents) => agents.find((agent) => me.value?.role === 'operator' || agent.startsWith(`@${me.value?.owner}.`));

/**
 * The newest messages. It stops waiting once there are enough.
 * @returns {Promise<import('../../core/types.js').WatchEvent[]>}
 */
const readMessages = async () => {
  const enough = new AbortController();
  const until = await readHead();
  return new Promise((done, fail) => {
    const tell = (/** @type {import('../../core/types.js').WatchEvent[]} */ events) => {
      if (events.length < MESSAGES) return;
      done(events);
      enough.abort();
    };
    readBack(until, MESSAGES, { only: '&rooms=sessions&kinds=session.message', stop: enough.signal, tell }).then(({ events }) => done(events), fail);
  });
};

/** @returns {Promise<{counts: DeliveryCounts, messages: number}>} */
async function sample() {
  await following();
  const newest = (await readMessages()).filter(({ kind, data }) => kind === 'session.message' && data?.sequence).slice(-MESSAGES);
  const counts = { accepted: 0, delivered: 0, shown: 0, in_context: 0, expired: 0 };
  let messages = 0;
  const left = [...newest];
  const next = async () => {
    for (let event = left.pop(); event; event = left.pop()) {
      const as = mineOf(event.agents ?? []);
      const status = as && (await get(`/sessions/${encodeURIComponent(event.stream)}/messages/${event.data.sequence}/status`, { as }).catch(() => undefined));
      if (!status) continue;
      messages++;
      for (const { state } of status.recipients) counts[state in counts ? /** @type {keyof DeliveryCounts} */ (state) : 'in_context']++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return { counts, messages };
}

/** @param {{delivery: DeliveryCounts | undefined}} props */
export function Sampled({ delivery }) {
  const sampled = useResource('delivery', sample, ({ room }) => room === 'sessions', AGAIN_MS);
  const told = sampled.data.value;
  if (delivery) return html`<h2 id="delivery">Delivery <small>of what was sent today</small></h2><${Delivery} counts=${delivery} />`;
  return html`<h2 id="delivery">Delivery <small>${told ? `of the newest ${told.messages} messages` : 'of what was sent'}</small></h2>
    ${told ? html`<${Delivery} counts=${told.counts} />` : html`<p class="quiet-note">${sampled.error.value ? `It cannot be read: ${sampled.error.value.message}` : 'Looking …'}</p>`}`;
}
