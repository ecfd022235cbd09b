// The requests that wait for a person: read once, kept up to date by the stream, answered at once or with an undo.
// Must not know: their presentation.

import { computed, effect, signal } from '../../core/preact.js';
import { ApiError, Unanswered, freshId, get, me, post, query } from '../../core/api.js';
import { following, onEvent, onGap, onOpen } from '../../core/store.js';
import { now, timeOn } from '../../core/time.js';
import { UNTIMED_MS, drop, say, sayFailure } from '../../parts/toast.js';

/** @typedef {import('../../core/types.js').PersonRequest} PersonRequest */

const PAGE = 100;
const KEPT_MAX = 20_000;
const BATCH_MAX = 100;
const BACK_MS = 5_000;
export const UNDO_S = 8;
const WAITS = 'plenary.answers-wait';

/** Whether a single answer takes effect only after its undo period; stored in this browser. */
export const answersWait = signal(false);
try {
  answersWait.value = Boolean(localStorage.getItem(WAITS));
  effect(() => (answersWait.value ? localStorage.setItem(WAITS, 'yes') : localStorage.removeItem(WAITS)));
} catch {
  // Some browsers deny storage to pages; then the setting is not kept.
}

/** @type {import('@preact/signals').Signal<Map<string, PersonRequest>>} All known requests, by id. */
export const known = signal(new Map());
export const loading = signal(true);
export const failure = signal(/** @type {any} */ (undefined));

/** @param {PersonRequest[]} more */
export const keep = (more) => {
  const next = new Map(known.value);
  for (const one of more) {
    const was = next.get(one.request_id);
    if (!was || was.version <= one.version) next.set(one.request_id, one);
  }
  known.value = next;
};

/** Those that wait as of now for the server's reply to an answer. @type {import('@preact/signals').Signal<Set<string>>} */
export const sending = signal(new Set());

const FAR = Number.MAX_SAFE_INTEGER;
/** What ends soonest comes first, then what has no end, by age. */
const byUrgency = (/** @type {PersonRequest} */ a, /** @type {PersonRequest} */ b) => (a.deadline_at || FAR) - (b.deadline_at || FAR) || byAge(a, b);
export const byAge = (/** @type {PersonRequest} */ a, /** @type {PersonRequest} */ b) => a.created_at - b.created_at;
/** @param {string} state */
const inState = (state) => computed(() => [...known.value.values()].filter((one) => one.state === state).sort(byUrgency));

/** Whether it waits for the signed-in person: it is not delegated to somebody else. @param {PersonRequest} one */
export const isMine = ({ to }) => !to || !me.value?.person || to === me.value.person;

export const allOpen = inState('open');
/** The requests that wait for the signed-in person. */
export const openRequests = computed(() => allOpen.value.filter(isMine));
export const snoozed = inState('snoozed');

/** Reads all pages of a state, oldest first. @param {string} state */
async function readAll(state) {
  let cursor;
  let read = 0;
  do {
    const page = await get(`/requests${query({ state, cursor, limit: PAGE })}`);
    keep(page.requests);
    read += page.requests.length;
    cursor = page.next_cursor;
  } while (cursor && read < KEPT_MAX);
}

export const reload = async () => {
  loading.value = true;
  await following();
  try {
    await readAll('open');
    await readAll('snoozed');
    failure.value = undefined;
  } catch (error) {
    failure.value = error;
  }
  loading.value = false;
};

/** Reads a request; returns why it could not be read, or an empty text. @param {string} id @returns {Promise<string>} */
export const find = async (id) => {
  try {
    keep([await get(`/requests/${encodeURIComponent(id)}`)]);
    return '';
  } catch (error) {
    if (!(error instanceof ApiError)) return 'The request cannot be read now.';
    if (error.status >= 500 || error.status === 429) return `The request cannot be read: ${error.message}`;
    const next = new Map(known.value);
    next.delete(id);
    known.value = next;
    return 'There is no such request, or it is not yours.';
  }
};
/** @param {string} id */
export const refresh = (id) => void find(id);

let of = '';
effect(() => {
  const now = me.value?.session_id ?? '';
  if (now === of) return;
  of = now;
  known.value = new Map();
  if (now) reload();
});
onEvent((event) => {
  if (event.room === 'requests' && event.data?.request_id) refresh(event.data.request_id);
});
onGap(reload);
onOpen(() => void (failure.value && reload()));
// Polling is needed because the end of a snooze is not an event.
setInterval(() => snoozed.value.filter(({ snoozed_until }) => (snoozed_until ?? 0) <= now()).forEach(({ request_id }) => refresh(request_id)), BACK_MS);

/** @type {Record<string, string>} */
const DONE = { accept: 'Accepted', edit: 'Accepted with changes', respond: 'Answered', ignore: 'Ignored' };

/** The keys of answers that were sent without a reply: the same answer goes out with the same key. @type {Map<string, string>} */
const keys = new Map();
/** A reply that takes longer is waited for with a note. */
const SLOW_MS = 600;

/**
 * Says that something is under way, at once if it can be taken back: an early `u` works too.
 * @param {string} text @param {(() => void) | undefined} undo
 */
const underWay = (text, undo) => {
  const notes = /** @type {number[]} */ ([]);
  const tell = () => void notes.push(say(text, { ms: UNTIMED_MS, undo }));
  const timer = undo ? 0 : setTimeout(tell, SLOW_MS);
  if (undo) tell();
  return () => {
    clearTimeout(timer);
    notes.forEach(drop);
  };
};

