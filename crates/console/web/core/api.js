// Requests to the server's public API, as the signed-in person or in the name of an agent.
// Must not know: the use of a response.

import { signal } from './preact.js';

/**
 * The session; null if signed out, undefined until known.
 * @type {import('@preact/signals').Signal<import('./types.js').Me | null | undefined>}
 */
export const me = signal(/** @type {any} */ (undefined));

/** Whether a session was open in this page until the server ended it. */
export const ended = signal(false);

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
  const reply = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    signal: abort,
  }).catch((error) => {
    throw error instanceof TypeError ? new Unanswered() : error;
  });
  if (reply.ok) return reply;
  const said = await reply.json().catch(() => undefined);
  const code = said?.error?.code ?? said?.code ?? `http_${reply.status}`;
  if (reply.status === 401 && !as && path !== '/console/sessions') {
    ended.value ||= Boolean(me.value);
    me.value = null;
  }
  throw new ApiError(reply.status, code, said?.error?.message ?? said?.message ?? reply.statusText, said);
}

/** @param {Response} reply */
const read = async (reply) => {
  const text = await reply.text();
  if (!text) return undefined;
  return (reply.headers.get('content-type') ?? '').includes('json') ? JSON.parse(text) : text;
};

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
