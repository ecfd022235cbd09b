// The command palette: finds pages, agents, conversations and requests in one list.
// Must not know: the content of a page.

import { html, useEffect, useState } from '../core/preact.js';
import { useAgents } from '../core/agents.js';
import { href } from '../core/route.js';
import { begin, sessions } from '../pages/conversations/sessions.js';
import { openRequests } from '../pages/inbox/requests.js';
import { PAGES } from '../pages/pages.js';
import { Dialog } from './dialog.js';
import { Text } from './text.js';

const SHOWN_MAX = 12;

/** @param {{close: () => void}} props */
export function Palette({ close }) {
  const [words, setWords] = useState('');
  const [place, setPlace] = useState(0);
  const agents = useAgents().data.value ?? [];
  useEffect(begin, []);
  const all = [
    ...PAGES.map(({ name, title }) => ({ what: 'page', title, to: href(name) })),
    ...openRequests.value.map((one) => ({ what: 'request', title: one.title, to: href('inbox', one.request_id) })),
    ...agents.map(({ handle }) => ({ what: 'agent', title: handle, to: href('agents', handle) })),
    ...sessions.value.filter(({ topic }) => topic).map((one) => ({ what: 'conversation', title: one.topic ?? '', to: href('conversations', one.id) })),
  ];
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter(({ what, title }) => parts.every((part) => `${what} ${title}`.toLowerCase().includes(part))).slice(0, SHOWN_MAX);
  const at = Math.min(place, found.length - 1);
  const leave = (/** @type {string} */ to) => {
    close();
    location.hash = to;
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      setPlace(Math.max(0, Math.min(found.length - 1, at + by)));
    } else if (event.key === 'Enter' && found[at]) leave(found[at].to);
  };
  return html`<${Dialog} title="Go to" close=${close}>
    <input class="palette" aria-label="Where to" role="combobox" aria-expanded="true" aria-controls="places" aria-activedescendant=${found[at] ? `place-${at}` : null} autofocus autocomplete="off" spellcheck=${false} placeholder="A page, an agent, a topic, a request" value=${words}
      onInput=${(/** @type {any} */ event) => { setWords(event.target.value); setPlace(0); }} onKeyDown=${press} />
    <ul id="places" role="listbox" aria-label="Places" class="places">${found.map(({ what, title, to }, n) => html`<li key=${to} id=${`place-${n}`} role="option" aria-selected=${n === at ? 'true' : 'false'} onClick=${() => leave(to)}><span><${Text} text=${title} /></span><span class="kind">${what}</span></li>`)}</ul>
    ${found.length ? null : html`<p class="quiet-note" role="status">Nothing has these words.</p>`}
  <//>`;
}
