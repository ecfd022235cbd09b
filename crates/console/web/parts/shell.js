// The frame of every page: navigation, the signed-in person, the state of the stream, notes and help.
// Must not know: the content of a page.

import { html, signal } from '../core/preact.js';
import { me, remove, tellTabs } from '../core/api.js';
import { useKeys } from '../core/keys.js';
import { go, href, route } from '../core/route.js';
import { clock, span } from '../core/time.js';
import { liveness } from '../core/watch.js';
import { PAGES } from '../pages/pages.js';
import { Mark as Logo } from '../pages/sign-in/page.js';
import { openRequests } from '../pages/inbox/requests.js';
import { Help } from './help.js';
import { Palette } from './palette.js';
import { Toasts, sayFailure, undoLast } from './toast.js';
import { Handle, plainly } from './text.js';

const helping = signal(false);
const more = signal(false);
const going = signal(false);

/** The state of the stream: live, behind by n, or stale since. Always visible. */
export function Live() {
  const { state, behind, since } = liveness.value;
  const words = {
    connecting: 'connecting',
    live: 'live',
    behind: `behind by ${behind}`,
    stale: `stale for ${span(clock.value - since)}`,
  }[state];
  return html`<span class=${`live ${state}`} data-live=${state}><i aria-hidden="true"></i><span>${words}</span></span>`;
}

/** Announces changes to screen readers, once each. */
const LiveSaid = () => html`<span class="unseen" role="status">${liveness.value.state === 'stale' ? 'The connection is lost; what you see is stale.' : ''}</span>`;

/** @param {{page: typeof PAGES[number]}} props */
function Item({ page }) {
  const here = route.value.page === page.name;
  const count = page.name === 'inbox' ? openRequests.value.length : 0;
  return html`<li><a href=${href(page.name)} aria-current=${here ? 'page' : null} onClick=${() => (more.value = false)}>
    <span>${page.title}</span>
    ${count ? html`<span class="count num">${count}<span class="unseen"> wait for you</span></span>` : html`<kbd aria-hidden="true">g ${page.key}</kbd>`}
  </a></li>`;
}

const signOut = async () => {
  try {
    await remove(`/console/sessions/${encodeURIComponent(me.value?.session_id ?? '')}`);
    me.value = null;
    tellTabs();
  } catch (error) {
    sayFailure(error);
  }
};

/** @param {{children?: any}} props */
export function Shell({ children }) {
  const person = me.value;
  // The person of an owner's own name is written like the owner.
  const own = person?.owner ? `@${person.owner}` : 'operator';
  const who = person?.person && person.person !== `${own}.${person.owner}` ? person.person : own;
  useKeys('Everywhere', [
    ...PAGES.map((page) => ({ keys: `g ${page.key}`, says: page.title, run: () => go(page.name) })),
    { keys: '/', says: 'Search on this page', run: () => {
      const field = /** @type {HTMLElement | null} */ (document.querySelector('[data-search]'));
      if (field) field.focus();
      else going.value = true;
    } },
    { keys: 'Ctrl+k', says: 'Go anywhere by typing', run: () => (going.value = true) },
    { keys: 'u', says: 'Undo the last answer', run: undoLast },
    { keys: '?', says: 'These keys', run: () => (helping.value = true) },
    { keys: 'Escape', says: 'Leave a field, close what is open', run: () => (more.value = false) },
  ]);
  return html`<div class="shell">
    <a class="skip" href="#main" onClick=${(/** @type {Event} */ event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the page</a>
    <header class="rail">
      <a class="wordmark" href=${href('now')}><${Logo} /><span>Plenary</span></a>
      <nav aria-label="Pages" class=${more.value ? 'open' : ''}>
        ${[1, 2, 3].map((group) => html`<ul class=${`group-${group}`}>${PAGES.filter((page) => page.group === group).map((page) => html`<${Item} page=${page} />`)}</ul>`)}
        <button class="quiet sign-out" onClick=${signOut}>Sign out</button>
      </nav>
      <div class="rail-foot">
        <div class="who"><span class="name" title=${who}>${who === 'operator' ? html`<b>operator</b>` : html`<${Handle} handle=${who} />`}</span><span class="role">${person?.role}</span></div>
        <${Live} /><${LiveSaid} />
        <button class="quiet help-key" onClick=${() => (helping.value = true)} aria-label="Keys">?</button>
      </div>
    </header>
    <main id="main" tabindex="-1" onPointerDown=${() => (more.value = false)}>${person?.role === 'viewer' ? html`<p class="banner">You may look at everything here, and change nothing: you are signed in as a viewer.</p>` : null}${liveness.value.why ? html`<p class="banner" role="status"><b>This page does not follow what happens.</b> Too many pages and programs do at once: ${plainly(liveness.value.why)} What you see is read again every half minute until there is room. <a href=${href('access')}>Who is signed in</a></p>` : null}${children}</main>
    <nav class="tabs" aria-label="Main pages">
      ${PAGES.filter((page) => page.phone).map((page) => html`<a href=${href(page.name)} aria-current=${route.value.page === page.name ? 'page' : null} onClick=${() => (more.value = false)}>${page.title === 'Conversations' ? 'Talk' : page.title}${page.name === 'inbox' && openRequests.value.length ? html`<span class="count num">${openRequests.value.length}</span>` : null}</a>`)}
      <button class="quiet" aria-expanded=${more.value ? 'true' : 'false'} onClick=${() => (more.value = !more.value)}>More</button>
    </nav>
    <${Toasts} />
    ${going.value ? html`<${Palette} close=${() => (going.value = false)} />` : null}
    ${helping.value ? html`<${Help} close=${() => (helping.value = false)} />` : null}
  </div>`;
}
