// One agent: its card, its activity, its runner, its allowlist, and its token.
// Must not know: the list of agents.

import { html, useState } from '../../core/preact.js';
import { get, mayWrite, patch, post, remove } from '../../core/api.js';
import { useAgents } from '../../core/agents.js';
import { href, refine } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { date } from '../../core/time.js';
import { Dialog, Secret } from '../../parts/dialog.js';
import { Markdown } from '../../parts/markdown.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Coding } from './coding.js';
import { Policy } from './policy.js';
import { Simulator } from './simulator.js';

/** @param {{agent: import('../../core/types.js').Agent, now: import('../../core/types.js').AgentNow | undefined, all: import('../../core/types.js').Agent[]}} props */
export function Agent({ agent, now, all }) {
  const { handle } = agent;
  return html`<article class="agent detail-scroll" tabindex="0" aria-labelledby="agent-title">
    <p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All agents</button></p>
    <header class="agent-head">
      <div><h2 id="agent-title"><${Handle} handle=${handle} /></h2>
        <p class="lead"><${Text} text=${[agent.display_name === handle ? '' : agent.display_name, agent.description].filter(Boolean).join('. ')} /></p></div>
      ${now && !(now.kind === 'person' && now.state === 'gone') ? html`<p class="big-state"><${Mark} state=${now.state} /> ${now.state} ${now.since ? html`<span class="aside">${now.state === 'gone' ? 'last seen' : 'for'} <${Age} at=${now.since} suffix=${now.state === 'gone' ? ' ago' : ''} /></span>` : null}</p>` : null}
    </header>
    ${now ? html`<dl class="gauges">
      <div><dd class="num">${now.unread}</dd><dt>unread${now.oldest_unread_at ? html`, oldest <${Age} at=${now.oldest_unread_at} />` : ''}</dt></div>
      <div><dd class="num"><a href=${href('conversations', '', { agent: handle, state: 'active' })}>${now.sessions_active}</a></dd><dt>conversations</dt></div>
      <div><dd class="num">${now.runs_active}</dd><dt>runs</dt></div>
      <div class=${now.runs_waiting ? 'late' : ''}><dd class="num">${now.runs_waiting}</dd><dt>runs that wait</dt></div>
    </dl>` : null}
    <${Policy} agent=${agent} all=${all} />
    <${Simulator} agent=${agent} all=${all} />
    ${agent.card_body ? html`<section class="block"><h3>Card</h3><${Markdown} text=${agent.card_body} /></section>` : null}
    <${Coding} key=${handle} handle=${handle} />
    <${Hosts} handle=${handle} />
    <section class="block"><h3>Account</h3>
      <dl class="facts"><div><dt>Since</dt><dd>${date(agent.created_at)}</dd></div><div><dt>Seen by</dt><dd>${agent.visibility === 'public' ? 'everybody' : 'those who may reach it'}</dd></div></dl>
      <${Dangerous} agent=${agent} />
    </section>
  </article>`;
}

/** Whether and where the agent's runner runs. @param {{handle: string}} props */
function Hosts({ handle }) {
  const runner = useResource(`runner:${handle}`, async () => {
    const all = await get('/agent');
    return (all.agents ?? all).find((/** @type {any} */ one) => one.handle === handle) ?? null;
  }, ({ room }) => room === 'runs', 2000);
  const one = runner.data.value;
  if (!one) return null;
  const turn = async (/** @type {string} */ what) => {
    try {
      await post(`/agent/${encodeURIComponent(one.name)}/${what}`);
      say(what === 'stop' ? 'Stopped: it takes no runs.' : 'Started.');
    } catch (error) {
      sayFailure(error);
    }
    runner.reload();
  };
  return html`<section class="block"><h3>Behind the server</h3>
    <p><${Mark} state=${one.stopped ? 'gone' : 'working'} /> ${one.stopped ? 'stopped' : 'takes runs'}${one.instances === undefined || one.instances === null ? '' : `, ${one.instances} instances attached`}. <span class="aside"><${Text} text=${one.purpose} /></span></p>
    <p class="acts"><a class="button" href=${href('runs', '', { agent: one.name })}>Its runs</a>
      <button disabled=${!mayWrite()} onClick=${() => turn(one.stopped ? 'start' : 'stop')}>${one.stopped ? 'Start' : 'Stop'}</button></p>
  </section>`;
}

/** @type {['self_service' | 'hold_runs' | 'hold_invitations', string][]} */
const SWITCHES = [
  ['self_service', 'It may change its own policy and profile'],
  ['hold_runs', 'Runs that others ask for wait until a person accepts them'],
  ['hold_invitations', 'Invitations of others wait until a person accepts them'],
];

/**
 * Shows what is asked for until the server has answered, and then what the agent has.
 * @param {{agent: import('../../core/types.js').Agent, name: 'self_service' | 'hold_runs' | 'hold_invitations', says: string}} props
 */
function Switch({ agent, name, says }) {
  const agents = useAgents();
  const [asked, ask] = useState(/** @type {boolean | undefined} */ (undefined));
  const turn = async () => {
    ask(!agent[name]);
    try {
      await patch(`/_admin/agents/${agent.handle}`, { [name]: !agent[name] });
      await agents.reload();
    } catch (error) {
      sayFailure(error);
    }
    ask(undefined);
  };
  return html`<p><label><input type="checkbox" checked=${asked ?? agent[name] ?? false} disabled=${!mayWrite() || asked !== undefined} onChange=${turn} />${' '}${says}</label></p>`;
}

/** @param {{agent: import('../../core/types.js').Agent}} props */
function Dangerous({ agent }) {
  const [asking, ask] = useState('');
  const [token, setToken] = useState('');
  const path = `/_admin/agents/${agent.handle}`;
  const isPerson = agent.kind === 'person';
  // The owner speaks through this one, and the server does not delete it.
  const isOwn = isPerson && /^@(.+)\.\1$/.test(agent.handle);
  const act = async () => {
    try {
      if (asking === 'rotate') setToken((await post(`${path}/rotate-token`)).token);
      else {
        await remove(path);
        say(`${agent.handle} is deleted.`);
        refine({ id: '' });
      }
    } catch (error) {
      sayFailure(error);
    }
    ask('');
  };
  return html`${SWITCHES.filter(([name]) => !isPerson || name === 'hold_invitations').map(([name, says]) => html`<${Switch} agent=${agent} name=${name} says=${says} />`)}
    <p class="acts">${isPerson ? null : html`<button disabled=${!mayWrite()} onClick=${() => ask('rotate')}>New token</button>`}${isOwn ? null : html`<button class="danger" disabled=${!mayWrite()} onClick=${() => ask('delete')}>Delete</button>`}</p>
    ${asking ? html`<${Dialog} title=${asking === 'rotate' ? 'A new token?' : isPerson ? 'Delete the person?' : 'Delete the agent?'} close=${() => ask('')}>
      <p>${asking === 'rotate' ? html`The present token of <${Handle} handle=${agent.handle} /> ends at once, and its connections close.` : html`<${Handle} handle=${agent.handle} /> leaves every conversation. Its name stays taken, and this cannot be undone.`}</p>
      <div class="answer-bar"><button class="primary" onClick=${act}>${asking === 'rotate' ? 'Make a new token' : 'Delete it'}</button><button class="quiet" onClick=${() => ask('')}>Cancel</button></div><//>` : null}
    ${token ? html`<${Secret} title="The new token" close=${() => setToken('')} text=${token} label="The token">It is shown once.<//>` : null}`;
}
