// One event in raw form: its page, its members, and the calls that read it.
// Must not know: the other events.

import { html, useState } from '../../core/preact.js';
import { get, me } from '../../core/api.js';
import { href } from '../../core/route.js';
import { exact, inFull } from '../../core/time.js';
import { Copy } from '../../parts/dialog.js';
import { Handle, Json, Text } from '../../parts/text.js';
import { runOf } from '../runs/runs.js';
import { position } from './events.js';

/** @param {import('../../core/types.js').WatchEvent} event @returns {string | undefined} */
const pageOf = (event) => {
  const { room, stream, data } = event;
  if (room === 'sessions') return href('conversations', stream, data?.sequence ? { at: String(data.sequence) } : {});
  if (room === 'runs') return href('runs', runOf(event));
  if (room === 'requests') return href('inbox', stream);
  if (room === 'context') return href('context', data?.project_id ?? stream, data?.package_id ? { package: data.package_id } : {});
  if (room === 'channels') return href('channels', stream);
  if (room === 'accounts' && data?.handle) return href('agents', data.handle);
  return undefined;
};

/**
 * The path of the operation that returns the full event, if an owner may call it.
 * @param {import('../../core/types.js').WatchEvent} event
 * @returns {string | undefined}
 */
const pathOf = (event) => {
  const { room, stream, data, agents } = event;
  const mine = agents?.find((agent) => agent.startsWith(`@${me.value?.owner}.`)) ?? agents?.[0];
  if (room === 'sessions' && mine) return `/_admin/agents/${mine}/sessions/${stream}/events?after_sequence=${Math.max(0, (data?.sequence ?? 1) - 1)}&limit=1`;
  if (room === 'runs' && data?.agent) return `/agent/${encodeURIComponent(data.agent)}/get_events/${runOf(event)}?since=${Math.max(0, (data.event_id ?? 1) - 1)}`;
  if (room === 'requests') return `/requests/${stream}`;
  if (room === 'context' && data?.package_id) return `/v1/packages/${data.package_id}?project=${data.project_id ?? ''}`;
  if (room === 'accounts' && data?.handle) return `/_admin/agents/${data.handle}`;
  return undefined;
};

/** A text quoted as a shell word. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const BEARER = '-H "Authorization: Bearer $PLENARY_TOKEN"';

/**
 * The call for an event of the log. The stream does not end, so the call ends at the line of the event.
 * @param {import('../../core/types.js').WatchEvent} event
 */
const ofLog = ({ cursor, room }) => `curl -sN ${quoted(`${location.origin}/watch?after=${Math.max(0, position(cursor) - 1)}&rooms=${room}`)} ${BEARER} | grep -m 1 '"cursor":"${position(cursor)}"'`;

/**
 * The call for a frame that the server still keeps; the stream begins with those.
 * @param {import('../../core/types.js').WatchEvent} event
 */
const ofKept = ({ data }) => `curl -sN ${quoted(`${location.origin}/watch?frames=true&kinds=frame`)} ${BEARER} | grep -m 1 ${quoted(`"frame_id":${JSON.stringify(data.frame_id)}`)}`;

export const FRAMES_NOTE = 'Frames are in no log: the server keeps them for five minutes at most. The page shows those for and from your agents that came since then, and keeps them while it is open.';

/** @param {{title: string, call: string, children?: any}} props */
const Call = ({ title, call, children }) => html`<div class="call"><h3>${title}</h3><pre class="code" tabindex="0" aria-label=${title}><code>${call}</code></pre>
  <p class="acts"><${Copy} text=${call} />${children}</p></div>`;

/** @param {{event: import('../../core/types.js').WatchEvent}} props */
export function Raw({ event }) {
  const [whole, setWhole] = useState(/** @type {any} */ (undefined));
  const path = pathOf(event);
  const read = () => path && get(path).then(setWhole, (error) => setWhole({ error: error.message }));
  const page = pageOf(event);
  const isFrame = event.room === 'frames';
  return html`<h2><${Text} text=${event.kind} /></h2>
    <dl class="facts stack">
      ${isFrame ? null : html`<div><dt>Position</dt><dd class="num">${event.cursor}</dd></div>`}
      <div><dt>At</dt><dd class="num"><time title=${exact(event.at)}>${inFull(event.at)}</time></dd></div>
      <div><dt>Stream</dt><dd>${page ? html`<a href=${page}><code><${Text} text=${event.stream} /></code></a>` : html`<code><${Text} text=${event.stream} /></code>`}</dd></div>
      <div><dt>Agents</dt><dd class="people">${event.agents?.map((agent) => html`<${Handle} handle=${agent} />`)}</dd></div>
      ${event.trace_id ? html`<div><dt>Trace</dt><dd><a href=${href('timeline', event.cursor, { trace: event.trace_id })}><code>${event.trace_id}</code></a></dd></div>` : null}
    </dl>
    ${isFrame ? html`<p class="quiet-note">${FRAMES_NOTE}</p>` : null}
    <${Json} value=${event.data} />
    <${Call} title="The call that reads it" call=${isFrame ? ofKept(event) : ofLog(event)} />
    ${path ? html`<${Call} title="The call that reads the whole" call=${`curl -s ${quoted(location.origin + path)} ${BEARER}`}><button onClick=${read}>Read it here</button><//>` : null}
    ${whole ? html`<${Json} value=${whole} />` : null}`;
}
