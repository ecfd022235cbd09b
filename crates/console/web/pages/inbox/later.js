// Snoozing and delegating a request.
// Must not know: the rest of the request.

import { html } from '../../core/preact.js';
import { me } from '../../core/api.js';
import { useOverview } from '../../core/overview.js';
import { now } from '../../core/time.js';
import { delegate, snooze } from './requests.js';

const HOUR = 3_600_000;
/** The server takes no time of the past. */
const WAKE_MS = 2_000;
const tomorrow = () => {
  const at = new Date(now());
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0);
  return at.getTime();
};

/** @param {{one: import('../../core/types.js').PersonRequest, may: boolean, advance: () => void}} props */
export function Later({ one, may, advance }) {
  const put = (/** @type {number} */ until) => snooze(one, until).then((done) => done && advance());
  const overview = useOverview();
  const people = (overview.data.value?.agents ?? []).filter((/** @type {any} */ agent) => agent.kind === 'person' && agent.handle !== me.value?.person);
  const pick = (/** @type {any} */ event) => {
    const choice = event.target.value;
    event.target.value = '';
    if (choice === 'now') snooze(one, now() + WAKE_MS, 'It is open again.');
    else if (choice === 'morning') put(tomorrow());
    else if (choice.startsWith('@')) delegate(one, choice).then((done) => done && advance());
    else if (choice) put(now() + Number(choice) * HOUR);
  };
  return html`<span class="later">
    <button id="later" hidden onClick=${() => put(now() + HOUR)}></button>
    <select aria-label="Later, or by somebody else" disabled=${!may} onChange=${pick}>
      <option value="">Later …</option>
      <optgroup label="Snooze">${one.state === 'snoozed' ? html`<option value="now">wake it now</option>` : null}<option value="1">for an hour (z)</option><option value="4">for four hours</option><option value="morning">until tomorrow at 9</option><option value="168">for a week</option></optgroup>
      ${people.length ? html`<optgroup label="Give to">${people.map((/** @type {any} */ person) => html`<option value=${person.handle}>${person.handle}</option>`)}</optgroup>` : null}
    </select>
  </span>`;
}
