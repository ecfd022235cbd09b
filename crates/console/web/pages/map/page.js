// The map: agents by owner, their conversations, whom each may write to and why not, and the same as a table.
// Must not know: the runners of agents.

import { html, useEffect, useMemo, useState } from '../../core/preact.js';
import { useAgents } from '../../core/agents.js';
import { useKeys } from '../../core/keys.js';
import { href, refine, route } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { useOverview } from '../../core/overview.js';
import { Mark } from '../../parts/marks.js';
import { Handle } from '../../parts/text.js';
import { begin, failure, reading, sessions } from '../conversations/sessions.js';
import { Canvas } from './canvas.js';
import { Chosen } from './chosen.js';
import { edgesOf, layout, NODES_MAX } from './layout.js';
import { readPairs } from './pairs.js';
import { useReachable } from './reachable.js';

const ROWS_MAX = 100;
const EDGES_MAX = 4_000;
/** With more agents, lines for all pairs would be unreadable. */
const PAIRS_OF_MAX = 60;
/** @type {any[]} */
const NONE = [];

export function Page() {
  const overview = useOverview();
  const known = useAgents();
  const agents = known.data.value ?? NONE;
  const { id, params } = route.value;
  const byReach = params.lines === 'reach';
  useEffect(begin, []);
  const now = useMemo(() => new Map((overview.data.value?.agents ?? []).map((one) => [one.handle, one])), [overview.data.value]);
  const talks = useMemo(() => edgesOf(sessions.value), [sessions.value]);
  const few = agents.length > 0 && agents.length <= PAIRS_OF_MAX;
  const read = useResource(`pairs:${few && byReach}`, () => (few && byReach ? readPairs() : Promise.resolve([])), ({ room }) => room === 'accounts', 2000);
  const pairs = read.data.value ?? NONE;
  const trouble = known.error.value ?? (byReach ? read.error.value : failure.value);
  const isRead = known.data.value && (byReach ? read.data.value : !reading.value);
  const tall = innerWidth < innerHeight;
  const names = [...new Set([...agents.map(({ handle }) => handle), ...now.keys(), ...talks.flatMap(({ a, b }) => [a, b])])];
  const { nodes, groups, box } = useMemo(() => layout(names, tall), [names.join(), tall]);
  const at = useMemo(() => new Map(nodes.map((node) => [node.handle, node])), [nodes]);
  const one = agents.find(({ handle }) => handle === id);
  const foreign = useMemo(() => {
    const mine = new Set(agents.map(({ handle }) => handle));
    return names.filter((handle) => !mine.has(handle));
  }, [agents, names.join()]);
  const verdicts = useReachable(byReach ? one : undefined, agents, foreign);
  const edges = useMemo(() => {
    const lines = !byReach ? talks.map((pair) => ({ ...pair, word: 'talk' }))
      : one ? verdicts.filter(({ may }) => may !== undefined).map(({ handle, may }) => ({ a: id, b: handle, count: 1, word: may ? 'yes' : 'no' }))
        : pairs.filter(({ may }) => may).map(({ a, b }) => ({ a, b, count: 1, word: 'talk' }));
    const most = Math.max(1, talks[0]?.count ?? 1);
    return lines.slice(0, EDGES_MAX).flatMap(({ a, b, count, word }) => {
      const [from, to] = [at.get(a), at.get(b)];
      return from && to ? [{ a: from, b: to, part: byReach ? 0.25 : count / most, word: /** @type {any} */ (word) }] : [];
    });
  }, [byReach, byReach ? verdicts : talks, pairs, at, id]);
  const states = useMemo(() => {
    const mine = new Set(agents.map(({ handle }) => handle));
    return new Map(names.map((handle) => [handle, now.get(handle)?.state ?? (mine.has(handle) ? 'gone' : 'foreign')]));
  }, [now, agents, names.length]);
  const choose = (/** @type {string} */ handle) => refine({ id: handle, params: { why: undefined } });
  const says = (/** @type {string} */ handle) => {
    const known = now.get(handle);
    const told = verdicts.find((verdict) => verdict.handle === handle);
    return [handle, known ? known.state : states.get(handle) === 'foreign' ? 'another owner' : '', told?.may === false ? told.because : known ? `${known.sessions_active} conversations` : ''].filter(Boolean).join(' · ');
  };
  useKeys('Map', [{ keys: 'Escape', says: 'Choose nobody', run: () => choose(''), hidden: true }]);
  const lead = !byReach ? 'Who talks with whom: a line for each pair that shares conversations, as thick as they are many.'
    : one ? 'Green: they may write to each other. Red and broken: they may not.' : few ? 'Who may write to whom: a line for each pair of yours that may. Choose one to see why not.' : 'Choose an agent to see whom it may write to, and why not.';
  return html`<div class="page map"><header class="page-head"><div><h1>Map</h1><p class="lead">${lead}</p></div>
      <div class="filters"><${Choose} id=${id} knows=${(/** @type {string} */ handle) => at.has(handle)} choose=${choose} />
        <datalist id="map-agents">${names.slice(0, ROWS_MAX).map((handle) => html`<option value=${handle}></option>`)}</datalist>
        <div class="segments" role="group" aria-label="Lines"><button aria-pressed=${byReach ? 'false' : 'true'} onClick=${() => refine({ params: { lines: undefined } })}>Talk</button><button aria-pressed=${byReach ? 'true' : 'false'} onClick=${() => refine({ params: { lines: 'reach' } })}>Reach</button></div></div></header>
    ${trouble ? html`<p class="trouble">${byReach ? 'Who may write to whom' : 'The conversations'} cannot be read: ${trouble.message}</p>` : null}
    <div class=${id ? 'map-grid chosen' : 'map-grid'}>
      <${Canvas} picture=${{ nodes, groups, edges, states, chosen: id }} box=${box} choose=${choose} says=${says} label="The agents and the lines between them; the table below has the same" />
      ${id ? html`<${Chosen} handle=${id} agent=${one} now=${now.get(id)} byReach=${byReach} verdicts=${verdicts} talks=${talks} why=${params.why ?? ''} close=${() => choose('')} />` : null}
    </div>
    <p class="map-key" aria-hidden="true">${['working', 'waiting', 'idle'].map((state) => html`<span><${Mark} state=${state} /> ${state}</span>`)}<span><svg class="mark broken" viewBox="0 0 12 12" width="12" height="12"><circle cx="6" cy="6" r="4.25" /></svg> gone, or of another owner</span><span class="r">${nodes.length.toLocaleString('en')} ${nodes.length === 1 ? 'agent' : 'agents'}${names.length > NODES_MAX ? ` of ${names.length.toLocaleString('en')}` : ''}, ${edges.length.toLocaleString('en')} ${edges.length === 1 ? 'line' : 'lines'}</span></p>
    <section class="panel spaced" aria-labelledby="pairs"><h2 id="pairs">The same as a table</h2>
      ${byReach ? html`<${ReachTable} pairs=${one ? verdicts.map(({ handle, may, because }) => ({ a: id, b: handle, may, because })) : pairs} few=${few || Boolean(one)} />` : html`<${TalkTable} talks=${talks} now=${now} none=${trouble ? null : isRead ? 'No two of them share a conversation.' : 'Looking …'} />`}</section>
  </div>`;
}

