// Small marks: states by shape and colour, delivery states, ages, deadlines.
// Must not know: pages.

import { html } from '../core/preact.js';
import { clock, exact, inFull, moment, span } from '../core/time.js';

const SHAPES = {
  working: html`<circle cx="6" cy="6" r="5" class="fill" />`,
  waiting: html`<circle cx="6" cy="6" r="4.25" class="ring" /><path d="M6 1.75a4.25 4.25 0 0 1 0 8.5z" class="fill" />`,
  idle: html`<circle cx="6" cy="6" r="4.25" class="ring" />`,
  gone: html`<path d="M2 6h8" class="ring" />`,
  done: html`<path d="M2 6.5 4.8 9.2 10 3.2" class="ring" />`,
  failed: html`<path d="M2.5 2.5l7 7m0-7l-7 7" class="ring" />`,
  queued: html`<path d="M2 6h1.5M5.25 6h1.5M8.5 6H10" class="ring" />`,
};

/** @type {Record<string, keyof typeof SHAPES>} */
const SHAPE_OF = {
  running: 'working', active: 'working', completed: 'done', error: 'failed', canceled: 'gone', ended: 'gone',
  open: 'waiting', answered: 'done', snoozed: 'idle', withdrawn: 'gone', expired: 'failed', awaiting_review: 'waiting',
  complete: 'done', revision_requested: 'failed', draft: 'idle', joined: 'working', invited: 'waiting', left: 'gone',
};

/** The mark of a state, with its name as text or as a label. @param {{state: string, label?: boolean}} props */
export const Mark = ({ state, label = false }) => {
  const shape = state in SHAPES ? /** @type {keyof typeof SHAPES} */ (state) : (SHAPE_OF[state] ?? 'idle');
  return html`<svg class=${`mark ${shape}`} viewBox="0 0 12 12" width="12" height="12" role=${label ? 'img' : null}
    aria-label=${label ? state : null} aria-hidden=${label ? null : 'true'}>${SHAPES[shape]}</svg>`;
};

/** The age of a time, by the page's clock. @param {{at: number | string | null | undefined, suffix?: string}} props */
export const Age = ({ at, suffix = '' }) => {
  const then = moment(at);
  if (Number.isNaN(then)) return null;
  return html`<time class="num" datetime=${exact(then)} title=${inFull(then)}>${span(clock.value - then)}${suffix}</time>`;
};

const LADDER = ['accepted', 'delivered', 'shown', 'in_context', 'answered'];
/** @type {Record<string, string>} */
export const STATE_WORDS = {
  accepted: 'accepted: it is on disk',
  delivered: 'delivered: the recipient’s program has it',
  shown: 'shown: handed to the coding agent',
  in_context: 'in context: a model has it',
  answered: 'answered',
  acknowledged: 'acknowledged',
  expired: 'expired: the recipient left before it could have it',
};

/**
 * The delivery state of a message for one recipient, in five steps.
 * @param {{state: string, who?: string, why?: string}} props
 */
export const Ladder = ({ state, who = '', why = '' }) => {
  const reached = state === 'acknowledged' ? 3 : LADDER.indexOf(state);
  const says = `${who ? who + ': ' : ''}${STATE_WORDS[state] ?? state}${why ? ` (${why.replaceAll('_', ' ')})` : ''}`;
  return html`<svg class=${`ladder ${state}`} viewBox="0 0 24 10" width="24" height="10" role="img" aria-label=${says}>
    <title>${says}</title>
    ${LADDER.map((_, n) => html`<rect x=${n * 5} y=${7 - n * 1.6} width="3.4" height=${3 + n * 1.6} class=${n <= reached ? 'on' : 'off'} />`)}
    ${state === 'expired' ? html`<path d="M1 9 22 1" class="struck" />` : null}
  </svg>`;
};

/** @type {Record<string, string>} */
const TIMEOUT_WORDS = { accept: 'then accepted', ignore: 'then ignored', decline: 'then declined', none: 'nothing happens then' };

/** The time left until a deadline. @param {{from: number, until: number | null | undefined, then: string}} props */
export const Deadline = ({ from, until, then }) => {
  if (!until) return null;
  const left = until - clock.value;
  const part = Math.max(0, Math.min(1, left / Math.max(1, until - from)));
  const near = left < 10 * 60_000;
  return html`<span class=${near ? 'deadline near' : 'deadline'} title=${inFull(until)}>
    <svg viewBox="0 0 48 4" width="48" height="4" preserveAspectRatio="none" aria-hidden="true"><rect width="48" height="4" class="off" /><rect width=${48 * part} height="4" class="on" /></svg>
    <span>${left > 0 ? `${span(left)} left` : 'past its time'}, ${TIMEOUT_WORDS[then] ?? then}</span>
  </span>`;
};
