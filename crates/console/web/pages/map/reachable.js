// Whom an agent may write to, and why not: the simulator's rule for the owner's agents, and one side of it for foreign agents.
// Must not know: the drawing.

import { useEffect, useMemo, useState } from '../../core/preact.js';
import { readBlocks } from '../../core/agents.js';
import { onEvent, onGap } from '../../core/store.js';
import { reach } from '../agents/reach.js';

/** @typedef {import('../../core/types.js').Agent} Agent */
/** @typedef {{handle: string, may: boolean | undefined, because: string, kind: string}} Verdict */

const AT_ONCE = 6;
const SHOW_MS = 200;

/** @type {Map<string, string[]>} The blocks of each agent, from the last read. */
const blocks = new Map();
onEvent(({ room, agents }) => {
  if (room !== 'accounts') return;
  if (agents?.length) agents.forEach((agent) => blocks.delete(agent));
  else blocks.clear();
});
onGap(() => blocks.clear());

/** @type {Record<string, string>} */
export const KINDS = {
  yes: 'may write to each other',
  'allow own': 'it does not admit them',
  'allow theirs': 'they do not admit it',
  'unblock own': 'it blocks them',
  'unblock theirs': 'they block it',
  foreign: 'only their owner knows',
  open: 'not known yet',
};

/** @param {Agent} one @param {Agent | string} other an agent of the owner, or a foreign handle @returns {Verdict} */
export function verdict(one, other) {
  const side = (/** @type {Agent} */ agent) => ({ handle: agent.handle, policy: agent.policy, allowlist: agent.allowlist, blocks: blocks.get(agent.handle) });
  const told = reach(side(one), typeof other === 'string' ? { handle: other, unknown: true } : side(other));
  const handle = typeof other === 'string' ? other : other.handle;
  const mend = told.steps.find(({ holds }) => holds === false)?.mend;
  if (told.may === false) return { handle, may: false, because: told.because, kind: mend ? `${mend.what} ${mend.of === one.handle ? 'own' : 'theirs'}` : 'allow own' };
  if (!blocks.has(one.handle) || (typeof other !== 'string' && !blocks.has(handle))) return { handle, may: undefined, because: 'What it blocks is being read.', kind: 'open' };
  return told.may ? { handle, may: true, because: told.because, kind: 'yes' } : { handle, may: undefined, because: told.because, kind: 'foreign' };
}

/**
 * The verdicts on all other agents, as far as they are known, the permitted ones first.
 * @param {Agent | undefined} one @param {Agent[]} agents @param {string[]} foreign handles of other owners' agents
 */
export function useReachable(one, agents, foreign) {
  const [turn, again] = useState(0);
  useEffect(() => {
    if (!one) return undefined;
    let ended = false;
    const left = agents.filter((agent) => !blocks.has(agent.handle) && (agent === one || verdict(one, agent).may !== false)).map(({ handle }) => handle);
    left.sort((a, b) => Number(b === one.handle) - Number(a === one.handle));
    const next = async () => {
      for (let handle = left.shift(); handle && !ended; handle = left.shift()) {
        const read = await readBlocks(handle).catch(() => undefined);
        if (read) blocks.set(handle, read);
      }
    };
    const timer = setInterval(() => again((n) => n + 1), SHOW_MS);
    Promise.all(Array.from({ length: AT_ONCE }, next)).then(() => {
      clearInterval(timer);
      if (!ended) again((n) => n + 1);
    });
    return () => {
      ended = true;
      clearInterval(timer);
    };
  }, [one, agents]);
  return useMemo(() => {
    const order = (/** @type {Verdict} */ { may }) => (may === true ? 0 : may === false ? 1 : 2);
    return one ? [...agents.filter((agent) => agent !== one), ...foreign].map((agent) => verdict(one, agent)).sort((a, b) => order(a) - order(b) || (a.handle < b.handle ? -1 : 1)) : [];
  }, [one, agents, foreign.join(), turn]);
}
