// Messages that match a query in all conversations that the person may read, best first.
// Must not know: the list of conversations.

import { html, useEffect, useState } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { href } from '../../core/route.js';
import { Age } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';

const SHOWN = 5;

/** @param {{words: string, agent: string | undefined}} props */
export function Found({ words, agent }) {
  const [found, set] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const path = `/search${query({ q: words, room: 'sessions', limit: SHOWN })}`;
      const { hits } = await get(path, { as: agent, signal: stop.signal }).catch(() => ({ hits: [] }));
      if (!stop.signal.aborted) set(hits);
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [words, agent]);
  if (!found.length) return null;
  return html`<ul class="found" aria-label="Messages with these words">${found.map(({ id, reference, by, at, snippet }) => html`<li key=${id}><a href=${href('conversations', reference.session_id, { q: words, at: String(reference.sequence) })}>
    <span class="found-text"><${Text} text=${snippet.text} /></span>
    <span class="aside"><${Handle} handle=${by} plain /> <${Age} at=${Date.parse(at)} /></span></a></li>`)}</ul>`;
}