/**
 * The input stays when events update the page.
 * @param {{id: string, knows: (handle: string) => boolean, choose: (handle: string) => void}} props
 */
function Choose({ id, knows, choose }) {
  const [draft, setDraft] = useState({ id, text: id });
  const take = (/** @type {any} */ event) => {
    const text = event.target.value.trim();
    setDraft({ id, text });
    if (!text || knows(text)) choose(text);
  };
  return html`<input type="search" data-search list="map-agents" aria-label="Choose an agent" placeholder="Choose an agent" spellcheck=${false} autocomplete="off" value=${draft.id === id ? draft.text : id} onInput=${take} />`;
}

/** @param {{count: number}} props */
const Rest = ({ count }) => (count > ROWS_MAX ? html`<p class="aside spaced">The first ${ROWS_MAX} of ${count.toLocaleString('en')}. Choose an agent to see its own.</p>` : null);

/** @param {{pairs: {a: string, b: string, may: boolean | undefined, because: string}[], few: boolean}} props */
const ReachTable = ({ pairs, few }) => html`<div class="scroll-x" tabindex="0" role="region" aria-label="Who may write to whom, a table"><table class="table"><thead><tr><th scope="col">One</th><th scope="col">The other</th><th scope="col">May they?</th></tr></thead>
  <tbody>${pairs.slice(0, ROWS_MAX).map(({ a, b, may, because }) => html`<tr key=${a + b}><th scope="row"><a href=${href('agents', a, { other: b })}><${Handle} handle=${a} /></a></th><td><a href=${href('agents', b, { other: a })}><${Handle} handle=${b} /></a></td><td><${Mark} state=${may === undefined ? 'queued' : may ? 'done' : 'failed'} /> ${may === undefined ? because : may ? 'yes' : `no: ${because}`}</td></tr>`)}</tbody></table></div>
  ${few ? null : html`<p class="aside">Of more than ${PAIRS_OF_MAX} agents, choose one.</p>`}<${Rest} count=${pairs.length} />`;

/** @param {{talks: {a: string, b: string, count: number}[], now: Map<string, any>, none: string | null}} props */
const TalkTable = ({ talks, now, none }) => talks.length ? html`<div class="scroll-x" tabindex="0" role="region" aria-label="Who talks with whom, a table"><table class="table"><thead><tr><th scope="col">One</th><th scope="col">The other</th><th scope="col" class="r">Conversations</th></tr></thead>
  <tbody>${talks.slice(0, ROWS_MAX).map(({ a, b, count }) => html`<tr key=${a + b}><th scope="row"><${Mark} state=${now.get(a)?.state ?? 'gone'} /> <${Handle} handle=${a} /></th><td><${Handle} handle=${b} /></td><td class="r num"><a href=${href('conversations', '', { agent: a, q: b })}>${count}</a></td></tr>`)}</tbody></table></div><${Rest} count=${talks.length} />`
  : html`<p class="aside">${none}</p>`;
