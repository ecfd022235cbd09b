// One request in full: its sender, its content, what happens without an answer, and the answer.
// Must not know: the list of requests.

import { html, useEffect, useState } from '../../core/preact.js';
import { mayWrite } from '../../core/api.js';
import { forgetDrafts, keepDraft, useDraft } from '../../core/drafts.js';
import { useKeys } from '../../core/keys.js';
import { href, refine, route } from '../../core/route.js';
import { clock, exact, inFull, timeOn } from '../../core/time.js';
import { Command, Diff } from '../../parts/diff.js';
import { Markdown } from '../../parts/markdown.js';
import { Age, Deadline, Mark } from '../../parts/marks.js';
import { Arguments, Code, Handle, Json, Text } from '../../parts/text.js';
import { Asked, Fields } from './fields.js';
import { Edit, Respond } from './forms.js';
import { KINDS, NO_DEADLINE, TIMEOUT, doneOf, effectsOf, ignoring, parties, sendsUnseen, thenOf } from './kinds.js';
import { Later } from './later.js';
import { UNDO_S, answer, answersWait, sending, undo } from './requests.js';

/** @typedef {import('../../core/types.js').PersonRequest} PersonRequest */

/** The console page of the request's source. @param {NonNullable<PersonRequest['source']>} source */
const sourceHref = ({ room, id }) => {
  if (room === 'runs') return href('runs', id.split('/').pop());
  if (room === 'sessions') return href('conversations', id);
  if (room === 'context') return href('context', id.split(/[:/]/)[0], { package: id.split('/').pop() });
  if (room === 'accounts') return href('agents');
  return undefined;
};

/** @param {{one: PersonRequest, advance: () => void}} props */
export function Detail({ one, advance }) {
  // After a reply was refused, its form opens again, once.
  const [reopened, setReopened] = useDraft(`${one.request_id} form`, '');
  const [form, setForm] = useState(reopened);
  useEffect(() => void (reopened && setReopened('')), []);
  const [always, setAlways] = useState(false);
  const waits = one.state === 'open' || one.state === 'snoozed';
  const isSending = sending.value.has(one.request_id);
  const may = mayWrite() && waits && !isSending;
  // A run that needs a single value is answered as text, which gives the same value.
  const asks = one.kind === 'run_input';
  const allow = { ...one.allow, edit: one.allow.edit && !(asks && one.allow.respond && !one.form) };
  const rule = always && one.action ? { agent: one.from, tool: one.action.name, directory: one.directory, expires_in_days: 7 } : undefined;
  /**
   * Answers and advances to the next request; returns to this one if the answer was refused, unless the person writes elsewhere.
   * @param {Parameters<typeof answer>[1]} said
   */
  const give = (said) => {
    keepDraft(`${one.request_id} form`, form);
    answer(one, said, form !== '').then((taken) => {
      if (taken) return forgetDrafts(one.request_id);
      return route.value.page === 'inbox' && !document.activeElement?.matches('input, textarea, select') && refine({ id: one.request_id });
    });
    // The button that had the focus is gone: the focus goes on to the next request.
    const isWithin = document.activeElement?.closest('.answer');
    advance();
    if (isWithin) setTimeout(() => document.getElementById('request-title')?.focus());
  };
  const effects = effectsOf(one);
  const no = ignoring(one);
  const act = (/** @type {'accept' | 'ignore'} */ type) => () => may && form === '' && allow[type] && give({ type, rule: type === 'accept' ? rule : undefined });
  const show = (/** @type {'edit' | 'respond'} */ name) => () => may && allow[name] && setForm(name);
  useKeys('Request', [
    { keys: 'a', says: 'Accept', run: act('accept') },
    { keys: 'e', says: one.form ? 'Fill in' : asks ? 'Answer' : 'Edit, then accept', run: show('edit') },
    { keys: 'r', says: 'Respond in words', run: show('respond') },
    { keys: 'i', says: no, run: act('ignore') },
    { keys: 'z', says: 'Snooze for an hour', run: () => may && document.getElementById('later')?.click() },
    { keys: 'w', says: 'Always, for seven days', run: () => may && one.action && setAlways(!always) },
    { keys: 'Escape', says: 'Close the form', run: () => (form ? setForm('') : refine({ id: '' })), hidden: true },
  ]);
  // A question is answered in words first: to accept one says nothing.
  const inWords = one.kind === 'question' && allow.respond && !one.form;
  const respond = allow.respond ? html`<button class=${allow.accept && !inWords ? '' : 'primary'} disabled=${!may} onClick=${show('respond')}>Respond <kbd>r</kbd></button>` : null;
  return html`<article class="request" aria-labelledby="request-title">
    <div class="request-scroll" tabindex="0" role="region" aria-label="What is asked">
      <p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All requests</button></p>
      <p class="request-kind"><span class="kind">${KINDS[one.kind] ?? one.kind}</span> <${Age} at=${one.created_at} suffix=" ago" /> ${one.state === 'snoozed' && one.snoozed_until ? html`<span>snoozed until <time datetime=${exact(one.snoozed_until)} title=${inFull(one.snoozed_until)}>${timeOn(one.snoozed_until)}</time></span>` : null} ${waits ? html`<${Deadline} from=${one.created_at} until=${one.deadline_at} then=${thenOf(one)} />` : null}</p>
      <h2 id="request-title" tabindex="-1"><${Text} text=${one.title} /></h2>
      <${Facts} one=${one} />
      <${Preview} one=${one} />
      ${waits && effects ? html`<dl class="facts effects"><div><dt>Accept</dt><dd>${effects[0]}</dd></div><div><dt>${no}</dt><dd>${effects[1]}</dd></div></dl>` : null}
      ${waits ? null : html`<${Decided} one=${one} />`}
    </div>
    ${waits ? html`<footer class="answer">
      ${form === 'edit' && one.form ? html`<${Fields} schema=${one.form} draft=${`${one.request_id} fields`} close=${() => setForm('')} give=${(/** @type {any} */ args) => give({ type: 'edit', args })} />` : null}
      ${form === 'edit' && !one.form ? html`<${Edit} one=${one} close=${() => setForm('')} give=${(/** @type {any} */ args) => give({ type: 'edit', args, rule })} />` : null}
      ${form === 'respond' ? html`<${Respond} one=${one} close=${() => setForm('')} give=${(/** @type {string} */ text) => give({ type: 'respond', text })} />` : null}
      ${form === '' && one.choices?.length && allow.respond ? html`<div class="choices" role="group" aria-label="Choices">${one.choices.map((choice) => html`<button disabled=${!may} onClick=${() => give({ type: 'respond', text: choice })}><${Text} text=${choice} /></button>`)}</div>` : null}
      ${form === '' ? html`<div class="answer-bar">
        ${inWords ? respond : null}
        ${allow.accept ? html`<button class=${inWords ? '' : 'primary'} disabled=${!may} onClick=${act('accept')}>Accept <kbd>a</kbd></button>` : null}
        ${allow.edit ? html`<button class=${one.form ? 'primary' : ''} disabled=${!may} onClick=${show('edit')}>${one.form ? 'Fill in' : asks ? 'Answer' : 'Edit'} <kbd>e</kbd></button>` : null}
        ${inWords ? null : respond}
        ${allow.ignore ? html`<button disabled=${!may} onClick=${act('ignore')}>${no} <kbd>i</kbd></button>` : null}
        <${Later} one=${one} may=${may} advance=${advance} />
      </div>` : null}
      <p class="answer-note">
        <span role="status">${isSending ? 'Your answer is on its way to the server.' : one.deadline_at ? TIMEOUT[thenOf(one)] ?? '' : NO_DEADLINE}</span>
        ${one.action && allow.accept ? html`<label><input type="checkbox" checked=${always} disabled=${!may} onChange=${() => setAlways(!always)} /> Always accept <b><${Text} text=${one.action.name} /></b> of <${Handle} handle=${one.from} /> ${one.directory ? html`in <code><${Text} text=${one.directory} /></code>` : null} for 7 days</label>` : null}
        <label><input type="checkbox" checked=${answersWait.value} disabled=${!may} onChange=${() => (answersWait.value = !answersWait.value)} /> Wait ${UNDO_S} s before a single answer takes effect</label>
      </p>
    </footer>` : null}
  </article>`;
}

