// Why a package matches a query: the matches in its text, and the parts of its rank.
// Must not know: how packages are listed.

import { html } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { visible } from '../../parts/text.js';

/** @typedef {{snippet: {text: string, matches: [number, number][]}, why: {words: number, meaning?: number, date?: number}}} Reason */

const HITS_MAX = 50;

/**
 * The reasons of the best matches in a project, by package.
 * @param {string} project
 * @param {string} words
 * @returns {Promise<Map<string, Reason>>}
 */
export const reasons = async (project, words) => {
  const { hits } = await get(`/search${query({ q: words, room: 'context', limit: HITS_MAX })}`).catch(() => ({ hits: [] }));
  const ours = hits.filter((/** @type {any} */ hit) => hit.kind === 'package' && hit.reference.project_id === project);
  return new Map(ours.map((/** @type {any} */ hit) => [hit.reference.package_id, hit]));
};

/** A text in pieces, and whether each matches the query. @param {Reason['snippet']} snippet @returns {[string, boolean][]} */
export const pieces = ({ text, matches }) => {
  const all = [...text];
  let from = 0;
  /** @type {[string, boolean][]} */
  const parts = [];
  for (const [start, end] of matches) {
    if (start > from) parts.push([all.slice(from, start).join(''), false]);
    parts.push([all.slice(start, end).join(''), true]);
    from = end;
  }
  if (from < all.length) parts.push([all.slice(from).join(''), false]);
  return parts;
};

const percent = (/** @type {number} */ part) => `${Math.round(part * 100)} %`;

/** The parts of the rank, in words. @param {Reason['why']} why */
export const shares = ({ words, meaning, date }) => [`words ${percent(words)}`, ...(meaning === undefined ? [] : [`meaning ${percent(meaning)}`]), ...(date === undefined ? [] : [`time ${percent(date)}`])].join(', ');

/** @param {{reason: Reason}} props */
export const Why = ({ reason }) => html`<p class="row-foot why"><bdi>${pieces(reason.snippet).map(([text, fits]) => (fits ? html`<mark>${visible(text)}</mark>` : visible(text)))}</bdi><span class="aside" title="What its rank is made of: the words of the query that it has, and how near its meaning is">${shares(reason.why)}</span></p>`;