/**
 * Answers a request. The answer takes effect at once, or after an undo period if the person has set `answersWait`.
 * Until the server has replied, the request is open.
 * @param {PersonRequest} one
 * @param {{type: import('../../core/types.js').AnswerType, args?: any, text?: string, rule?: any}} answer
 * @param {boolean} [isWritten] whether the person wrote it in a form, which keeps the text
 */
export async function answer(one, answer, isWritten = false) {
  const id = one.request_id;
  if (sending.value.has(id)) return false;
  const { version } = known.value.get(id) ?? one;
  const waits = answersWait.value;
  const title = one.title.slice(0, 60);
  const body = { ...answer, version, undo_seconds: waits ? UNDO_S : undefined };
  const name = JSON.stringify([id, body]);
  const key = keys.get(name) ?? freshId();
  keys.set(name, key);
  sending.value = new Set(sending.value).add(id);
  const sent = post(`/requests/${encodeURIComponent(id)}/answer`, body, { key });
  let isTakenBack = false;
  const early = () => {
    isTakenBack = true;
    sent.then(() => undo(id), () => {});
  };
  const end = underWay(`Sending the answer: ${title}`, waits ? early : undefined);
  try {
    keep([await sent]);
    keys.delete(name);
    if (!isTakenBack) say(`${DONE[answer.type]}: ${title}`, waits ? { ms: UNDO_S * 1000, undo: () => undo(id) } : {});
    return true;
  } catch (error) {
    if (!(error instanceof Unanswered)) keys.delete(name);
    refused(one, error, isWritten);
    return false;
  } finally {
    end();
    sending.value = new Set([...sending.value].filter((other) => other !== id));
  }
}

/** @param {PersonRequest} one @param {any} error @param {boolean} isWritten */
function refused(one, error, isWritten) {
  const kept = isWritten ? 'Your reply is still in the form.' : '';
  const stands = error?.body?.request ?? error?.body?.error?.request;
  if (stands?.request_id) keep([stands]);
  if (error?.code === 'already_answered') {
    const by = error.body?.answer ?? stands?.answer;
    say(`Somebody was faster: ${by?.type ? DONE[by.type]?.toLowerCase() : 'it has an answer'}${by?.by ? ` by ${by.person ?? by.by}` : ''}.`, { bad: true });
  } else if (error?.code === 'stale_version') say(`It changed meanwhile. Look again, then answer. ${kept}`, { bad: true });
  else if (error instanceof Unanswered) say(`The server did not answer. ${kept || 'Answer again when this page is live.'}`, { bad: true });
  else sayFailure(error);
  refresh(one.request_id);
}

/** Takes answers back, and says so once. @param {string[]} ids */
export const undo = async (...ids) => {
  const troubles = (await Promise.all(ids.map(async (id) => {
    try {
      keep([await post(`/requests/${encodeURIComponent(id)}/undo`)]);
      return [];
    } catch (error) {
      return [error];
    } finally {
      refresh(id);
    }
  }))).flat();
  const count = ids.length - troubles.length;
  if (count) say(ids.length === 1 ? 'Undone: it waits for you again.' : `${count} undone.`);
  if (troubles.length) sayFailure(troubles[0]);
};

/**
 * Answers many requests, a hundred per call; each one succeeds or fails by itself.
 * @param {PersonRequest[]} many
 * @param {'accept' | 'ignore'} type
 */
export const answerAll = async (many, type) => {
  const may = many.filter(({ allow }) => allow[type]);
  const sent = sendAll(may, type);
  let isTakenBack = false;
  const takeBack = () => {
    isTakenBack = true;
    sent.then(({ done }) => undo(...done.map(({ request_id }) => request_id)));
  };
  const count = (/** @type {any[]} */ all) => `${all.length} ${all.length === 1 ? 'request' : 'requests'}`;
  const end = underWay(`Sending answers to ${count(may)}`, takeBack);
  const { done, failed } = await sent;
  end();
  keep(done.map(({ request }) => request));
  if (done.length && !isTakenBack) say(`${DONE[type]}: ${count(done)}`, { ms: UNDO_S * 1000, undo: takeBack });
  if (failed.length) say(`${failed.length} were not answered: ${failed[0].error?.message ?? ''}`, { bad: true });
  if (may.length < many.length) say(`${many.length - may.length} of them do not take that answer.`);
  failed.forEach(({ request_id }) => refresh(request_id));
};

/** @param {PersonRequest[]} may @param {'accept' | 'ignore'} type */
async function sendAll(may, type) {
  /** @type {any[]} */
  const done = [];
  /** @type {any[]} */
  const failed = [];
  try {
    for (let from = 0; from < may.length; from += BATCH_MAX) {
      const answers = may.slice(from, from + BATCH_MAX).map(({ request_id, version }) => ({ request_id, type, version, undo_seconds: UNDO_S }));
      for (const result of (await post('/requests/answers', { answers })).results) (result.request ? done : failed).push(result);
    }
  } catch (error) {
    sayFailure(error);
  }
  return { done, failed };
}

// Both return whether the change was made.
/** @param {PersonRequest} one @param {number} until @param {string} [done] */
export const snooze = (one, until, done = `Snoozed until ${timeOn(until)}.`) => change(one, 'snooze', { until }, done);
/** @param {PersonRequest} one @param {string} to */
export const delegate = (one, to) => change(one, 'delegate', { to }, `Given to ${to}.`);

/** @param {PersonRequest} one @param {string} what @param {any} body @param {string} done */
async function change(one, what, body, done) {
  const path = `/requests/${encodeURIComponent(one.request_id)}/${what}`;
  const now = await post(path, body).catch(sayFailure);
  if (now?.request_id) {
    keep([now]);
    say(done);
  }
  refresh(one.request_id);
  return Boolean(now?.request_id);
}
