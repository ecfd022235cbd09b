// The simulator: whether one agent may write to another, why not, and the change that would permit it.
// Must not know: how a policy is stored.

import { html, useEffect, useState } from '../../core/preact.js';
import { get, mayWrite, query } from '../../core/api.js';
import { route } from '../../core/route.js';
import { Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { allow, unblock, useBlocks } from './policy.js';
import { reach } from './reach.js';

/** @typedef {import('../../core/types.js').Agent} Agent */

/**
 * @param {Agent | undefined} agent
 * @param {string} handle
 * @param {string[] | undefined} blocks
 * @returns {import('./reach.js').Side}
 */
const sideOf = (agent, handle, blocks) =>
  agent ? { handle, policy: agent.policy, allowlist: agent.allowlist, blocks } : { handle, unknown: true };

const HANDLE = /^@[a-z0-9][a-z0-9_-]*\.[a-z0-9][a-z0-9_-]*$/;

/** @param {{agent: Agent, all: Agent[]}} props */
export function Simulator({ agent, all }) {
  const [other, setOther] = useState(() => route.value.params.other ?? all.find(({ handle }) => handle !== agent.handle)?.handle ?? '');
  const known = all.find(({ handle }) => handle === other);
  return html`<section class="block simulator"><h3>Who may write to whom</h3>
    <p class="ask">May <${Handle} handle=${agent.handle} /> write to
      <input aria-label="The other agent" class="mono" value=${other} list="list-simulator" spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ event) => setOther(event.target.value.trim())} /> ?</p>
    <datalist id="list-simulator">${all.filter(({ handle }) => handle !== agent.handle).map(({ handle }) => html`<option value=${handle}></option>`)}</datalist>
    ${HANDLE.test(other) ? html`<${Verdict} key=${other + (known ? ' mine' : '')} agent=${agent} other=${other} known=${known} />` : html`<p class="aside">A handle is written @owner.agent.</p>`}
  </section>`;
}

/** @param {{agent: Agent, other: string, known: Agent | undefined}} props */
function Verdict({ agent, other, known }) {
  const blocks = useBlocks(agent.handle);
  const theirs = known ? useBlocks(other) : undefined;
  const [reachable, setReachable] = useState(/** @type {boolean | undefined} */ (undefined));
  useEffect(() => {
    if (known) return;
    get(`/agents${query({ query: other.split('.')[1], owner: other.slice(1).split('.')[0], limit: 100 })}`, { as: agent.handle })
      .then((page) => setReachable(page.agents.some((/** @type {any} */ one) => one.handle === other)), () => setReachable(undefined));
  }, [other, agent.handle, agent.allowlist.join(), agent.policy]);
  const told = reach(sideOf(agent, agent.handle, blocks.data.value), sideOf(known, other, theirs?.data.value));
  // What the server shows of a foreign agent counts only if no block of the own agent can be in the way.
  const seen = blocks.data.value ? reachable : undefined;
  const may = told.may ?? (known ? undefined : seen);
  const because = told.may === undefined && seen === true ? 'Both sides admit it.' : told.may === undefined && seen === false ? `${agent.handle} cannot see it: it is absent, or does not admit ${agent.handle}. Nobody can tell which.` : told.because;
  const mend = async (/** @type {NonNullable<import('./reach.js').Step['mend']>} */ step) => {
    try {
      await (step.what === 'unblock' ? unblock(step.of, step.entry) : allow(step.of, step.entry));
      say(step.what === 'unblock' ? `${step.of} no longer blocks ${step.entry}.` : `${step.of} admits ${step.entry}.`);
    } catch (error) {
      sayFailure(error);
    }
    blocks.reload();
    theirs?.reload();
  };
  return html`<div class=${`verdict ${may === true ? 'yes' : may === false ? 'no' : 'open'}`} role="status">
    <p class="verdict-word"><b>${may === true ? 'Yes' : may === false ? 'No' : 'Unknown'}</b><span>${may === false ? 'because ' : ''}<${Text} text=${may === false ? because.replace(/^The /, 'the ') : because} /></span></p>
    <ol>${told.steps.map((step) => html`<li><${Mark} state=${step.holds === true ? 'done' : step.holds === false ? 'failed' : 'idle'} /> <${Text} text=${step.says} />
      ${step.mend ? html` <button disabled=${!mayWrite()} onClick=${() => step.mend && mend(step.mend)}>${step.mend.what === 'unblock' ? 'Lift the block' : 'Admit it'}</button>` : null}</li>`)}</ol>
  </div>`;
}
