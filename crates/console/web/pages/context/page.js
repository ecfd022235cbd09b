// Context: packages with their hashes and reviews, and facts as of any time.
// Must not know: how it is stored.

import { html, useState } from '../../core/preact.js';
import { get } from '../../core/api.js';
import { refine, route } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { plainly } from '../../parts/text.js';
import { Facts } from './facts.js';
import { Packages } from './packages.js';

const TABS = [['packages', 'Packages'], ['reviews', 'To review'], ['facts', 'Facts']];

export function Page() {
  const { id, params } = route.value;
  const projects = useResource('projects', () => get('/v1/projects'), ({ room }) => room === 'context', 2000);
  const list = projects.data.value?.projects ?? [];
  const project = id || list[0]?.project_id;
  const tab = params.tab ?? 'packages';
  const one = list.find((/** @type {any} */ each) => each.project_id === project);
  return html`<div class=${params.package ? 'page context open' : 'page context'}>
    <header class="page-head slim"><div><h1>Context</h1>${one?.description ? html`<${Description} key=${project} text=${plainly(one.description)} />` : null}</div>
      ${list.length ? html`<div class="filters"><select aria-label="Project" value=${project ?? ''} onChange=${(/** @type {any} */ event) => refine({ id: event.target.value, params: { package: undefined, with: undefined, q: undefined } })}>
        ${one ? null : html`<option value=${project}>${plainly(project)}</option>`}${list.map((/** @type {any} */ each) => html`<option value=${each.project_id}>${plainly(each.name || each.project_id)}</option>`)}</select></div>` : null}</header>
    <div class="segments" role="group" aria-label="What of it">${TABS.map(([name, title]) => html`<button aria-pressed=${tab === name ? 'true' : 'false'} onClick=${() => refine({ params: { tab: name === 'packages' ? undefined : name, package: undefined, with: undefined, q: undefined } })}>${title}</button>`)}</div>
    ${projects.error.value ? html`<p class="trouble">The projects cannot be read: ${projects.error.value.message}</p>` : null}
    ${!project ? html`<p class="quiet-note">${projects.error.value ? null : projects.data.value ? html`No project yet. The first package that an agent deposits makes one; <code>plenary context init</code> makes one for a directory.` : 'Looking …'}</p>`
      : tab === 'facts' ? html`<${Facts} key=${project} project=${project} />` : html`<${Packages} key=${project + tab} project=${project} review=${tab === 'reviews'} />`}
  </div>`;
}

const SHORT = 160;
/** The beginning of a long description, and the rest on request. @param {{text: string}} props */
function Description({ text }) {
  const [open, setOpen] = useState(false);
  if (text.length <= SHORT) return html`<p class="lead">${text}</p>`;
  return html`<p class=${open ? 'lead open' : 'lead'} tabindex=${open ? 0 : null}>${open ? text : `${text.slice(0, SHORT)} …`} <button class="quiet" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>${open ? 'Less' : 'More'}</button></p>`;
}
