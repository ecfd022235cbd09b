// The inbox: one list of all requests that wait for a person, and the form to answer one.
// Must not know: the source of a request.

import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { mayWrite } from '../../core/api.js';
import { useKeys } from '../../core/keys.js';
import { refine, route } from '../../core/route.js';
import { timeOn } from '../../core/time.js';
import { Guard } from '../../parts/guard.js';
import { List } from '../../parts/list.js';
import { Age, Deadline, Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { Detail } from './detail.js';
import { KINDS, askerOf, doneOf, thenOf } from './kinds.js';
import { decided, progress, readDecided, readOlder } from './decided.js';
import { allOpen, answerAll, failure, find, isMine, known, loading, openRequests, sending, snoozed } from './requests.js';
import { Rules } from './rules.js';

const STATES = [['open', 'Open'], ['snoozed', 'Snoozed'], ['answered', 'Decided'], ['rules', 'Rules']];

export function Page() {
  const { id, params } = route.value;
  const state = STATES.some(([name]) => name === params.state) ? params.state : 'open';
  const [picked, pick] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => {
    if (state === 'answered') readDecided();
  }, [state]);
  const everyone = { open: allOpen, snoozed, answered: decided }[state]?.value ?? [];
  const isAll = params.whose === 'all' || state === 'answered';
  const all = isAll ? everyone : everyone.filter(isMine);
  const words = (params.q ?? '').toLowerCase();
  const items = all.filter((one) =>
    (!params.kind || one.kind === params.kind) && (!params.agent || one.from === params.agent) &&
    (!words || `${one.title} ${one.from} ${JSON.stringify(one.detail ?? '')} ${JSON.stringify(one.action ?? '')}`.toLowerCase().includes(words)));
  // The selected request stays even if somebody else answers it, so that a key never affects another request.
  const pinned = useRef({ id: '', place: 0, state }).current;
  // Also the address may choose another list, in which the selected request is not.
  if (pinned.state !== state) Object.assign(pinned, { id: '', state });
  const wanted = id || pinned.id;
  const at = items.findIndex(({ request_id }) => request_id === wanted);
  const one = at >= 0 ? items[at] : wanted ? known.value.get(wanted) : items[0];
  pinned.id = one?.request_id ?? wanted;
  const missing = useMissing(wanted, one !== undefined);
  if (at >= 0) pinned.place = at;
  const advance = () => {
    const rest = items.filter(({ request_id }) => request_id !== one?.request_id);
    pinned.id = rest[Math.min(pinned.place, rest.length - 1)]?.request_id ?? '';
    refine({ id: id ? pinned.id : '' });
  };
  /** Clears the selection. @param {Record<string, string | undefined>} params */
  const leave = (params) => {
    pinned.id = '';
    refine({ id: '', params });
  };
  const toggle = (/** @type {string | undefined} */ which) => {
    if (!which) return;
    const next = new Set(picked);
    if (!next.delete(which)) next.add(which);
    pick(next);
  };
  const many = items.filter(({ request_id }) => picked.has(request_id));
  /** Only some of the picked requests may take the answer. @param {'accept' | 'ignore'} type @param {string} says */
  const label = (type, says) => {
    const count = many.filter(({ allow }) => allow[type]).length;
    return count === many.length ? `${says} all` : `${says} ${count} of ${many.length}`;
  };
  const takes = (/** @type {'accept' | 'ignore'} */ type) => mayWrite() && many.some(({ allow }) => allow[type]);
  const together = async (/** @type {'accept' | 'ignore'} */ type) => {
    pick(new Set());
    await answerAll(many, type);
  };
  const [trouble, reading] = state === 'answered' ? [progress.value.failure, progress.value.reading] : [failure.value, loading.value];
  const isOlder = state === 'answered' && Object.keys(progress.value.cursors).length > 0;
  useKeys('Inbox', [
    { keys: 'x', says: 'Pick for a batch', run: () => toggle(one?.request_id) },
    { keys: 'X', says: 'Pick all, or none', run: () => pick(picked.size ? new Set() : new Set(items.map(({ request_id }) => request_id))) },
  ]);
  return html`<div class=${id ? 'page split inbox open' : 'page split inbox'}>
    <h1 class="unseen">Inbox</h1>
    <section class="split-list" aria-label="Requests">
      <header class="page-head slim"><p class="title" aria-hidden="true">Inbox</p></header>
      <div class="segments" role="group" aria-label="State">
        ${STATES.map(([name, title]) => html`<button aria-pressed=${state === name ? 'true' : 'false'} onClick=${() => leave({ state: name === 'open' ? undefined : name })}>${title}${name === 'open' ? html` <span class="num">${openRequests.value.length}</span>` : name === 'snoozed' && snoozed.value.length ? html` <span class="num">${snoozed.value.length}</span>` : null}</button>`)}
      </div>
      ${state === 'rules' || state === 'answered' || (everyone.length === all.length && !isAll) ? null : html`<div class="segments" role="group" aria-label="Whose">
        ${[[undefined, 'Mine'], ['all', 'All']].map(([whose, title]) => html`<button aria-pressed=${params.whose === whose ? 'true' : 'false'} onClick=${() => leave({ whose })}>${title}</button>`)}</div>`}
      ${state === 'rules' ? null : html`<${Filters} params=${params} all=${all} />`}
      ${many.length ? html`<div class="batch" role="group" aria-label="Batch"><b class="num">${many.length}</b> picked
        <button class="primary" disabled=${!takes('accept')} onClick=${() => together('accept')}>${label('accept', 'Accept')}</button>
        <button disabled=${!takes('ignore')} onClick=${() => together('ignore')}>${label('ignore', 'Ignore')}</button>
        <button class="quiet" onClick=${() => pick(new Set())}>None</button></div>` : null}
      ${trouble ? html`<p class="trouble">The requests cannot be read: ${trouble.message}</p>` : null}
      ${state === 'rules' ? html`<${Rules} />` : html`<${List} items=${items} height=${76} label="Requests" keyOf=${(/** @type {any} */ item) => item.request_id} selected=${one?.request_id ?? ''}
        select=${(/** @type {string} */ key) => refine({ id: key })}
        empty=${trouble ? null : reading ? 'Looking …' : state === 'open' && !all.length ? html`Nothing waits for you. The questions of <code>plenary ask</code> arrive here, and the permissions that coding agents connected with <code>--approvals</code> need.` : all.length ? 'No request fits.' : 'None.'}
        row=${(/** @type {any} */ item) => html`<${Row} one=${item} picked=${picked.has(item.request_id)} toggle=${state === 'open' || state === 'snoozed' ? () => toggle(item.request_id) : undefined} />`} />`}
      ${isOlder ? html`<p class="list-more"><button disabled=${reading} onClick=${readOlder}>Older decisions</button>${items.length < all.length ? html` <span class="aside">Searched: the ${all.length.toLocaleString('en')} that are read.</span>` : null}</p>` : null}
    </section>
    <section class="split-detail" aria-label="The request">
      ${one && state !== 'rules' ? html`<${Guard} key=${one.request_id}><${Detail} one=${one} advance=${advance} /><//>` : html`${id ? html`<p class="back"><button class="quiet" onClick=${() => leave({})}>‹ All requests</button></p>` : null}
        <p class="quiet-note center" role="status">${state === 'rules' ? 'A rule answers a request of its kind at once, and says so.' : missing || (items.length ? 'Pick a request to see it whole.' : '')}</p>`}
    </section>
  </div>`;
}

