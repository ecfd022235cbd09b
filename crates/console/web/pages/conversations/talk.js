// One conversation: its participants, its messages with their delivery states, and the form for a new one.
// Must not know: the list of conversations.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../core/preact.js';
import { ApiError, me, mayWrite, post } from '../../core/api.js';
import { useKeys } from '../../core/keys.js';
import { refine, route } from '../../core/route.js';
import { date, dayOf } from '../../core/time.js';
import { Mark } from '../../parts/marks.js';
import { Handle, Text, plainly } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Compose } from './compose.js';
import { Event } from './event.js';
import { Export } from './export.js';
import { useHeld } from './held.js';
import { refresh } from './sessions.js';
import { useSpeaker } from './speaker.js';
import { useTicks } from './ticks.js';

/** @param {{session: import('./sessions.js').Known, agents: import('../../core/types.js').Agent[]}} props */
export function Talk({ session, agents }) {
  const mine = useMemo(() => new Set(agents.map(({ handle }) => handle)), [agents]);
  const inside = session.participants.filter(({ handle }) => mine.has(handle));
  const joined = inside.filter(({ status }) => status === 'joined');
  const person = me.value?.person ?? undefined;
  const own = joined.map(({ handle }) => handle);
  const { as, choose } = useSpeaker(own, person);
  const reader = [...joined, ...inside][0]?.handle ?? session.seen_by[0];
  const at = Number(route.value.params.at ?? 0);
  // The events are read again only if the message of the address is not among them.
  const held = useRef(/** @type {any[]} */ ([]));
  const [around, readAround] = useState(at);
  if (at && at !== around && !held.current.some(({ sequence }) => sequence === at)) readAround(at);
  const { held: { events, begin, joined: isWhole }, trouble, earlier, later } = useHeld(session.id, reader, around);
  held.current = events;
  const ticks = useTicks(session.id, reader, events);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const near = useRef(true);
  // On a low screen the whole conversation scrolls, and not the messages alone.
  const scroller = () => {
    const node = box.current;
    return node && getComputedStyle(node).overflowY === 'visible' ? node.parentElement : node;
  };
  const scrolled = () => {
    const node = scroller();
    if (node) near.current = node.scrollHeight - node.scrollTop - node.clientHeight < 80;
  };
  const shownAt = useRef(0);
  const first = events[0]?.sequence ?? 0;
  // Earlier events are put above: what is in view stays there.
  const kept = useRef({ first: 0, top: 0 });
  const topOf = (/** @type {number} */ sequence) => box.current?.querySelector(`[data-sequence="${sequence}"]`)?.getBoundingClientRect().top ?? 0;
  const above = () => {
    near.current = false;
    kept.current = { first, top: topOf(first) };
    earlier();
  };
  useLayoutEffect(() => {
    const { first: was, top } = kept.current;
    const node = scroller();
    if (node && first < was) node.scrollTop += topOf(was) - top;
    kept.current = { first: 0, top: 0 };
  }, [first]);
  const newest = () => {
    near.current = true;
    readAround(0);
    refine({ params: { at: undefined } });
  };
  useEffect(() => {
    const node = scroller();
    const named = at ? node?.querySelector(`[data-sequence="${at}"]`) : null;
    if (named && shownAt.current !== at) {
      shownAt.current = at;
      near.current = false;
      named.scrollIntoView({ block: 'center' });
    } else if (node && near.current) node.scrollTop = node.scrollHeight;
  }, [events.length, at]);
  const [saving, setSaving] = useState(false);
  const over = session.state !== 'active';
  const act = async (/** @type {string} */ what, /** @type {any} */ body, /** @type {string} */ done, by = as) => {
    try {
      await post(`/sessions/${encodeURIComponent(session.id)}/${what}`, body, { as: by });
      say(done);
    } catch (error) {
      sayFailure(error);
    }
    await refresh(session.id, session.seen_by);
  };
  const invite = async (/** @type {string[]} */ handles) => {
    try {
      const none = (/** @type {any} */ error) => (error instanceof ApiError && error.status === 404 ? { invited: [] } : Promise.reject(error));
      const { invited } = await post(`/sessions/${encodeURIComponent(session.id)}/invite`, { invite: handles }, { as }).catch(none);
      const others = handles.filter((handle) => !invited.includes(handle));
      if (invited.length) say(`Invited ${invited.join(', ')} as ${as}.`);
      if (others.length) say(`Not invited: ${others.join(', ')}. Such an agent takes part already, does not exist, or does not admit ${as}; nobody can tell which.`, { bad: true });
    } catch (error) {
      sayFailure(error);
    }
    refresh(session.id, session.seen_by);
  };
  // Only those that took part at the end may open it again.
  const opener = as || inside[0]?.handle;
  useKeys('Conversation', [
    { keys: 'r', says: 'Write', run: () => document.getElementById('compose')?.focus() },
    { keys: 'Escape', says: 'Back to the list', run: () => refine({ id: '' }), hidden: true },
  ]);
  return html`<article class="talk" aria-labelledby="talk-title" onScroll=${scrolled}>
    <header class="talk-head">
      <p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All conversations</button></p>
      <div class="talk-title"><h2 id="talk-title" title=${plainly(session.topic ?? '')}>${session.topic ? html`<${Text} text=${session.topic} />` : 'Without a topic'}</h2>
        <div class="acts">
          <button disabled=${!reader} onClick=${() => setSaving(true)}>Save</button>
          ${over ? html`<button disabled=${!mayWrite()} onClick=${() => act('reopen', {}, `Open again, as ${opener}.`, opener)}>Reopen${opener === person ? '' : ` as ${opener}`}</button>` : html`<${Invite} invite=${invite} as=${as} disabled=${!mayWrite() || !joined.length} />
          <button disabled=${!mayWrite() || !joined.length} title=${`End it as ${as}`} onClick=${() => act('end', {}, `Ended as ${as}.`)}>End</button>`}
        </div></div>
      <${People} all=${session.participants} />
    </header>
    <div class="talk-scroll" ref=${box} tabindex="0" role="log" aria-label="Messages" onScroll=${scrolled}>
      ${trouble ? html`<p class="trouble">${trouble}</p>` : null}
      ${first > begin ? html`<p class="event-line">${(first - begin).toLocaleString('en')} earlier ${first - begin === 1 ? 'event is' : 'events are'} not shown. <button onClick=${above}>Earlier</button></p>` : null}
      ${events.flatMap((event, n) => [n && dayOf(event.created_at) === dayOf(events[n - 1].created_at) ? null : html`<p key=${`day ${event.sequence}`} class="event-line day">${date(event.created_at)}</p>`, html`<${Event} key=${event.sequence} event=${event} before=${events[n - 1]} ticks=${ticks[event.sequence]} mine=${mine} named=${event.sequence === at} session=${session.id} reader=${reader} />`])}
      ${first && !isWhole ? html`<p class="event-line">Later events are not shown. <button onClick=${later}>Later</button> <button onClick=${newest}>Newest</button></p>` : null}
      ${over ? html`<p class="event-line">This conversation has ended.</p>` : null}
    </div>
    ${saving && reader ? html`<${Export} session=${session} reader=${reader} close=${() => setSaving(false)} />` : null}
    ${over ? null : html`<${Compose} session=${session} sent=${() => isWhole || newest()} joined=${own} events=${events} as=${as} choose=${choose} invited=${inside.filter(({ status }) => status === 'invited').map(({ handle }) => handle)} person=${person} act=${act} />`}
  </article>`;
}

