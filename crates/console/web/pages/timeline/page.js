// The timeline: the events of all rooms on one axis, by position or by time, and the raw form of one event.
// Must not know: the meaning of an event in its room.

import { html, useMemo, useRef, useState } from '../../core/preact.js';
import { useAgents } from '../../core/agents.js';
import { refine, route } from '../../core/route.js';
import { isToday, now, timeOn } from '../../core/time.js';
import { timeIn } from '../../core/when.js';
import { List } from '../../parts/list.js';
import { Handle, Text } from '../../parts/text.js';
import { frames } from '../../core/frames.js';
import { position, seekTime } from './events.js';
import { FRAMES_NOTE, Raw } from './raw.js';
import { useStretch } from './stretch.js';
import { LOG_ROOMS, ROOMS, Strip } from './strip.js';
import { TraceMark, joinedBy, shortTrace } from './trace.js';

/**
 * The filter of the address: the part that the server applies, and the whole.
 * @param {Record<string, string>} params
 * @returns {import('./stretch.js').Filter}
 */
const filterOf = ({ rooms, agent, session, q, trace }) => {
  const words = (q ?? '').toLowerCase();
  const wanted = session ? ['sessions'] : rooms ? rooms.split(',') : ROOMS;
  const logged = wanted.filter((room) => room !== 'frames');
  // No event of the log has the kind `frame`, so if only frames are wanted, this filter excludes the whole log.
  const inRooms = logged.length === 0 ? '&kinds=frame' : logged.length < LOG_ROOMS.length ? `&rooms=${logged.map(encodeURIComponent)}` : '';
  const only = inRooms + (agent ? `&agents=${encodeURIComponent(agent)}` : '') + (trace ? `&trace=${encodeURIComponent(trace)}` : '');
  return {
    only,
    isByWords: Boolean(words || session),
    key: [only, session, words, wanted.includes('frames')].join(),
    fits: (event) => wanted.includes(event.room) && (!agent || event.agents?.includes(agent)) && (!session || event.stream === session) && (!trace || event.trace_id === trace) &&
      (!words || `${event.kind} ${event.stream} ${event.agents} ${JSON.stringify(event.data)}`.toLowerCase().includes(words)),
  };
};

/**
 * Merges the frames into events of the log by time.
 * @param {import('../../core/types.js').WatchEvent[]} events
 * @param {import('./stretch.js').Held} held
 */
const withFrames = (events, { low, joined }) => {
  const [first, last] = [low > 0 && events.length ? events[0].at : 0, joined ? Infinity : events[events.length - 1]?.at ?? 0];
  const passed = frames.value.filter(({ at }) => at >= first && at <= last);
  const all = [];
  let n = 0;
  for (const event of events) {
    while (n < passed.length && passed[n].at < event.at) all.push(passed[n++]);
    all.push(event);
  }
  return [...all, ...passed.slice(n)];
};

