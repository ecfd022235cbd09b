// The facts of a project as of any time, which a slider selects.
// Must not know: packages.

import { html, useMemo, useState } from '../../core/preact.js';
import { get, mayWrite, query, remove } from '../../core/api.js';
import { refine, route } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { clock, dateAndTime, exact, inFull } from '../../core/time.js';
import { Dialog } from '../../parts/dialog.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';

const PAGE = 100;
const KEPT_MAX = 5_000;

/** @param {any[]} facts @param {number} at */
const asOf = (facts, at) => facts.filter((fact) => Date.parse(fact.valid_from) <= at && (!fact.valid_to || Date.parse(fact.valid_to) > at));

/** @param {{project: string}} props */
export function Facts({ project }) {
  const { params } = route.value;
  const path = `/v1/projects/${encodeURIComponent(project)}/facts`;
  const read = async () => {
    const all = [];
    let cursor;
    do {
      const page = await get(`${path}${query({ include_ended: true, limit: PAGE, cursor })}`);
      all.push(...page.facts);
      cursor = page.next_cursor;
    } while (cursor && all.length < KEPT_MAX);
    return all;
  };
  const facts = useResource(`facts:${project}`, read, ({ room }) => room === 'context', 1000);
  const all = facts.data.value ?? [];
  const times = useMemo(() => [...new Set(all.flatMap(({ valid_from, valid_to }) => [valid_from, valid_to]).filter(Boolean).map(Date.parse))].sort((a, b) => a - b), [all]);
  const [now] = useState(Date.now);
  const first = times[0] ?? now - 1000;
  const at = params.as_of ? Number(params.as_of) : now;
  const words = (params.q ?? '').toLowerCase();
  const shown = asOf(all, params.as_of ? at : clock.peek()).filter((fact) => !words || `${fact.subject} ${fact.predicate} ${fact.value}`.toLowerCase().includes(words))
    .sort((a, b) => a.subject.localeCompare(b.subject) || a.predicate.localeCompare(b.predicate));
  const was = new Set(asOf(all, clock.peek()).map(({ fact_id }) => fact_id));
  const end = async (/** @type {any} */ fact) => {
    try {
      await remove(`${path}${query({ subject: fact.subject, predicate: fact.predicate, object: fact.value })}`);
      say(`${fact.subject} ${fact.predicate} has ended.`);
    } catch (error) {
      sayFailure(error);
    }
    facts.reload();
  };
  const move = (/** @type {any} */ event) => {
    const value = Number(event.target.value);
    refine({ params: { as_of: value >= now ? undefined : String(value) } });
  };
  return html`<div class="facts-page">
    <div class="as-of">
      <label for="as-of">As of <b class="num">${params.as_of ? dateAndTime(at) : 'now'}</b></label>
      <div class="slider"><input id="as-of" type="range" min=${first - 1000} max=${now} step="1000" value=${Math.min(at, now)} onInput=${move} aria-valuetext=${params.as_of ? dateAndTime(at) : 'now'} />
        <svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">${times.filter((time) => time <= now).map((time) => html`<rect x=${((time - first) / Math.max(1, now - first)) * 996} width="3" height="8" />`)}</svg></div>
      <input type="search" data-search placeholder="Search" aria-label="Search facts" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: event.target.value || undefined } })} />
    </div>
    ${facts.error.value ? html`<p class="trouble">The facts cannot be read: ${facts.error.value.message}</p>` : null}
    <div class="scroll-x" tabindex="0" role="region" aria-label="Facts, a table"><table class="table">
      <thead><tr><th scope="col">Subject</th><th scope="col">Predicate</th><th scope="col">Value</th><th scope="col" class="wide-only">Since</th><th scope="col" class="wide-only">By</th><th scope="col" class="wide-only r">Confidence</th><th scope="col" class="r">History</th><th scope="col"><span class="unseen">End it</span></th></tr></thead>
      <tbody>${shown.map((fact) => html`<${Row} key=${fact.fact_id} fact=${fact} stands=${was.has(fact.fact_id)} history=${all.filter((other) => other.subject === fact.subject && other.predicate === fact.predicate)} end=${() => end(fact)} />`)}</tbody>
    </table></div>
    ${facts.data.value && !shown.length ? html`<p class="quiet-note">${words ? 'No fact has these words.' : params.as_of ? 'No fact held then.' : 'No fact holds now.'}</p>` : null}
  </div>`;
}

/** The date, with the time of day. @param {{at: string}} props */
const When = ({ at }) => html`<time datetime=${exact(at)} title=${inFull(at)}>${dateAndTime(at)}</time>`;

/** @param {{fact: any, stands: boolean, history: any[], end: () => void}} props */
function Row({ fact, stands, history, end }) {
  const [open, setOpen] = useState(false);
  const [asking, ask] = useState(false);
  return html`<tr class=${stands ? '' : 'past'}>
      <th scope="row"><b><${Text} text=${fact.subject} /></b></th><td class="predicate"><${Text} text=${fact.predicate} /></td>
      <td class="value"><${Text} text=${fact.value} />${stands ? null : html` <span class="tag">no longer</span>`}</td>
      <td class="num wide-only"><${When} at=${fact.valid_from} /></td><td class="wide-only"><${Handle} handle=${fact.asserted_by?.id} plain /></td><td class="num r wide-only">${fact.confidence ?? html`<span class="nil">–</span>`}</td>
      <td class="r">${history.length > 1 ? html`<button class="quiet num" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>${history.length} values</button>` : html`<span class="nil">one</span>`}</td>
      <td class="r">${stands ? html`<button class="quiet" disabled=${!mayWrite()} onClick=${() => ask(true)}>End</button>` : null}
        ${asking ? html`<${Dialog} title="End the fact?" close=${() => ask(false)}><p><b><${Text} text=${fact.subject} /></b> <${Text} text=${fact.predicate} /> <b><${Text} text=${fact.value} /></b> no longer holds from now on. It stays in the history.</p>
          <div class="answer-bar"><button class="primary" onClick=${() => { ask(false); end(); }}>End it</button><button class="quiet" onClick=${() => ask(false)}>Cancel</button></div><//>` : null}</td></tr>
    ${open ? [...history].sort((a, b) => (a.valid_from < b.valid_from ? 1 : -1)).map((one) => html`<tr class="past" key=${one.fact_id + 'h'}><td></td><td></td><td><${Text} text=${one.value} /></td><td class="num" colspan="2">${dateAndTime(one.valid_from)} to ${one.valid_to ? dateAndTime(one.valid_to) : 'now'}</td><td colspan="3" class="wide-only"><${Handle} handle=${one.asserted_by?.id} plain /></td></tr>`) : null}`;
}
