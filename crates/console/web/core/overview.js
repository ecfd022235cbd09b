// The overview of agents, for all pages that show their states.
// Must not know: pages.

import { get } from './api.js';
import { useResource } from './store.js';

const EVENTS_MS = 1_500;
/** Polling is needed because an agent becomes idle or gone without an event. */
const POLL_MS = 20_000;

/** What a list of agents says if the overview has more of them than it tells. @param {import('./types.js').Overview | undefined} overview */
export const leftOut = (overview) => (overview?.more ? `The states of ${overview.agents.length} agents are read. There are more agents.` : '');

/** @returns {import('./store.js').Resource<import('./types.js').Overview>} */
export const useOverview = () => useResource('overview', () => get('/overview'), () => true, EVENTS_MS, POLL_MS);

/** Whether an agent only sends the tests of `plenary doctor`. @param {string} handle */
export const isDoctor = (handle) => /\.plenary-doctor$/.test(handle);