export function Page() {
  const { params, id } = route.value;
  const agents = useAgents().data.value ?? [];
  const from = params.from ?? '';
  const filter = filterOf(params);
  // A position of the address that no row has: the log is read around it until the address changes.
  const sought = useRef('');
  const rows = useRef(/** @type {import('../../core/types.js').WatchEvent[]} */ ([]));
  if (!id) sought.current = '';
  else if (id !== sought.current && position(id) && !rows.current.some(({ cursor }) => cursor === id)) sought.current = id;
  const { held, reading, trouble, older, newer } = useStretch({ from, around: sought.current }, filter);
  const { events, low, joined } = held;
  rows.current = events;
  const rooms = params.rooms ? params.rooms.split(',') : ROOMS;
  const shown = useMemo(() => withFrames(events, held).filter(filter.fits).reverse(), [held, filter.key, frames.value]);
  const named = params.session && params.at ? shown.find((event) => String(event.data?.sequence) === params.at) : undefined;
  const one = id ? shown.find(({ cursor }) => cursor === id) : named ?? shown[0];
  const trace = params.trace || one?.trace_id;
  const line = useMemo(() => joinedBy(shown, trace), [shown, trace]);
  const value = (/** @type {any} */ event) => event.target.value || undefined;
  const turn = (/** @type {string} */ room) => {
    const next = rooms.includes(room) ? rooms.filter((other) => other !== room) : [...rooms, room];
    refine({ params: { rooms: next.length === ROOMS.length || next.length === 0 ? undefined : next.join(',') } });
  };
  return html`<div class=${id ? 'page timeline open' : 'page timeline'}>
    <header class="page-head slim"><h1>Timeline</h1><${Seek} from=${from} around=${sought.current} /></header>
    <div class="filters">
      <div class="segments rooms" role="group" aria-label="Rooms">${ROOMS.map((room) => html`<button aria-pressed=${rooms.includes(room) ? 'true' : 'false'} onClick=${() => turn(room)}><i class=${`swatch r-${room}`} aria-hidden="true"></i>${room}</button>`)}</div>
      <input type="search" data-search placeholder="Kind, stream, words" aria-label="Search the timeline" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: value(event) } })} />
      <select aria-label="Agent" value=${params.agent ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { agent: value(event) } })}><option value="">All agents</option>${agents.map(({ handle }) => html`<option value=${handle}>${handle}</option>`)}</select>
      ${params.session ? html`<button onClick=${() => refine({ params: { session: undefined, at: undefined } })}>Only one stream ×</button>` : null}
      ${params.trace ? html`<button class="only-trace" onClick=${() => refine({ params: { trace: undefined } })}>Only trace <code>${shortTrace(params.trace)}</code> ×</button>` : null}
      <span class="reach-back"><button disabled=${reading || low === 0} onClick=${older}>Older</button><button disabled=${reading || joined} onClick=${newer}>Newer</button>
        <span class="aside num" role="status">${reading ? 'Reading …' : `${low + 1} – ${joined ? 'now' : held.at}`}</span></span>
    </div>
    <${Strip} events=${shown} chosen=${one} choose=${(/** @type {string} */ cursor) => refine({ id: cursor })} />
    ${rooms.length === 1 && rooms[0] === 'frames' ? html`<p class="quiet-note">${FRAMES_NOTE}</p>` : null}
    ${trouble ? html`<p class="trouble">The timeline cannot be read: ${trouble}</p>` : null}
    <div class=${shown.length && !isToday(shown[shown.length - 1].at) ? 'timeline-body dated' : 'timeline-body'}>
      <${List} items=${shown} height=${34} label="Events, newest first" keyOf=${(/** @type {any} */ item) => item.cursor} selected=${one?.cursor ?? ''} select=${(/** @type {string} */ key) => refine({ id: key })}
        empty=${trouble ? null : reading ? 'Reading …' : low > 0 ? `No event fits from position ${low + 1} on. “Older” looks further back.` : 'No event fits.'} row=${(/** @type {any} */ item) => html`<${Row} event=${item} line=${line.get(item.cursor)} />`} />
      <section class="raw" aria-label="The event">${one ? html`<${Raw} key=${one.cursor} event=${one} />` : id && !reading ? html`<p class="quiet-note">${position(id) ? `No event at position ${id} fits, or you may not see it.` : 'This frame is not on the page: a frame is in no log, and the server keeps it for five minutes.'}</p>` : null}</section>
    </div>
  </div>`;
}

/** The form to go to a position or a time. @param {{from: string, around: string}} props */
function Seek({ from, around }) {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState('');
  // The input stays when events update the page, until the position changes.
  const [draft, setDraft] = useState({ from, text: from });
  const written = draft.from === from ? draft.text : from;
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const text = written.trim();
    setWrong('');
    if (!text || /^\d+$/.test(text)) return refine({ id: '', params: { from: text || undefined } });
    const at = timeIn(text, now());
    if (at === undefined) return setWrong('Write a position, 14:02, or 2026-11-22 14:02.');
    setBusy(true);
    const found = await seekTime(at, new AbortController().signal).catch(() => undefined);
    setBusy(false);
    if (found === undefined) return setWrong('That place could not be found. Try again.');
    return refine({ id: '', params: { from: String(found + 1) } });
  };
  return html`<form class="seek" onSubmit=${submit}><label for="seek">From</label><input id="seek" placeholder="position, 14:02, 2026-11-22" value=${written} onInput=${(/** @type {any} */ event) => setDraft({ from, text: event.target.value })} disabled=${busy} spellcheck=${false} autocomplete="off" aria-invalid=${wrong ? 'true' : 'false'} /><button disabled=${busy}>${busy ? 'Seeking …' : 'Seek'}</button> ${from || around ? html`<button type="button" class="quiet" onClick=${() => refine({ id: '', params: { from: undefined } })}>Newest</button>` : null}
    <p class="trouble" role="alert">${wrong}</p></form>`;
}

/** @param {{event: import('../../core/types.js').WatchEvent, line: string | undefined}} props */
const Row = ({ event, line }) => html`<div class="event-row">
  <span class="num aside">${position(event.cursor) || ''}</span><${TraceMark} id=${event.trace_id} line=${line} /><time class="num">${timeOn(event.at)}</time>
  <span class="event-kind"><i class=${`swatch r-${event.room}`} aria-hidden="true"></i><${Text} text=${event.kind} /></span>
  <span class="event-who"><${Handle} handle=${event.agents?.[0]} plain /></span>
  <span class="event-about"><${Text} text=${event.data?.title ?? event.data?.text ?? event.data?.topic ?? event.stream} /></span>
</div>`;
