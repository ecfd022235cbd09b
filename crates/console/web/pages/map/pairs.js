// Which of the owner's agents may write to which, each pair with its reason.
// Must not know: the drawing.

import { readAgents, readBlocks } from '../../core/agents.js';
import { reach } from '../agents/reach.js';

const AGENTS_MAX = 60;
const AT_ONCE = 4;

/** @returns {Promise<{a: string, b: string, may: boolean, because: string}[]>} the denied pairs first */
export async function readPairs() {
  const agents = (await readAgents()).slice(0, AGENTS_MAX);
  /** @type {import('../agents/reach.js').Side[]} */
  const sides = [];
  const left = [...agents];
  const next = async () => {
    for (let one = left.shift(); one; one = left.shift()) {
      sides.push({ handle: one.handle, policy: one.policy, allowlist: one.allowlist, blocks: await readBlocks(one.handle) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  sides.sort((x, y) => x.handle.localeCompare(y.handle));
  return sides
    .flatMap((x, n) => sides.slice(n + 1).map((y) => ({ a: x.handle, b: y.handle, ...reach(x, y) })))
    .map(({ a, b, may, because }) => ({ a, b, may: may === true, because }))
    .sort((x, y) => Number(x.may) - Number(y.may) || x.a.localeCompare(y.a));
}
