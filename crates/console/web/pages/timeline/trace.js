// Which rows of the timeline belong to one trace, and the mark that shows it.
// Must not know: what an event means to its room.

import { html } from '../../core/preact.js';
import { refine } from '../../core/route.js';

/** @typedef {import('../../core/types.js').WatchEvent} WatchEvent */

/** As much of an id as tells traces from each other at a glance. @param {string} id */
export const shortTrace = (id) => id.slice(0, 8);

/**
 * The rows that the line of a trace runs through, by their cursor: from the first row of the trace to the last one.
 * @param {WatchEvent[]} rows @param {string | undefined} trace @returns {Map<string, string>} `first`, `last`, `in` or `past` it
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

/** A click shows the trace alone; with the keyboard the link beside the event does. @param {{id: string | undefined, line: string | undefined}} props */
export const TraceMark = ({ id, line }) => html`<span class=${`trace-mark ${line ?? ''}`}>${id ? html`<i title=${`Trace ${id}: show it alone`} onClick=${(/** @type {MouseEvent} */ event) => {
  event.stopPropagation();
  refine({ params: { trace: id } });
}}></i>` : null}</span>`;
