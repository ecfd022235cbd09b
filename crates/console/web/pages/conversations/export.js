// Saves a whole conversation as a file, as one of the person's agents may read it.
// Must not know: the format of the file.

import { html, useState } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { Dialog } from '../../parts/dialog.js';
import { save } from '../../parts/download.js';
import { Handle } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { jsonLines, markdown } from './written.js';

const PAGE = 200;
const EVENTS_MAX = 100_000;

/** @param {string} id @param {string} reader */
async function readEvents(id, reader) {
  const events = [];
  let more = true;
  while (more && events.length < EVENTS_MAX) {
    const page = await get(`/_admin/agents/${reader}/sessions/${encodeURIComponent(id)}/events${query({ after_sequence: events.at(-1)?.sequence ?? 0, limit: PAGE })}`);
    events.push(...page.events);
    more = Boolean(page.next_cursor) && page.events.length > 0;
  }
  return { events, cut: more };
}

/** @param {{session: import('./sessions.js').Known, reader: string, close: () => void}} props */
export function Export({ session, reader, close }) {
  const [busy, setBusy] = useState(false);
  const keep = async (/** @type {'jsonl' | 'md'} */ kind) => {
    setBusy(true);
    try {
      const { events, cut } = await readEvents(session.id, reader);
      const { seen_by: _seen, touched: _touched, last_event_at: _last, ...own } = session;
      save(new Blob([kind === 'md' ? markdown(own, events) : jsonLines(own, events)], { type: kind === 'md' ? 'text/markdown' : 'application/x-ndjson' }), `${session.topic ?? session.id}.${kind}`);
      say(cut ? `The first ${EVENTS_MAX.toLocaleString('en')} events are saved; there are more.` : `${events.length.toLocaleString('en')} ${events.length === 1 ? 'event is' : 'events are'} saved.`, { bad: cut });
      close();
    } catch (error) {
      sayFailure(error);
    }
    setBusy(false);
  };
  return html`<${Dialog} title="Save this conversation" close=${close}>
    <p>All of it that <${Handle} handle=${reader} /> may read.</p>
    <ul class="kinds"><li><button class="primary" disabled=${busy} onClick=${() => keep('md')}>Markdown</button><span>to read: who said what, and when</span></li>
      <li><button disabled=${busy} onClick=${() => keep('jsonl')}>JSON lines</button><span>for programs: each event as the server tells it</span></li></ul><//>`;
}
