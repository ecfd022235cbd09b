// One conversation: its participants, its messages with their delivery states, and the form for a new one.
// Must not know: the list of conversations.

import { html, useEffect, useMemo, useRef, useState } from '../../core/preact.js';
import { get, me, mayWrite, post, query } from '../../core/api.js';
import { useKeys } from '../../core/keys.js';
import { refine, route } from '../../core/route.js';
import { following, onEvent, onGap } from '../../core/store.js';
import { Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Compose } from './compose.js';
import { Event } from './event.js';
import { Export } from './export.js';
import { refresh } from './sessions.js';
import { useTicks } from './ticks.js';

const PAGE = 200;
const SHOWN_MAX = 3_000;

/**
 * The events of the session that the agent may read, from the beginning, and new ones.
 * @param {string} id
 * @param {string | undefined} agent
 */
function useEvents(id, agent) {
  const [events, set] = useState(/** @type {any[]} */ ([]));
  const [trouble, setTrouble] = useState('');
  const state = useRef({ last: 0, reading: false, again: false }).current;
  useEffect(() => {
    if (!agent) return undefined;
    let ended = false;
    const read = async () => {
      if (state.reading) return void (state.again = true);
      state.reading = true;
      await following();
      try {
        for (;;) {
          const page = await get(`/_admin/agents/${agent}/sessions/${encodeURIComponent(id)}/events${query({ after_sequence: state.last, limit: PAGE })}`);
          if (ended) return;
          if (page.events.length) {
            state.last = page.events.at(-1).sequence;
            set((was) => [...was, ...page.events].slice(-SHOWN_MAX));
          }
          if (!page.next_cursor || page.events.length === 0) break;
        }
        setTrouble('');
      } catch (error) {
        setTrouble(error instanceof Error ? error.message : String(error));
      } finally {
        state.reading = false;
      }
      if (state.again && !ended) {
        state.again = false;
        read();
      }
    };
    read();
    const ends = [onEvent((event) => event.room === 'sessions' && event.stream === id && read()), onGap(read)];
    return () => {
      ended = true;
      ends.forEach((end) => end());
    };
  }, [id, agent]);
  return { events, trouble };
}

/** @param {{session: import('./sessions.js').Known, agents: import('../../core/types.js').Agent[]}} props */
export function Talk({ session, agents }) {
  const mine = useMemo(() => new Set(agents.map(({ handle }) => handle)), [agents]);
  const inside = session.participants.filter(({ handle }) => mine.has(handle));
  const joined = inside.filter(({ status }) => status === 'joined');
  const reader = [...joined, ...inside][0]?.handle ?? session.seen_by[0];
  const { events, trouble } = useEvents(session.id, reader);
  const ticks = useTicks(session.id, reader, events);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const near = useRef(true);
  const at = Number(route.value.params.at ?? 0);
  useEffect(() => {
    const node = box.current;
    const named = at ? node?.querySelector(`[data-sequence="${at}"]`) : null;
    if (named) named.scrollIntoView({ block: 'center' });
    else if (node && near.current) node.scrollTop = node.scrollHeight;
  }, [events.length, at]);
  const [saving, setSaving] = useState(false);
  const over = session.state !== 'active';
  const act = async (/** @type {string} */ what, /** @type {any} */ body, /** @type {string} */ done, /** @type {string | undefined} */ as = joined[0]?.handle) => {
    try {
      await post(`/sessions/${encodeURIComponent(session.id)}/${what}`, body, { as });
      say(done);
    } catch (error) {
      sayFailure(error);
    }
    refresh(session.id, session.seen_by);
  };
  useKeys('Conversation', [
    { keys: 'r', says: 'Write', run: () => document.getElementById('compose')?.focus() },
    { keys: 'Escape', says: 'Back to the list', run: () => refine({ id: '' }), hidden: true },
  ]);
  return html`<article class="talk" aria-labelledby="talk-title">
    <header class="talk-head">
      <p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All conversations</button></p>
      <div class="talk-title"><h2 id="talk-title">${session.topic ? html`<${Text} text=${session.topic} />` : 'Without a topic'}</h2>
        <div class="acts">
          <button disabled=${!reader} onClick=${() => setSaving(true)}>Save</button>
          ${over ? html`<button disabled=${!mayWrite()} onClick=${() => act('reopen', {}, 'Open again.', inside[0]?.handle)}>Reopen</button>` : html`<${Invite} invite=${(/** @type {string[]} */ invite) => act('invite', { invite }, `Invited ${invite.join(', ')}.`)} disabled=${!mayWrite() || !joined.length} />
          <button disabled=${!mayWrite() || !joined.length} onClick=${() => act('end', {}, 'Ended.')}>End</button>`}
        </div></div>
      <ul class="people">${session.participants.map(({ handle, status }) => html`<li title=${status}><${Mark} state=${status} /><${Handle} handle=${handle} />${status === 'joined' ? null : html` <span class="aside">${status}</span>`}</li>`)}</ul>
    </header>
    <div class="talk-scroll" ref=${box} tabindex="0" role="log" aria-label="Messages" onScroll=${() => { const node = box.current; if (node) near.current = node.scrollHeight - node.scrollTop - node.clientHeight < 80; }}>
      ${trouble ? html`<p class="trouble">${trouble}</p>` : null}
      ${events.map((event, n) => html`<${Event} key=${event.sequence} event=${event} before=${events[n - 1]} ticks=${ticks[event.sequence]} mine=${mine} named=${event.sequence === at} session=${session.id} reader=${reader} />`)}
      ${over ? html`<p class="event-line">This conversation has ended.</p>` : null}
    </div>
    ${saving && reader ? html`<${Export} session=${session} reader=${reader} close=${() => setSaving(false)} />` : null}
    ${over ? null : html`<${Compose} session=${session} joined=${joined.map(({ handle }) => handle)} invited=${inside.filter(({ status }) => status === 'invited').map(({ handle }) => handle)} person=${me.value?.person ?? undefined} act=${act} />`}
  </article>`;
}

/** @param {{invite: (handles: string[]) => void, disabled: boolean}} props */
function Invite({ invite, disabled }) {
  const [open, setOpen] = useState(false);
  const send = (/** @type {any} */ event) => {
    event.preventDefault();
    const text = event.target.querySelector('input').value;
    const handles = text.split(/[\s,]+/).filter(Boolean);
    if (handles.length) invite(handles);
    setOpen(false);
  };
  if (!open) return html`<button disabled=${disabled} onClick=${() => setOpen(true)}>Invite</button>`;
  return html`<form class="invite" onSubmit=${send}><input aria-label="Whom to invite" placeholder="@owner.agent" list="known-handles" autofocus spellcheck=${false} /><button>Invite</button><button type="button" class="quiet" onClick=${() => setOpen(false)}>Leave</button></form>`;
}