const FIRST = 6;
/** The participants: the first of many, and all on request. @param {{all: import('../../core/types.js').Participant[]}} props */
function People({ all }) {
  const [open, setOpen] = useState(false);
  const more = all.length - FIRST;
  return html`<ul class=${open || more < 2 ? 'people' : 'people few'} tabindex=${open ? 0 : null} aria-label="Participants">${all.map(({ handle, status }) => html`<li title=${status}><${Mark} state=${status} /><${Handle} handle=${handle} />${status === 'joined' ? null : html` <span class="aside">${status}</span>`}</li>`)}
    ${more < 2 ? null : html`<li class="more"><button class="quiet" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>${open ? 'Fewer' : `${more} more`}</button></li>`}</ul>`;
}

/** @param {{invite: (handles: string[]) => void, as: string, disabled: boolean}} props */
function Invite({ invite, as, disabled }) {
  const [open, setOpen] = useState(false);
  // The focus goes into the field, and back to the button: keys that are typed without a focus are those of the page.
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (open) field.current?.focus();
    else if (wasOpen.current) button.current?.focus();
    wasOpen.current = open;
  }, [open]);
  const send = (/** @type {any} */ event) => {
    event.preventDefault();
    const text = event.target.querySelector('input').value;
    const handles = text.split(/[\s,]+/).filter(Boolean);
    if (handles.length) invite(handles);
    setOpen(false);
  };
  if (!open) return html`<button ref=${button} disabled=${disabled} title=${`Invite as ${as}`} onClick=${() => setOpen(true)}>Invite</button>`;
  return html`<form class="invite" onSubmit=${send}><input ref=${field} aria-label="Whom to invite" placeholder="@owner.agent" list="known-handles" spellcheck=${false} /><button>Invite</button><button type="button" class="quiet" onClick=${() => setOpen(false)}>Cancel</button></form>`;
}
