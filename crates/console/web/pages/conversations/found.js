// Messages that have the words, as one of the person's agents may read them.
// Must not know: the list of conversations.

import { html, useEffect, useState } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { href } from '../../core/route.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';

const SHOWN = 5;

/** @param {{words: string, agents: import('../../core/types.js').Agent[], agent: string | undefined}} props */
export function Found({ words, agents, agent }) {
  const [found, set] = useState(/** @type {any[]} */ ([]));
  const names = (agent ? [agent] : agents.map(({ handle }) => handle)).slice(0, 8);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const pages = await Promise.all(names.map((as) => get(`/search/messages${query({ q: words, limit: SHOWN })}`, { as, signal: stop.signal }).catch(() => ({ messages: [] }))));
      const all = new Map(pages.flatMap(({ messages }) => messages).map((message) => [`${message.session_id}/${message.sequence}`, message]));
      if (!stop.signal.aborted) set([...all.values()].sort((a, b) => b.created_at - a.created_at).slice(0, SHOWN));
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [words, names.join()]);
  if (!found.length) return null;
  return html`<ul class="found" aria-label="Messages with these words">${found.map((message) => html`<li><a href=${href('conversations', message.session_id, { q: words, at: String(message.sequence) })}>
    <span class="found-text"><${Text} text=${typeof message.content === 'string' ? message.content.slice(0, 200) : (message.snippet ?? '')} /></span>
    <span class="aside"><${Handle} handle=${message.sender} plain /> <${Age} at=${message.created_at} /></span></a></li>`)}</ul>`;
}
