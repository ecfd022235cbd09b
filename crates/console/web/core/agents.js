// The agents and people that the session may act for, for all pages that need them.
// Must not know: pages.

import { get, me, query } from './api.js';
import { useResource } from './store.js';

/** @typedef {import('./types.js').Agent} Agent */
const PAGE = 100;
const MAX = 5_000;

/** @returns {Promise<Agent[]>} */
export const readAgents = async () => {
  /** @type {Agent[]} */
  const all = [];
  let cursor;
  do {
    const page = await get(`/_admin/agents${query({ cursor, limit: PAGE })}`);
    all.push(...page.agents);
    cursor = page.next_cursor;
  } while (cursor && all.length < MAX);
  return all;
};

export const useAgents = () => useResource('agents', readAgents, ({ room }) => room === 'accounts', 500);

/** All whom an agent blocks. @param {string} handle @returns {Promise<string[]>} */
export const readBlocks = async (handle) => {
  /** @type {string[]} */
  const all = [];
  let cursor;
  do {
    const page = await get(`/_admin/agents/${handle}/blocks${query({ cursor, limit: PAGE })}`);
    all.push(...page.blocks.map((/** @type {any} */ one) => one.blocked_handle));
    cursor = page.next_cursor;
  } while (cursor);
  return all;
};

/** Sorted by handle, the signed-in person first. @param {Agent[] | undefined} agents */
export const byPerson = (agents) => {
  const person = me.value?.person;
  return [...(agents ?? [])].sort((a, b) => Number(b.handle === person) - Number(a.handle === person) || a.handle.localeCompare(b.handle));
};
