// Who speaks for the person in a conversation: the agent that was chosen, else the person itself, else the first agent.
// Must not know: what is said.

import { useEffect, useRef, useState } from '../../core/preact.js';
import { say } from '../../parts/toast.js';

/**
 * The speaker changes only if it has left, or if nobody was chosen and the person itself takes part now.
 * @param {string[]} joined the person and its agents that take part
 * @param {string | undefined} person
 */
export function useSpeaker(joined, person) {
  const [, draw] = useState(0);
  const now = useRef({ as: '', isChosen: false }).current;
  const self = person && joined.includes(person) ? person : '';
  let left = '';
  if (!joined.includes(now.as)) {
    left = now.isChosen ? now.as : '';
    Object.assign(now, { as: self || joined[0] || '', isChosen: false });
  } else if (self && !now.isChosen) now.as = self;
  useEffect(() => {
    if (left && now.as) say(`${left} no longer takes part. You write as ${now.as} now.`, { bad: true });
  }, [left]);
  /** Chooses a speaker; an empty one takes the choice back. @param {string} as */
  const choose = (as) => {
    Object.assign(now, { as: as || now.as, isChosen: as !== '' });
    draw((n) => n + 1);
  };
  return { as: now.as, choose };
}
