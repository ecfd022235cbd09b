// All sessions of the person's agents, the latest event first, kept up to date by the stream.
// Must not know: their presentation.

import { computed, effect, signal } from '../../core/preact.js';
import { get, me, query } from '../../core/api.js';
import { following, onEvent, onGap, onOpen } from '../../core/store.js';

/** @typedef {import('../../core/types.js').Session & {seen_by: string[], touched: number}} Known */

/** The first page is small, so that it is visible quickly. */
const PAGE_FIRST = 50;
const PAGE = 1000;
const KEPT_MAX = 50_000;
const TELL_MS = 100;

/** @type {Map<string, Known>} */
let all = new Map();
const changes = signal(0);
export const reading = signal(false);
export const failure = signal(/** @type {any} */ (undefined));
export const sessions = computed(() => {
  void changes.value;
  return [...all.values()].sort((a, b) => b.touched - a.touched || (a.id < b.id ? 1 : -1));
});
/** @param {string} id */
export const sessionOf = (id) => {
  void changes.value;
  return all.get(id);
};

/** @param {any} session @param {string[]} agents @param {number} [at] */
const keep = (session, agents, at) => {
  const was = all.get(session.id);
  const seenBy = [...new Set([...(was?.seen_by ?? []), ...agents])];
  const touched = Math.max(was?.touched ?? 0, session.last_event_at ?? 0, session.ended_at ?? 0, session.created_at, at ?? 0);
  all.set(session.id, { ...session, seen_by: seenBy, touched });
};

let telling = 0;
/** Batches notifications while many sessions are read, because each one sorts the whole list. */
const changed = () => {
  telling ||= setTimeout(() => {
    telling = 0;
    changes.value++;
  }, TELL_MS);
};

let again = false;
export async function readAll() {
  if (reading.value) {
    again = true;
    return;
  }
  reading.value = true;
  await following();
  try {
    let before;
    do {
      const page = await get(`/_admin/sessions${query({ before, limit: before ? PAGE : PAGE_FIRST })}`);
      for (const { seen_by, ...session } of page.sessions) keep(session, seen_by);
      before = page.next_cursor;
      changed();
    } while (before && all.size < KEPT_MAX);
    failure.value = undefined;
  } catch (error) {
    failure.value = error;
  }
  reading.value = false;
  if (again) {
    again = false;
    readAll();
  }
}

/** Agents that are asked for a session before the list is believed. */
const TRIES = 4;

/**
 * Reads a session again, as the agent that sees most of it: one that takes part sees all participants, one that is only invited
 * sees two. A session that is not known here is in the list, or nobody may read it.
 * @param {string} id @param {string[]} agents @param {number} [at]
 */
export async function refresh(id, agents, at) {
  const was = all.get(id);
  const mine = agents.filter((agent) => me.value?.role === 'operator' || agent.startsWith(`@${me.value?.owner}.`));
  const isIn = (/** @type {any} */ session, /** @type {string} */ agent) => session?.participants.some((/** @type {any} */ one) => one.handle === agent && one.status === 'joined');
  const order = [...new Set([...(was?.seen_by ?? []), ...mine])].sort((a, b) => Number(isIn(was, b)) - Number(isIn(was, a)));
  let session;
  const readers = [];
  for (const agent of order.slice(0, TRIES)) {
    const seen = await get(`/_admin/agents/${agent}/sessions/${encodeURIComponent(id)}`).catch(() => undefined);
    if (seen) readers.push(agent);
    session = isIn(seen, agent) ? seen : (session ?? seen);
    if (isIn(seen, agent)) break;
  }
  if (!session) return;
  keep(session, readers, at);
  changes.value++;
}

let begun = false;
/** Starts reading on first use. */
export const begin = () => {
  if (begun) return;
  begun = true;
  readAll();
};

/** @type {Map<string, {agents: Set<string>, at: number}>} */
const stale = new Map();
let timer = 0;
onEvent((event) => {
  if (event.room !== 'sessions' || !begun) return;
  const entry = stale.get(event.stream) ?? { agents: new Set(), at: 0 };
  (event.agents ?? []).forEach((agent) => entry.agents.add(agent));
  entry.at = Math.max(entry.at, event.at ?? 0);
  stale.set(event.stream, entry);
  timer ||= setTimeout(() => {
    timer = 0;
    const now = [...stale];
    stale.clear();
    now.forEach(([id, { agents, at }]) => refresh(id, [...agents], at));
  }, 200);
});
onGap(() => begun && readAll());
onOpen(() => void (begun && failure.value && readAll()));
let of = '';
effect(() => {
  const now = me.value?.session_id ?? '';
  if (now === of) return;
  of = now;
  all = new Map();
  begun = false;
  changes.value++;
});
