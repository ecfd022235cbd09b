// Whether one agent may write to another, and why not: the server's rule, step by step.
// Pure.
// Must not know: the source of the policies.

/**
 * `blocks` are undefined while they are not known.
 * @typedef {{handle: string, policy: 'allowlist' | 'open', allowlist: string[], blocks: string[] | undefined} | {handle: string, unknown: true}} Side
 * @typedef {{holds: boolean | undefined, says: string, who: string, mend?: {what: 'allow' | 'unblock' | 'open', of: string, entry: string}}} Step
 */

/** @param {string} handle */
export const ownerOf = (handle) => /^@([^.]+)\./.exec(handle)?.[1] ?? '';

/** Whether a list contains the handle or its owner. @param {string[]} list @param {string} handle */
const entryFor = (list, handle) => list.find((entry) => entry === handle || entry === `@${ownerOf(handle)}.*`);

/** @param {Side} side @param {Side} other @returns {Step[]} */
function stepsOf(side, other) {
  const { handle } = side;
  if ('unknown' in side) return [{ who: handle, holds: undefined, says: `What ${handle} allows, only its owner knows.` }];
  /** @type {Step[]} */
  const steps = [];
  if (!side.blocks) steps.push({ who: handle, holds: undefined, says: `What ${handle} blocks is not known.` });
  else if (side.blocks.includes(other.handle)) {
    steps.push({ who: handle, holds: false, says: `${handle} blocks ${other.handle}.`, mend: { what: 'unblock', of: handle, entry: other.handle } });
  } else steps.push({ who: handle, holds: true, says: `${handle} does not block ${other.handle}.` });
  const entry = entryFor(side.allowlist, other.handle);
  if (side.policy === 'open') steps.push({ who: handle, holds: true, says: `${handle} is open to everybody.` });
  else if (entry) steps.push({ who: handle, holds: true, says: `The allowlist of ${handle} has ${entry}.` });
  else {
    steps.push({ who: handle, holds: false, says: `${other.handle} is not on the allowlist of ${handle}${side.allowlist.length ? '' : ', which is empty'}.`, mend: { what: 'allow', of: handle, entry: other.handle } });
  }
  return steps;
}

/**
 * @param {Side} a
 * @param {Side} b
 * @returns {{may: boolean | undefined, steps: Step[], because: string}}
 */
export function reach(a, b) {
  if (a.handle === b.handle) return { may: true, steps: [], because: 'An agent may always write to itself.' };
  const steps = [...stepsOf(a, b), ...stepsOf(b, a)];
  const refused = steps.find(({ holds }) => holds === false);
  if (refused) return { may: false, steps, because: refused.says };
  const open = steps.find(({ holds }) => holds === undefined);
  if (open) return { may: undefined, steps, because: open.says };
  return { may: true, steps, because: 'Neither blocks the other, and each admits the other.' };
}
