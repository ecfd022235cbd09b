// The requests that wait for a person, the most urgent first, with answers in place.
// Must not know: the rest of the page.

import { html } from '../../core/preact.js';
import { mayWrite } from '../../core/api.js';
import { href } from '../../core/route.js';
import { Age, Deadline } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { answer, failure, loading, sending } from '../inbox/requests.js';
import { KINDS, askerOf, gist, ignoring, thenOf } from '../inbox/kinds.js';

const SHOWN_MAX = 8;

/** @param {{open: import('../../core/types.js').PersonRequest[], chosen: string, choose: (id: string) => void}} props */
export function Lane({ open, chosen, choose }) {
  if (open.length === 0) {
    return html`<p class="quiet-note">${failure.value ? 'The requests of your agents appear here once they can be read.' : loading.value ? 'Looking …' : 'Your agents go on by themselves. What they ask of you appears here at once.'}</p>`;
  }
  return html`<ol class="lane-rows">
    ${open.slice(0, SHOWN_MAX).map((one) => html`<${Row} key=${one.request_id} one=${one} chosen=${one.request_id === chosen} choose=${choose} />`)}
  </ol>
  ${open.length > SHOWN_MAX ? html`<p class="more"><a href=${href('inbox')}>${open.length - SHOWN_MAX} more in the inbox</a></p>` : null}`;
}

/** @param {{one: import('../../core/types.js').PersonRequest, chosen: boolean, choose: (id: string) => void}} props */
function Row({ one, chosen, choose }) {
  const may = mayWrite() && !sending.value.has(one.request_id);
  const { text, isWhole } = gist(one);
  const open = (/** @type {string} */ says, /** @type {string} */ key) => html`<a class="button primary" href=${href('inbox', one.request_id)}>${says}${chosen ? html` <kbd>${key}</kbd>` : null}</a>`;
  /** Answers, and hands the focus of the button on to the next request. @param {'accept' | 'ignore'} type */
  const give = (type) => (/** @type {any} */ event) => {
    const row = event.currentTarget === document.activeElement && event.currentTarget.closest('li');
    answer(one, { type });
    if (row) (row.nextElementSibling ?? row.previousElementSibling)?.querySelector('.lane-title a')?.focus();
  };
  return html`<li class=${chosen ? 'lane-row chosen' : 'lane-row'} aria-current=${chosen ? 'true' : null} onClick=${() => choose(one.request_id)}>
    <p class="kind">${KINDS[one.kind] ?? one.kind}</p>
    <div class="lane-what">
      <p class="lane-title"><a href=${href('inbox', one.request_id)}><${Text} text=${one.title} /></a></p>
      ${text ? html`<p class=${isWhole ? 'lane-gist whole' : 'lane-gist'}><code><${Text} text=${text} /></code></p>` : null}
      ${isWhole ? null : html`<p class="lane-meta">There is more to read than this row shows.</p>`}
      <p class="lane-meta"><${Handle} handle=${askerOf(one)} /> <${Age} at=${one.created_at} suffix=" ago" /> <${Deadline} from=${one.created_at} until=${one.deadline_at} then=${thenOf(one)} /></p>
    </div>
    <div class="lane-acts">
      ${!one.allow.accept ? open(may ? 'Answer' : 'Open', 'r') : isWhole ? html`<button class="primary" disabled=${!may} onClick=${give('accept')}>Accept${chosen ? html` <kbd>a</kbd>` : null}</button>` : open('Open', 'a')}
      ${one.allow.ignore ? html`<button disabled=${!may} onClick=${give('ignore')}>${ignoring(one)}${chosen ? html` <kbd>i</kbd>` : null}</button>` : null}
    </div>
  </li>`;
}
