// The timeline: one axis over all rooms, by position or by time; each event raw, and as a call.
// Must not know: what an event means to its room.

import { html, useEffect, useMemo, useState } from '../../core/preact.js';
import { useAgents } from '../../core/agents.js';
import { refine, route } from '../../core/route.js';
import { onEvent, onGap } from '../../core/store.js';
import { timeOfDay } from '../../core/time.js';
import { timeIn } from '../../core/when.js';
import { List } from '../../parts/list.js';
import { Handle, Text } from '../../parts/text.js';
import { position, readAfter, readNewest, seekTime } from './events.js';
import { Raw } from './raw.js';
import { ROOMS, Strip } from './strip.js';

const WANTED = 200;
const STRETCH = 800;
const KEPT_MAX = 20_000;

export function Page() {
  const { params, id } = route.value;
  const [events, set] = useState(/** @type {import('../../core/types.js').WatchEvent[]} */ ([]));
  const [reading, setReading] = useState(true);
  const [trouble, setTrouble] = useState('');
  const agents = useAgents().data.value ?? [];
  const from = params.from ?? '';
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      setReading(true);
      try {
        const got = from ? await readAfter(Math.max(0, Number(from) - 1), STRETCH, stop.signal) : await readNewest(WANTED, stop.signal);
        if (!stop.signal.aborted) set(got.events);
        setTrouble('');
      } catch (error) {
        if (!stop.signal.aborted) setTrouble(error instanceof Error ? error.message : String(error));
      }
      setReading(false);
    };
    read();
    const ends = [onGap(read), onEvent((event) => !from && set((was) => (was.some(({ cursor }) => cursor === event.cursor) ? was : [...was.slice(-KEPT_MAX), event])))];
    return () => {
      stop.abort();
      ends.forEach((end) => end());
    };
  }, [from]);
  const rooms = params.rooms ? params.rooms.split(',') : ROOMS;
  const words = (params.q ?? '').toLowerCase();
  const shown = useMemo(() => events.filter((event) => rooms.includes(event.room) &&
    (!params.agent || event.agents?.includes(params.agent)) && (!params.session || event.stream === params.session) &&
    (!words || `${event.kind} ${event.stream} ${event.agents} ${JSON.stringify(event.data)}`.toLowerCase().includes(words))).reverse(), [events, params.rooms, params.agent, params.session, words]);
  const named = params.session && params.at ? shown.find((event) => String(event.data?.sequence) === params.at) : undefined;
  const one = shown.find(({ cursor }) => cursor === id) ?? named ?? shown[0];
  const value = (/** @type {any} */ event) => event.target.value || undefined;
  const turn = (/** @type {string} */ room) => {
    const next = rooms.includes(room) ? rooms.filter((other) => other !== room) : [...rooms, room];
    refine({ params: { rooms: next.length === ROOMS.length || next.length === 0 ? undefined : next.join(',') } });
  };
  return html`<div class=${id ? 'page timeline open' : 'page timeline'}>
    <header class="page-head slim"><h1>Timeline</h1><${Seek} from=${from} /></header>
    <div class="filters">
      <div class="segments rooms" role="group" aria-label="Rooms">${ROOMS.map((room) => html`<button aria-pressed=${rooms.includes(room) ? 'true' : 'false'} onClick=${() => turn(room)}><i class=${`swatch r-${room}`} aria-hidden="true"></i>${room}</button>`)}</div>
      <input type="search" data-search placeholder="Kind, stream, words" aria-label="Search the timeline" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: value(event) } })} />
      <select aria-label="Agent" value=${params.agent ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { agent: value(event) } })}><option value="">All agents</option>${agents.map(({ handle }) => html`<option value=${handle}>${handle}</option>`)}</select>
      ${params.session ? html`<button onClick=${() => refine({ params: { session: undefined, at: undefined } })}>Only one stream ×</button>` : null}
    </div>
    <${Strip} events=${shown} chosen=${one} choose=${(/** @type {string} */ cursor) => refine({ id: cursor })} />
    ${trouble ? html`<p class="trouble">The timeline cannot be read: ${trouble}</p>` : null}
    <div class="timeline-body">
      <${List} items=${shown} height=${34} label="Events, newest first" keyOf=${(/** @type {any} */ item) => item.cursor} selected=${one?.cursor ?? ''} select=${(/** @type {string} */ key) => refine({ id: key })}
        empty=${reading ? 'Reading …' : 'No event fits.'} row=${(/** @type {any} */ item) => html`<${Row} event=${item} />`} />
      <section class="raw" aria-label="The event">${one ? html`<${Raw} key=${one.cursor} event=${one} />` : null}</section>
    </div>
  </div>`;
}

/** By position or by time. @param {{from: string}} props */
function Seek({ from }) {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState('');
  // What is being written stays while events come in, until the place changes.
  const [draft, setDraft] = useState({ from, text: from });
  const written = draft.from === from ? draft.text : from;
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const text = written.trim();
    setWrong('');
    if (!text || /^\d+$/.test(text)) return refine({ id: '', params: { from: text || undefined } });
    const at = timeIn(text, Date.now());
    if (at === undefined) return setWrong('Write a position, 14:02, or 2026-11-22 14:02.');
    setBusy(true);
    const found = await seekTime(at, new AbortController().signal).catch(() => undefined);
    setBusy(false);
    if (found === undefined) return setWrong('That place could not be found. Try again.');
    return refine({ id: '', params: { from: String(found + 1) } });
  };
  return html`<form class="seek" onSubmit=${submit}><label for="seek">From</label><input id="seek" placeholder="position, 14:02, 2026-11-22" value=${written} onInput=${(/** @type {any} */ event) => setDraft({ from, text: event.target.value })} disabled=${busy} spellcheck=${false} autocomplete="off" aria-invalid=${wrong ? 'true' : 'false'} /><button disabled=${busy}>${busy ? 'Seeking …' : 'Seek'}</button>${from ? html`<button type="button" class="quiet" onClick=${() => refine({ id: '', params: { from: undefined } })}>Newest</button>` : null}
    <p class="trouble" role="alert">${wrong}</p></form>`;
}

/** @param {{event: import('../../core/types.js').WatchEvent}} props */
const Row = ({ event }) => html`<div class="event-row">
  <span class="num aside">${position(event.cursor) || ''}</span><time class="num">${timeOfDay(event.at)}</time>
  <span class="event-kind"><i class=${`swatch r-${event.room}`} aria-hidden="true"></i><${Text} text=${event.kind} /></span>
  <${Handle} handle=${event.agents?.[0]} plain />
  <span class="event-about"><${Text} text=${event.data?.title ?? event.data?.topic ?? event.data?.text ?? event.stream} /></span>
</div>`;
