// The packages of a project, newest first or ranked by a query, and one of them in full.
// Must not know: facts.

import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { refine, route } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { List } from '../../parts/list.js';
import { Age, Mark } from '../../parts/marks.js';
import { Handle, Text } from '../../parts/text.js';
import { Package } from './package.js';
import { reasons, Why } from './why.js';

const PAGE = 250;
/** More are found by a search. */
const LISTED_MAX = 1_000;

/** @param {{project: string, review: boolean}} props */
export function Packages({ project, review }) {
  const { params } = route.value;
  const [words, setWords] = useState(params.q ?? '');
  const written = useRef(words);
  useEffect(() => {
    const timer = setTimeout(() => {
      written.current = words;
      refine({ params: { q: words || undefined } });
    }, 250);
    return () => clearTimeout(timer);
  }, [words]);
  // A link or Back changes the address too, and then the field.
  useEffect(() => {
    const asked = params.q ?? '';
    if (asked === written.current) return;
    written.current = asked;
    setWords(asked);
  }, [params.q]);
  const base = `/v1/projects/${encodeURIComponent(project)}`;
  const q = params.q ?? '';
  const isOurs = (/** @type {import('../../core/types.js').WatchEvent} */ { room, stream }) => room === 'context' && stream === project;
  const read = async () => {
    const all = [];
    let cursor;
    do {
      const page = await get(`${base}/packages${query({ limit: PAGE, cursor, ...(q ? { query: q, mode: 'relevant' } : {}), ...(review ? { status: 'awaiting_review' } : {}) })}`);
      all.push(...page.packages.map((/** @type {any} */ one) => (one.package ? { ...one.package, score: one.score } : one)));
      cursor = q ? null : page.next_cursor;
    } while (cursor && all.length < LISTED_MAX);
    return { all, isCut: Boolean(cursor) };
  };
  const packages = useResource(`packages:${project}:${q}:${review}`, read, isOurs, 1000);
  const why = useResource(`why:${project}:${q}`, () => (q.length > 1 ? reasons(project, q) : Promise.resolve(new Map())), isOurs, 1000);
  const items = packages.data.value?.all ?? [];
  const one = items.find(({ package_id }) => package_id === params.package) ?? (params.package ? { package_id: params.package } : items[0]);
  return html`<div class="columns">
    <section aria-label="Packages" class="column-list">
      <div class="filters"><input type="search" data-search placeholder="Words or meaning" aria-label="Search packages" value=${words} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} /></div>
      ${packages.error.value ? html`<p class="trouble">The packages cannot be read: ${packages.error.value.message}</p>` : null}
      <${List} items=${items} height=${q ? 84 : 62} label="Packages" keyOf=${(/** @type {any} */ item) => item.package_id} selected=${one?.package_id ?? ''} select=${(/** @type {string} */ key) => refine({ params: { package: key, with: undefined } })}
        empty=${packages.error.value ? null : packages.data.value ? (review ? 'Nothing awaits a review.' : 'None.') : 'Looking …'} row=${(/** @type {any} */ item) => html`<${Row} one=${item} reason=${q ? why.data.value?.get(item.package_id) : undefined} />`} />
      ${packages.data.value?.isCut ? html`<p class="list-more">The newest ${items.length.toLocaleString('en')} packages are listed. A search finds the others.</p>` : null}
    </section>
    <section aria-label="The package" class="column-detail">${one ? html`<${Package} key=${one.package_id} project=${project} id=${one.package_id} />` : null}</section>
  </div>`;
}

/** @param {{one: any, reason?: import('./why.js').Reason}} props */
const Row = ({ one, reason }) => html`<div class="session-row">
  <p class="row-title"><${Mark} state=${one.status} label /> <${Text} text=${one.title} /></p>
  <p class="row-foot"><span class="who-list"><${Text} text=${String(one.package_type).replaceAll('_', ' ')} /> · <${Handle} handle=${one.created_by?.id} plain /></span><span class="aside">${one.score === undefined ? html`<${Age} at=${one.created_at} />` : html`<span class="num" title="How well it fits">fit ${Number(one.score).toFixed(2)}</span>`}</span></p>
  ${reason ? html`<${Why} reason=${reason} />` : null}
</div>`;
