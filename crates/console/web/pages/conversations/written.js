// A conversation as a file: JSON lines as the server sent them, or Markdown for people.
// Pure.
// Must not know: how the events are read.

import { plainly } from '../../parts/text.js';

/** One line for the session, and one for each event. @param {any} session @param {any[]} events */
export const jsonLines = (session, events) => [{ type: 'session', ...session }, ...events].map((one) => JSON.stringify(one) + '\n').join('');

/** @param {number} at */
const time = (at) => new Date(at).toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');

/** One line with escaped Markdown. @param {any} text */
const oneLine = (text) => plainly(text).replace(/\s+/g, ' ').replace(/([\\`*_[\]<>#|])/g, '\\$1');

/** Quotes each line, so that a message cannot imitate another one. @param {string} text */
const quoted = (text) => text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `> ${plainly(line)}`.trimEnd()).join('\n');

/** @param {any} content @returns {string} */
const said = (content) => {
  if (typeof content === 'string') return content;
  return (Array.isArray(content) ? content : [content]).map((part) => {
    if (part?.type === 'text') return part.text;
    if (part?.type === 'file' || part?.type === 'image') return `[${part.type}: ${part.name ?? part.file_id ?? part.url ?? ''}]`;
    return '```json\n' + JSON.stringify(part?.data ?? part, null, 2) + '\n```';
  }).join('\n\n');
};

/** @param {any} session @param {any[]} events */
export function markdown(session, events) {
  const head = [
    `# ${session.topic ? oneLine(session.topic) : 'A conversation without a topic'}`, '',
    `- Session: \`${session.id}\``, `- State: ${session.state}`, `- Begun: ${time(session.created_at)}`,
    ...(session.ended_at ? [`- Ended: ${time(session.ended_at)}`] : []),
    `- Participants: ${session.participants.map((/** @type {any} */ one) => `${one.handle} (${one.status})`).join(', ')}`, '',
  ];
  const body = events.flatMap((event) => {
    if (event.type === 'session.message') return [`## ${event.sequence}. ${oneLine(event.sender)}, ${time(event.created_at)}`, '', quoted(said(event.content ?? event.payload?.content)), ''];
    const payload = event.payload ?? event;
    const by = payload.ended_by ?? payload.reopened_by;
    const who = payload.invitee ?? payload.agent ?? (by && `by ${by}`);
    return [`*${event.sequence}. ${oneLine(String(event.type).replace('session.', '').replaceAll('_', ' '))}${who ? ` ${oneLine(who)}` : ''}, ${time(event.created_at)}*`, ''];
  });
  return [...head, ...body].join('\n');
}