/** @param {{one: PersonRequest}} props */
const Facts = ({ one }) => html`<dl class="facts">
  ${parties(one).map(([label, name]) => html`<div><dt>${label}</dt><dd>${name === one.from ? html`<a href=${href('agents', name)}><${Handle} handle=${name} /></a>` : html`<${Handle} handle=${name} />`}</dd></div>`)}
  ${one.to ? html`<div><dt>Given to</dt><dd><${Handle} handle=${one.to} /></dd></div>` : null}
  ${one.action && one.kind !== 'run_input' ? html`<div><dt>Tool</dt><dd><code><${Text} text=${one.action.name} /></code></dd></div>` : null}
  ${one.directory ? html`<div><dt>In</dt><dd><code><${Text} text=${one.directory} /></code></dd></div>` : null}
  ${one.source ? html`<div><dt>From</dt><dd title=${one.source.id}><a href=${sourceHref(one.source)}>${one.source.room} <code><${Text} text=${one.source.id.split('/').pop()} /></code></a></dd></div>` : null}
</dl>`;

/** @param {{one: PersonRequest}} props */
// A permission's document is what a tool writes: Markdown would hide some of its characters.
function Preview({ one }) {
  const { detail = {}, action } = one;
  return html`
    ${detail.text ? html`<${Markdown} text=${detail.text} />` : null}
    ${detail.command ? html`<${Command} text=${detail.command} directory=${one.directory} />` : null}
    ${detail.diff ? html`<${Diff} text=${detail.diff} />` : null}
    ${!detail.document ? null : one.kind === 'permission' ? html`<${Code} text=${detail.document} label="The document" />` : html`<div class="document"><${Markdown} text=${detail.document} /></div>`}
    ${one.form ? html`<${Asked} schema=${one.form} />` : null}
    ${action?.args !== undefined && !one.form && !(one.kind === 'run_input' && detail.text) ? html`<details open=${sendsUnseen(one)}><summary>Arguments as they are sent</summary><${Arguments} value=${action.args} /></details>` : null}`;
}

/** What answered, if it is no person. @type {Record<string, string>} */
const BY = { deadline: ', because the deadline passed', link: ' by its link' };

/** @param {{one: PersonRequest}} props */
const Decided = ({ one }) => html`<div class="decided">
  <p><${Mark} state=${one.state} /> <b>${one.state}</b>${one.answer ? html`: ${doneOf(one)}` : null}${one.answer?.rule_id || one.answer?.rule || one.answer?.by === 'rule' ? ' by a rule' : BY[one.answer?.by] ?? (one.answer?.by ? html` by <${Handle} handle=${one.answer.person ?? one.answer.by} />` : null)}${one.answer?.at ? html` <${Age} at=${one.answer.at} suffix=" ago" />` : null}</p>
  ${one.answer?.text ? html`<${Markdown} text=${one.answer.text} />` : null}
  ${one.answer?.args ? html`<${Json} value=${one.answer.args} />` : null}
  ${one.answer?.undo_until > clock.value ? html`<button onClick=${() => undo(one.request_id)}>Undo</button>` : null}
</div>`;