/**
 * Reads a request that is not in the list, such as a decided one from a link. Returns why it is missing.
 * @param {string} id
 * @param {boolean} isKnown
 */
function useMissing(id, isKnown) {
  const [why, say] = useState('');
  const wanted = isKnown ? '' : id;
  useEffect(() => {
    let left = false;
    say(wanted ? 'Looking …' : '');
    if (wanted) find(wanted).then((found) => left || say(found));
    return () => void (left = true);
  }, [wanted, loading.value]);
  return why;
}

/** @param {{params: Record<string, string>, all: import('../../core/types.js').PersonRequest[]}} props */
function Filters({ params, all }) {
  const kinds = [...new Set(all.map(({ kind }) => kind))].sort();
  const agents = [...new Set(all.map(({ from }) => from))].sort();
  const value = (/** @type {any} */ event) => event.target.value || undefined;
  return html`<div class="filters">
    <input type="search" data-search placeholder="Search" aria-label="Search the requests" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: value(event) } })} />
    <select aria-label="Kind" value=${params.kind ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { kind: value(event) } })}>
      <option value="">All kinds</option>${kinds.map((kind) => html`<option value=${kind}>${KINDS[kind] ?? kind}</option>`)}</select>
    <select aria-label="Agent" value=${params.agent ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { agent: value(event) } })}>
      <option value="">All agents</option>${agents.map((agent) => html`<option value=${agent}>${agent}</option>`)}</select>
  </div>`;
}

/** @param {{one: import('../../core/types.js').PersonRequest, picked: boolean, toggle?: () => void}} props */
const Row = ({ one, picked, toggle }) => html`<div class=${picked ? 'request-row picked' : 'request-row'}>
  <p class="row-top">${toggle ? html`<span class="pick" title="Pick for a batch (x)" onClick=${(/** @type {Event} */ event) => { event.stopPropagation(); toggle(); }}></span>` : null}<span class="kind">${KINDS[one.kind] ?? one.kind}${picked ? html`<span class="unseen">, picked</span>` : null}</span><span class="aside"><${Age} at=${one.created_at} /></span></p>
  <p class="row-title"><${Text} text=${one.title} /></p>
  <p class="row-foot"><${Handle} handle=${askerOf(one)} plain />${one.to ? html`<span>Given to <${Handle} handle=${one.to} plain /></span>` : null} ${sending.value.has(one.request_id) ? html`<span class="aside">sending …</span>` : one.state === 'snoozed' && one.snoozed_until ? html`<span class="aside num">until ${timeOn(one.snoozed_until)}</span>` : one.state === 'open' || one.state === 'snoozed' ? html`<${Deadline} from=${one.created_at} until=${one.deadline_at} then=${thenOf(one)} />` : html`<span class="aside"><${Mark} state=${one.state} /> ${doneOf(one)}</span>`}</p>
</div>`;
