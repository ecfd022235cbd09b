// The channels that the person may see: those of its owner, and those that the trust of others opens to single agents.
// Must not know: their presentation.

import { get, getPage, me } from '../../core/api.js';
import { byPerson, useAgents } from '../../core/agents.js';
import { useResource } from '../../core/store.js';

/** @typedef {import('../../core/types.js').Agent} Agent */

const PAGE = 500;
const KEPT_MAX = 10_000;
const AT_ONCE = 6;
/** The number of own agents in whose names the channels of other owners are read. */
export const AGENTS_MAX = 20;

/** A list of the owner, as one of its agents sees it, or as the owner itself. @param {string} [as] */
const readList = async (as) => {
  const all = [];
  /** @type {string | undefined} */
  let path = `/agent-channel?include_closed=true&limit=${PAGE}`;
  while (path && all.length < KEPT_MAX) {
    /** @type {{items: any[], next?: string}} */
    const page = await getPage(path, { as });
    all.push(...page.items);
    path = page.next;
  }
  return all;
};

/** The agents that admit others than their owner's agents: trust goes both ways, so only they may have more channels than the owner. @param {Agent[]} agents */
const trusting = (agents) => {
  const own = `@${me.value?.owner}.`;
  return me.value?.owner ? byPerson(agents).filter(({ policy, allowlist }) => policy === 'open' || allowlist.some((entry) => !entry.startsWith(own))).map(({ handle }) => handle) : [];
};

/** The channels, each with an agent that may read it if the owner may not. @param {string[]} agents @param {Set<string>} known takes their ids */
const readAll = async (agents, known) => {
  const all = new Map((await readList()).map((channel) => [channel.id, { ...channel, as: undefined }]));
  const left = [...agents];
  const next = async () => {
    for (let as = left.shift(); as; as = left.shift()) {
      try {
        for (const channel of await readList(as)) if (!all.has(channel.id)) all.set(channel.id, { ...channel, as });
      } catch (error) {
        // An agent that may not read channels has none. Without an answer, nobody knows.
        if (!(/** @type {any} */ (error).status < 429)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  all.forEach((_, id) => known.add(id));
  return [...all.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
};

/** A post in a known channel does not change the list. @param {Set<string>} known @returns {(event: import('../../core/types.js').WatchEvent) => boolean} */
const staleness = (known) => ({ room, kind, stream }) => {
  if (room !== 'channels' || (kind === 'channel.event' && known.has(stream))) return false;
  known.add(stream);
  return true;
};

/** The channels; without the agents, those of the owner. `trusted` counts the agents that may have channels of other owners. */
export const useChannels = () => {
  const { data, error } = useAgents();
  const trusted = data.value ? trusting(data.value) : error.value ? [] : undefined;
  const asked = trusted?.slice(0, AGENTS_MAX);
  const known = new Set();
  const channels = useResource(asked ? `channels:${asked}` : 'no channels', async () => asked && readAll(asked, known), asked && staleness(known), 2000);
  return { channels, trusted: trusted?.length ?? 0 };
};

/** The channel of the address that the list lacks, such as one in which nobody of the owner has posted. @param {string} id */
export const useLinked = (id) => useResource(`channel-linked:${id}`, async () => (id ? (await get(`/agent-channel/${encodeURIComponent(id)}?format=json`)).channel : undefined));
