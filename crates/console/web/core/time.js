// Formats times for people, with one clock for the whole page.
// Must not know: what the times belong to.

import { signal } from './preact.js';

/** How far the server's clock is ahead of the browser's, which may be wrong. */
let ahead = 0;
/** The time by the server's clock. */
export const now = () => Date.now() + ahead;
/** The current time, updated every second; the ages on the page depend on it. */
export const clock = signal(now());
export const runClock = () => setInterval(() => (clock.value = now()), 1000);

/** The server tells whole seconds, and the way takes time: less than this is no difference. */
const UNSURE_MS = 1_000;
/** Takes the server's time from a response. @param {string | null} told its `Date` @param {number} asked when the page sent the request */
export const learnTime = (told, asked) => {
  const measured = Date.parse(told ?? '') + 500 - (asked + Date.now()) / 2;
  if (!(Math.abs(measured - ahead) > UNSURE_MS)) return;
  ahead = Math.round(measured);
  clock.value = now();
};

/** @param {number | string | null | undefined} at */
export const moment = (at) => (typeof at === 'string' ? Date.parse(at) : (at ?? NaN));

/** A duration in its two largest units: `14 min`, `3 h 20 min`. @param {number} ms */
export const span = (ms) => {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min`;
  const hours = Math.floor(min / 60);
  if (hours < 48) return min % 60 && hours < 6 ? `${hours} h ${min % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return days < 60 ? `${days} d` : `${Math.floor(days / 30)} months`;
};

const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });

/** @param {number | string | null | undefined} at */
export const timeOfDay = (at) => (Number.isNaN(moment(at)) ? '' : hour.format(moment(at)));
/** @param {number | string | null | undefined} at */
export const date = (at) => (Number.isNaN(moment(at)) ? '' : day.format(moment(at)));
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
/** The date, the time and the zone, as people read them. @param {number | string | null | undefined} at */
export const inFull = (at) => (Number.isNaN(moment(at)) ? '' : whole.format(moment(at)));
/** A key of the local day. @param {number | string | null | undefined} at */
export const dayOf = (at) => new Date(moment(at)).toDateString();
/** @param {number | string | null | undefined} at */
export const isToday = (at) => dayOf(at) === dayOf(now());
/** The time, with the date unless it is today. @param {number | string | null | undefined} at */
export const timeOn = (at) => (Number.isNaN(moment(at)) || isToday(at) ? timeOfDay(at) : `${dayAndMonth.format(moment(at))} ${timeOfDay(at)}`);
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
/** The date and the time. @param {number | string | null | undefined} at */
export const dateAndTime = (at) => (Number.isNaN(moment(at)) ? '' : minute.format(moment(at)));
/** In UTC, for programs. @param {number | string | null | undefined} at */
export const exact = (at) => (Number.isNaN(moment(at)) ? '' : new Date(moment(at)).toISOString());
