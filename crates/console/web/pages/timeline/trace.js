// The rows of the timeline that belong to one trace, and their mark.
// Must not know: the meaning of an event in its room.

import { html } from '../../core/preact.js';
import { refine } from '../../core/route.js';

/** @typedef {import('../../core/types.js').WatchEvent} WatchEvent */

/** The beginning of a trace id, enough to distinguish traces. @param {string} id */
export const shortTrace = (id) => id.slice(0, 8);

/**
 * The rows from the first to the last row of a trace, by their cursors.
 * @param {WatchEvent[]} rows
 * @param {string | undefined} trace
 * @returns {Map<string, string>} `first`, `last`, `in` (of the trace) or `past` (another row between)
 */
export const joinedBy = (rows, trace) => {
  /** @type {Map<string, string>} */
  const line = new Map();
  if (!trace) return line;
  const first = rows.findIndex(({ trace_id }) => trace_id === trace);
  const last = rows.findLastIndex(({ trace_id }) => trace_id === trace);
  if (first === last) return line;
  for (let n = first; n <= last; n++) {
    const of = rows[n].trace_id === trace;
    line.set(rows[n].cursor ?? '', n === first ? 'first' : n === last ? 'last' : of ? 'in' : 'past');
  }
  return line;
};

/**
 * A click filters by the trace. For the keyboard there is a link in the event's details.
 * @param {{id: string | undefined, line: string | undefined}} props
 */
export const TraceMark = ({ id, line }) => html`<span class=${`trace-mark ${line ?? ''}`}>${id ? html`<i title=${`Trace ${id}: show it alone`} onClick=${(/** @type {MouseEvent} */ event) => {
  event.stopPropagation();
  refine({ params: { trace: id } });
}}></i>` : null}</span>`;
