// Starts the page: the sign-in, the page of the address, and the event stream that all pages share.
// Must not know: the content of a page.

import { effect, html, render, useEffect, useState } from './core/preact.js';
import { checkSession, get, me, other, watchSession } from './core/api.js';
import { href, route } from './core/route.js';
import { forget, onOpen, watch } from './core/store.js';
import { runClock } from './core/time.js';
import { Guard } from './parts/guard.js';
import { Shell } from './parts/shell.js';
import { AskLink, Changed, SignIn, signInByLink } from './pages/sign-in/page.js';
import { openRequests } from './pages/inbox/requests.js';
import { PAGES } from './pages/pages.js';

/** @type {Record<string, any>} */
const loaded = {};
const AHEAD_MS = 3_000;
/** Loads the code of the other pages, so that they open without the server too, until one fails: browsers remember each failure. */
const loadAhead = async () => {
  for (const { load } of PAGES) if (!(await load().catch(() => false))) break;
};

/** The page of the address. Its code is loaded on first use. */
function Page() {
  const { page } = route.value;
  const [failed, fail] = useState('');
  const [, again] = useState(0);
  const known = PAGES.find(({ name }) => name === page);
  useEffect(() => {
    if (known && !loaded[known.name]) {
      known.load().then((module) => {
        loaded[known.name] = module.Page;
        again((n) => n + 1);
        if (Object.keys(loaded).length === 1) setTimeout(loadAhead, AHEAD_MS);
      }, () => fail(known.name));
    }
  }, [page]);
  if (!known) return html`<div class="page"><h1>No such page</h1><p class="quiet-note">The console has no page of this name. <a href=${href('now')}>What waits for you</a></p></div>`;
  const Found = loaded[known.name];
  if (!Found && failed === known.name) return html`<div class="page"><p class="trouble" role="alert">This page could not be loaded.</p><p><button onClick=${() => location.reload()}>Load again</button></p></div>`;
  return Found ? html`<${Guard} key=${known.name}><${Found} /><//>` : html`<div class="page loading" aria-busy="true"><p class="quiet-note" role="status">Loading …</p></div>`;
}

function App() {
  if (me.value === undefined) return html`<p class="boot">Plenary</p>`;
  if (other.value) return html`<${Changed} />`;
  if (me.value === null) return html`<${SignIn} />`;
  return html`<${Shell}><${Page} /><${AskLink} /><//>`;
}

async function begin() {
  if (await signInByLink()) return;
  try {
    me.value = await get('/console/session');
  } catch {
    me.value = null;
  }
}

const root = document.getElementById('app');
if (root) root.replaceChildren();
if (root) render(html`<${App} />`, root);

effect(() => {
  const count = me.value ? openRequests.value.length : 0;
  const title = PAGES.find(({ name }) => name === route.value.page)?.title ?? 'No such page';
  document.title = `${count ? `(${count}) ` : ''}${me.value ? title : 'Sign in'} · Plenary`;
});

let before = '';
effect(() => {
  const now = me.value?.session_id ?? '';
  if (now !== before) {
    before = now;
    forget();
    watch();
  }
});
begin();
runClock();
watchSession();
onOpen(() => void checkSession());
// The person tapped a notification while this page was open.
navigator.serviceWorker?.addEventListener('message', ({ data }) => {
  if (typeof data?.go === 'string' && data.go.startsWith('#/inbox')) location.hash = data.go;
});
addEventListener('hashchange', () => void signInByLink());
