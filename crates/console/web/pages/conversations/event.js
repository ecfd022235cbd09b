// One event of a conversation: a message with its delivery ticks, or a line about a change of participants.
// Must not know: the other events.

import { html, useState } from '../../core/preact.js';
import { href } from '../../core/route.js';
import { exact, inFull, timeOfDay } from '../../core/time.js';
import { download } from '../../parts/download.js';
import { Markdown } from '../../parts/markdown.js';
import { Ladder, STATE_WORDS } from '../../parts/marks.js';
import { Handle, Json, Text } from '../../parts/text.js';

const RUN_MS = 5 * 60_000;

/** @param {{event: any, before: any, ticks: any, mine: Set<string>, named: boolean, session: string, reader: string | undefined}} props */
export function Event({ event, before, ticks, mine, named, session, reader }) {
  const [open, setOpen] = useState(false);
  if (event.type !== 'session.message') return html`<p class="event-line" data-sequence=${event.sequence}><${What} event=${event} /> <time datetime=${exact(event.created_at)} title=${inFull(event.created_at)}>${timeOfDay(event.created_at)}</time></p>`;
  const runOn = before?.type === 'session.message' && before.sender === event.sender && event.created_at - before.created_at < RUN_MS;
  return html`<div class=${`message${runOn ? ' run-on' : ''}${named ? ' named' : ''}`} data-sequence=${event.sequence}>
    <p class="message-head">
      ${runOn ? null : html`<a href=${href('agents', event.sender)}><${Handle} handle=${event.sender} /></a>${mine.has(event.sender) ? null : html`<span class="foreign">another owner</span>`}`}
      <span class="message-foot">
        ${ticks ? html`<button class="quiet ticks" aria-expanded=${open ? 'true' : 'false'} aria-label=${`${ticks.recipients.length > 5 ? `+${ticks.recipients.length - 5} ` : ''}How far this message came`} onClick=${() => setOpen(!open)}>${ticks.recipients.slice(0, 5).map((/** @type {any} */ one) => html`<${Ladder} state=${one.state} who=${one.agent} why=${one.waiting?.reason} />`)}${ticks.recipients.length > 5 ? ` +${ticks.recipients.length - 5}` : null}</button>` : null}
        <time class="num" datetime=${exact(event.created_at)} title=${inFull(event.created_at)}>${timeOfDay(event.created_at)}</time>
        <a class="seq num" href=${href('timeline', '', { session, at: String(event.sequence) })} title="In the timeline">${event.sequence}</a>
      </span>
    </p>
    <${Content} content=${event.content ?? event.payload?.content} reader=${reader} />
    ${open && ticks ? html`<table class="table receipts"><tbody>${ticks.recipients.map((/** @type {any} */ one) => html`<tr><th scope="row"><${Handle} handle=${one.agent} /></th><td><${Ladder} state=${one.state} /> ${STATE_WORDS[one.state] ?? one.state}</td><td class="aside">${one.waiting ? `waits: ${String(one.waiting.reason).replaceAll('_', ' ')}` : one.at ? timeOfDay(one.at) : ''}</td></tr>`)}</tbody></table>` : null}
  </div>`;
}

/** @param {{content: any, reader: string | undefined}} props */
const Content = ({ content, reader }) => {
  if (typeof content === 'string') return html`<${Markdown} text=${content} />`;
  return (Array.isArray(content) ? content : [content]).map((part) => {
    if (part?.type === 'text') return html`<${Markdown} text=${part.text} />`;
    if (part?.type === 'file' || part?.type === 'image') return html`<${File} part=${part} reader=${reader} />`;
    return html`<${Json} value=${part?.data ?? part} />`;
  });
};

/** Shows the name of a file. It is fetched only on request. @param {{part: any, reader: string | undefined}} props */
const File = ({ part, reader }) => html`<p class="file"><b><${Text} text=${part.name ?? part.file_id ?? part.type} /></b>
  <span class="aside">${part.mime_type ? html`<${Text} text=${part.mime_type} />` : null} ${part.size ? `${part.size.toLocaleString('en')} bytes` : ''} ${part.url ? html`at <${Text} text=${part.url} />` : ''}</span>
  ${part.file_id ? html`<button onClick=${() => download(`/files/${encodeURIComponent(part.file_id)}`, part.name ?? part.file_id, reader)}>Save</button>` : null}</p>`;

/** @param {{event: any}} props */
function What({ event }) {
  const payload = event.payload ?? event;
  const agent = payload.agent ?? payload.invitee;
  const by = payload.ended_by ?? payload.reopened_by;
  switch (event.type) {
    case 'session.invited': return html`<${Handle} handle=${payload.invitee} /> was invited by <${Handle} handle=${payload.by ?? payload.invited_by} />`;
    case 'session.joined': return html`<${Handle} handle=${agent} /> joined`;
    case 'session.left': return html`<${Handle} handle=${agent} /> left`;
    case 'session.ended': return html`ended${by ? html` by <${Handle} handle=${by} />` : ''}`;
    case 'session.reopened': return html`opened again${by ? html` by <${Handle} handle=${by} />` : ''}`;
    default: return html`<${Text} text=${String(event.type).replace('session.', '').replaceAll('_', ' ')} /> ${agent ? html`<${Handle} handle=${agent} />` : null}`;
  }
}
