// Requests to the server's public API, as the signed-in person or in the name of an agent.
// Must not know: the use of a response.

import { signal } from './preact.js';
import { learnTime } from './time.js';

/**
 * The session; null if signed out, undefined until known.
 * @type {import('@preact/signals').Signal<import('./types.js').Me | null | undefined>}
 */
export const me = signal(/** @type {any} */ (undefined));

/** Whether a session was open in this page until the server ended it. */
export const ended = signal(false);

/** The session of another account that began in this browser meanwhile, until the person goes on with it. @type {import('@preact/signals').Signal<import('./types.js').Me | undefined>} */
export const other = signal(/** @type {any} */ (undefined));

export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {any} body */
  constructor(status, code, message, body) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

/** The server did not answer. What was sent may have reached it all the same. */
export class Unanswered extends Error {
  constructor() {
    super('The server does not answer.');
  }
}

/** A unique id, which also works without a secure context. */
export const freshId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A server that does not begin its answer in this time does not answer. The rest may take as long as a slow network needs. */
const ANSWER_MS = 20_000;

/**
 * The result of the work, or `Unanswered` if it takes too long.
 * @template T
 * @param {(stop: AbortSignal) => Promise<T>} work
 * @param {AbortSignal} [abort]
 * @returns {Promise<T>}
 */
const inTime = (work, abort) => {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new Unanswered()), ANSWER_MS);
  if (abort?.aborted) stop.abort(abort.reason);
  abort?.addEventListener('abort', () => stop.abort(abort.reason), { once: true });
  const silence = new Promise((_, fail) => stop.signal.addEventListener('abort', () => fail(stop.signal.reason)));
  return /** @type {Promise<T>} */ (Promise.race([work(stop.signal), silence])).finally(() => clearTimeout(timer));
};

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: any, as?: string, signal?: AbortSignal, accept?: string, key?: string}} [more]
 * @returns {Promise<Response>}
 */
export async function request(method, path, { body, as, signal: abort, accept = 'application/json', key } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: accept };
  if (as) headers['X-ASP-Agent'] = as;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') {
    headers['X-Plenary-CSRF'] = me.value?.csrf ?? '';
    headers['Idempotency-Key'] = key ?? freshId();
  }
  const asked = Date.now();
  const reply = await inTime((stop) => fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    signal: stop,
  }), abort).catch((error) => {
    throw error instanceof TypeError ? new Unanswered() : error;
  });
  learnTime(reply.headers.get('date'), asked);
  if (reply.ok) return reply;
  const said = await reply.json().catch(() => undefined);
  const code = said?.error?.code ?? said?.code ?? `http_${reply.status}`;
  if (reply.status === 401 && !as && path !== '/console/sessions') {
    ended.value ||= Boolean(me.value);
    me.value = null;
  }
  if (code === 'csrf' && me.value) {
    await checkSession();
    throw new ApiError(reply.status, code, 'Another page of this browser has begun a new session. Nothing was changed; try again.', said);
  }
  throw new ApiError(reply.status, code, said?.error?.message ?? said?.message ?? reply.statusText, said);
}

/** @param {Response} reply */
const read = async (reply) => {
  const text = await reply.text();
  if (!text) return undefined;
  return (reply.headers.get('content-type') ?? '').includes('json') ? JSON.parse(text) : text;
};

/** The account of a session. @param {import('./types.js').Me} session */
const accountOf = ({ role, owner, person }) => `${role} ${owner} ${person}`;

/** Compares the account of the page with that of the browser: all pages of a browser share one session. */
export async function checkSession() {
  const was = me.value;
  const now = await get('/console/session').catch(() => undefined);
  if (!now || was === undefined || me.value !== was || now.session_id === was?.session_id) return;
  if (was && accountOf(was) !== accountOf(now)) {
    other.value = now;
    me.value = null;
  } else {
    ended.value = false;
    me.value = now;
  }
}

/** The other pages of this browser on this server. */
let tabs = /** @type {BroadcastChannel | undefined} */ (undefined);
/** Tells them that a session has begun or ended here. */
export const tellTabs = () => tabs?.postMessage('session');

/** Compares again whenever the session may have changed. */
export const watchSession = () => {
  tabs = new BroadcastChannel('plenary.session');
  tabs.addEventListener('message', checkSession);
  addEventListener('focus', checkSession);
  document.addEventListener('visibilitychange', () => void (document.hidden || checkSession()));
};

/** Who is signed in, in words. @param {import('./types.js').Me} session */
export const nameOf = ({ role, owner, person }) => person ?? (owner ? `@${owner}` : role);

/** @typedef {{as?: string, signal?: AbortSignal, accept?: string, key?: string}} More */
/** @param {string} path @param {More} [more] */
export const get = async (path, more) => read(await request('GET', path, more));
/**
 * A page of a list, whether there is a next one, and its path.
 * @param {string} path
 * @param {More} [more]
 * @returns {Promise<{items: any[], more: boolean, next?: string}>}
 */
export const getPage = async (path, more) => {
  const reply = await request('GET', path, more);
  const next = /<[^>]*(\?[^>]*)>;\s*rel="?next/.exec(reply.headers.get('link') ?? '');
  return { items: await reply.json(), more: Boolean(next), next: next ? path.split('?')[0] + next[1] : undefined };
};
/** @param {string} path @param {any} [body] @param {More} [more] */
export const post = async (path, body = {}, more = {}) => read(await request('POST', path, { ...more, body }));
/** @param {string} path @param {any} body @param {More} [more] */
export const patch = async (path, body, more = {}) => read(await request('PATCH', path, { ...more, body }));
/** @param {string} path @param {More} [more] */
export const remove = async (path, more) => read(await request('DELETE', path, more));

/** A query string of the members that are set. @param {Record<string, string | number | boolean | null | undefined>} members */
export const query = (members) => {
  const set = Object.entries(members).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return set.length ? '?' + new URLSearchParams(set.map(([name, value]) => [name, String(value)])) : '';
};

/** Whether this session may write. */
export const mayWrite = () => me.value?.role !== 'viewer';
