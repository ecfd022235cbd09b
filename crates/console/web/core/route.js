// The address holds the state: `#/page/id?name=value`. The fragment never reaches the server.
// Must not know: pages.

import { signal } from './preact.js';

/** @typedef {{page: string, id: string, params: Record<string, string>}} Route */

/** @returns {Route} */
const read = () => {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page = '', ...rest] = path.split('/');
  return {
    page: page || 'now',
    id: rest.map(decode).join('/'),
    params: Object.fromEntries(new URLSearchParams(search)),
  };
};

/** @param {string} text */
const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export const route = signal(read());
addEventListener('hashchange', () => (route.value = read()));
addEventListener('popstate', () => (route.value = read()));

/** @param {string} page @param {string} [id] @param {Record<string, string | undefined>} [params] */
export const href = (page, id = '', params = {}) => {
  const set = Object.entries(params).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(/** @type {string[][]} */ (set)).toString();
  return `#/${page}${id ? '/' + encodeURIComponent(id).replace(/%40/g, '@') : ''}${search ? '?' + search : ''}`;
};

/** @param {string} page @param {string} [id] @param {Record<string, string | undefined>} [params] */
export const go = (page, id, params) => {
  location.hash = href(page, id, params);
};

/**
 * Changes the address within the page. Only opening an item from the list makes a history entry, so that Back returns to the list.
 * @param {{id?: string, params?: Record<string, string | undefined>}} change
 */
export const refine = ({ id, params }) => {
  const now = route.value;
  const to = href(now.page, id ?? now.id, { ...now.params, ...params });
  // `below` is the address of the list, if it is the previous history entry.
  if (id && !now.id) history.pushState({ below: location.hash }, '', to);
  else if (id === '' && now.id && history.state?.below === to) return history.back();
  else history.replaceState(history.state, '', to);
  route.value = read();
};
