// Audit: the writes of people that have entries, newest first.
// Must not know: how it is recorded.

import { html, useRef, useState } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { useResource } from '../../core/store.js';
import { exact, inFull } from '../../core/time.js';
import { csv } from '../../parts/csv.js';
import { save } from '../../parts/download.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';

const PAGE_MAX = 500;
const SAVED_MAX = 200_000;
const COLUMNS = ['at', 'person', 'session_id', 'as', 'operation', 'path', 'status'];

/** What makes an entry this one: it has no id. @param {any} one */
const keyOf = ({ at, person, session_id, as, operation, path }) => JSON.stringify([at, person, session_id, as, operation, path]);

export function Page() {
  const [, draw] = useState(0);
  const known = useRef({ entries: /** @type {Map<string, any>} */ (new Map()), cursor: /** @type {string | null | undefined} */ (null) }).current;
  const first = useResource('audit', () => get('/_admin/audit'), ({ room }) => ['accounts', 'sessions', 'requests'].includes(room), 2000);
  const newest = first.data.value;
  // On the first read, or if a page does not connect to the known entries, replace them.
  if (newest && !newest.entries.some((/** @type {any} */ one) => known.entries.has(keyOf(one)))) Object.assign(known, { entries: new Map(), cursor: newest.next_cursor });
  newest?.entries.forEach((/** @type {any} */ one) => known.entries.set(keyOf(one), one));
  const entries = [...known.entries.values()].sort((a, b) => b.at - a.at);
  const next = known.cursor;
  const read = async () => {
    try {
      const page = await get(`/_admin/audit${query({ cursor: next })}`);
      page.entries.forEach((/** @type {any} */ one) => known.entries.set(keyOf(one), one));
      known.cursor = page.next_cursor;
      draw((n) => n + 1);
    } catch (error) {
      sayFailure(error);
    }
  };
  const [busy, setBusy] = useState(false);
  /** Exports all entries, not only the visible ones. */
  const keep = async (/** @type {'jsonl' | 'csv'} */ kind) => {
    setBusy(true);
    try {
      /** @type {any[]} */
      const all = [];
      /** @type {string | null | undefined} */
      let from;
      do {
        const page = await get(`/_admin/audit${query({ cursor: from, limit: PAGE_MAX })}`);
        all.push(...page.entries);
        from = page.next_cursor;
      } while (from && all.length < SAVED_MAX);
      const text = kind === 'csv' ? csv(COLUMNS, all.map((one) => ({ ...one, at: exact(one.at) }))) : all.map((one) => JSON.stringify(one) + '\n').join('');
      save(new Blob([text], { type: kind === 'csv' ? 'text/csv' : 'application/x-ndjson' }), `plenary-audit.${kind}`);
      say(from ? `The newest ${all.length.toLocaleString('en')} entries are saved; there are older ones.` : `${all.length.toLocaleString('en')} ${all.length === 1 ? 'entry is' : 'entries are'} saved.`, { bad: Boolean(from) });
    } catch (error) {
      sayFailure(error);
    }
    setBusy(false);
  };
  return html`<div class="page"><header class="page-head"><div><h1>Audit</h1><p class="lead">What people did: writes in the name of an agent, decisions on requests, changes of agents and tokens.</p></div>
      <div class="acts"><button disabled=${!entries.length || busy} onClick=${() => keep('csv')}>Save as CSV</button><button disabled=${!entries.length || busy} onClick=${() => keep('jsonl')}>Save as JSON lines</button></div></header>
    <section class="panel" aria-label="Entries">
      ${first.error.value ? html`<p class="trouble">${first.error.value.message}</p>` : null}
      ${entries.length ? html`<div class="scroll-x" tabindex="0" role="region" aria-label="Entries, a table"><table class="table"><thead><tr><th scope="col">When</th><th scope="col">Person</th><th scope="col">As</th><th scope="col">What</th><th scope="col">Path</th><th scope="col" class="r">Status</th></tr></thead>
        <tbody>${entries.map((one) => html`<tr key=${keyOf(one)}><td class="num" title=${inFull(one.at)}><${Age} at=${one.at} suffix=" ago" /></td><th scope="row"><${Handle} handle=${one.person ?? 'operator'} /></th><td><${Handle} handle=${one.as} /></td><td><code><${Text} text=${one.operation} /></code></td><td><code class="aside"><${Text} text=${one.path} /></code></td><td class=${one.status >= 400 ? 'r num late' : 'r num'}>${one.status}</td></tr>`)}</tbody></table></div>` : html`<p class="quiet-note">${first.error.value ? null : first.data.value ? 'No entry yet.' : 'Looking …'}</p>`}
      ${next ? html`<p><button onClick=${read}>Older</button></p>` : null}
    </section></div>`;
}
