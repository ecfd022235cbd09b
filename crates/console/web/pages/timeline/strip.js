// The strip above the table: a row for each room, a mark for each event, on one time axis.
// Must not know: the table.

import { html } from '../../core/preact.js';
import { timeOn } from '../../core/time.js';

/** The rooms of the log. */
export const LOG_ROOMS = ['sessions', 'runs', 'requests', 'context', 'channels', 'accounts'];
export const ROOMS = [...LOG_ROOMS, 'frames'];
const WIDTH = 1000;
const LANE = 15;
const MARKS_MAX = 1500;

/** @param {{events: import('../../core/types.js').WatchEvent[], chosen: import('../../core/types.js').WatchEvent | undefined, choose: (cursor: string) => void}} props */
export function Strip({ events, chosen, choose }) {
  if (events.length < 2) return null;
  const drawn = events.slice(0, MARKS_MAX);
  const last = drawn[0].at;
  const first = Math.min(drawn[drawn.length - 1].at, last - 1000);
  const x = (/** @type {number} */ at) => 4 + ((at - first) / (last - first)) * (WIDTH - 8);
  const height = ROOMS.length * LANE;
  const pick = (/** @type {MouseEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const at = first + ((event.clientX - box.left) / box.width) * (last - first);
    const lane = Math.floor(((event.clientY - box.top) / box.height) * ROOMS.length);
    const near = drawn.reduce((best, one) => {
      const far = Math.abs(one.at - at) + (one.room === ROOMS[lane] ? 0 : (last - first) / 4);
      return far < best.far ? { one, far } : best;
    }, { one: drawn[0], far: Infinity });
    if (near.one.cursor) choose(near.one.cursor);
  };
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => first + (last - first) * part);
  return html`<figure class="strip">
    <div class="strip-rows">
      <ul aria-hidden="true">${ROOMS.map((room) => html`<li>${room}</li>`)}</ul>
      <svg viewBox=${`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" role="img" aria-label=${`${events.length} events between ${timeOn(first)} and ${timeOn(last)}; the table below has them all`} onClick=${pick}>
        ${ROOMS.map((_, n) => html`<line x1="0" x2=${WIDTH} y1=${n * LANE + LANE / 2} y2=${n * LANE + LANE / 2} class="rule" />`)}
        ${drawn.map((event) => html`<rect key=${event.cursor} x=${x(event.at) - 1} y=${Math.max(0, ROOMS.indexOf(event.room)) * LANE + 3} width="2" height=${LANE - 6} class=${`m-${event.room}${/fail|error|expired/.test(event.kind + (event.data?.status ?? '')) ? ' bad' : ''}`} />`)}
        ${chosen ? html`<line x1=${x(chosen.at)} x2=${x(chosen.at)} y1="0" y2=${height} class="needle" />` : null}
      </svg>
    </div>
    <div class="strip-axis num" aria-hidden="true">${ticks.map((at) => html`<span>${timeOn(at)}</span>`)}</div>
  </figure>`;
}
