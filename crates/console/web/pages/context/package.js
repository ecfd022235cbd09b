// One package: its content, its hash (verified here), its reviews, and the next package.
// Must not know: the list of packages.

import { html, useEffect, useState } from '../../core/preact.js';
import { get, mayWrite, post, query } from '../../core/api.js';
import { useDraft } from '../../core/drafts.js';
import { refine } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { Markdown } from '../../parts/markdown.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle, Json, Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Compare } from './compare.js';
import { hashOf } from './hash.js';

/** @param {{project: string, id: string}} props */
export function Package({ project, id }) {
  const path = `/v1/packages/${encodeURIComponent(id)}`;
  const whole = useResource(`package:${project}:${id}`, () => get(`${path}${query({ project })}`), ({ room, data }) => room === 'context' && (!data?.package_id || data.package_id === id));
  const reviews = useResource(`reviews:${project}:${id}`, () => get(`${path}/reviews${query({ project })}`), ({ room }) => room === 'context');
  const one = whole.data.value;
  if (!one) return html`<p class="quiet-note">${whole.error.value ? whole.error.value.message : 'Looking …'}</p>`;
  const lists = [['Decisions', one.decisions_made], ['Open questions', one.open_questions]];
  return html`<article class="package detail-scroll" tabindex="0" aria-labelledby="package-title">
    <p class="back"><button class="quiet" onClick=${() => refine({ params: { package: undefined, with: undefined } })}>‹ All packages</button></p>
    <p class="request-kind"><span class="kind"><${Text} text=${String(one.package_type).replaceAll('_', ' ')} /></span><span><${Mark} state=${one.status} /> ${String(one.status).replaceAll('_', ' ')}</span><span>by <${Handle} handle=${one.created_by?.id} /></span><${Age} at=${one.created_at} suffix=" ago" /></p>
    <h2 id="package-title"><${Text} text=${one.title} /></h2>
    <${Hash} one=${one} />
    ${one.description ? html`<${Markdown} text=${one.description} />` : null}
    ${lists.map(([title, items]) => Array.isArray(items) && items.length ? html`<section class="block"><h3>${title}</h3><ul class="said plain">${items.map((/** @type {any} */ item) => html`<li><${Text} text=${item} /></li>`)}</ul></section>` : null)}
    ${one.handoff_note ? html`<section class="block"><h3>For ${one.estimated_next_actor ? `the next ${one.estimated_next_actor}` : 'whoever is next'}</h3><${Markdown} text=${one.handoff_note} /></section>` : null}
    ${one.tags?.length ? html`<ul class="chips tags">${one.tags.map((/** @type {any} */ tag) => html`<li><${Text} text=${tag} /></li>`)}</ul>` : null}
    ${one.parent_package_id ? html`<p class="continues">Continues <button class="quiet" onClick=${() => refine({ params: { package: one.parent_package_id, with: undefined } })}><code><${Text} text=${one.parent_package_id} /></code></button></p>` : null}
    <${Reviews} one=${one} path=${path} project=${project} reviews=${reviews.data.value?.reviews ?? []} done=${() => { whole.reload(); reviews.reload(); }} />
    <${Compare} project=${project} one=${one} />
    <details><summary>As it is stored</summary><${Json} value=${one} /></details>
  </article>`;
}

/** @param {{one: any}} props */
function Hash({ one }) {
  const [found, set] = useState(/** @type {string | undefined | null} */ (null));
  useEffect(() => {
    hashOf(one).then(set, () => set(undefined));
  }, [one]);
  const state = found === null ? 'queued' : found === undefined ? 'idle' : found === one.content_hash ? 'done' : 'failed';
  const words = { queued: 'computing', idle: 'this browser verifies only over TLS or on the server’s machine', done: 'verified here', failed: `does not match: ${found}` }[state];
  return html`<p class=${`hash ${state}`}><${Mark} state=${state} /> <b>${words}</b> <code><${Text} text=${one.content_hash} /></code></p>`;
}

/** @param {{one: any, path: string, project: string, reviews: any[], done: () => void}} props */
function Reviews({ one, path, project, reviews, done }) {
  const [note, setNote] = useDraft(`${path} note`, '');
  const give = async (/** @type {string} */ status) => {
    try {
      await post(`${path}/review${query({ project })}`, { status, ...(note.trim() ? { note: note.trim() } : {}) });
      say(status === 'complete' ? 'Approved.' : 'Sent back.');
      setNote('');
    } catch (error) {
      sayFailure(error);
    }
    done();
  };
  const waits = one.status === 'awaiting_review';
  if (!waits && reviews.length < 2) return null;
  return html`<section class="block"><h3>Reviews</h3>
    <ol class="trail">${reviews.map((step) => html`<li><${Mark} state=${step.status} /> <b>${String(step.action)}</b> ${String(step.status).replaceAll('_', ' ')} by <${Handle} handle=${step.by} /> <span class="aside"><${Age} at=${step.at} suffix=" ago" /></span>${step.note ? html`<${Markdown} text=${step.note} />` : null}</li>`)}</ol>
    ${waits ? html`<div class="form"><label>Note <textarea rows="2" value=${note} onInput=${(/** @type {any} */ event) => setNote(event.target.value)}></textarea></label>
      <div class="answer-bar"><button class="primary" disabled=${!mayWrite()} onClick=${() => give('complete')}>Approve</button><button disabled=${!mayWrite()} onClick=${() => give('revision_requested')}>Ask for a revision</button></div></div>` : null}
  </section>`;
}
