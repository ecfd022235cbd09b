// The agents at a glance, for every page that shows their states.
// Must not know: pages.

import { get } from './api.js';
import { useResource } from './store.js';

const EVENTS_MS = 1_500;
/** An agent goes idle or away without an event. */
const POLL_MS = 20_000;

/** @returns {import('./store.js').Resource<import('./types.js').Overview>} */
export const useOverview = () => useResource('overview', () => get('/overview'), () => true, EVENTS_MS, POLL_MS);
