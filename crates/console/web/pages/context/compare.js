// Compares a package with another one of its lineage.
// Must not know: how a lineage is found.

import { html, useMemo } from '../../core/preact.js';
import { get, query } from '../../core/api.js';
import { refine, route } from '../../core/route.js';
import { useResource } from '../../core/store.js';
import { date, timeOfDay } from '../../core/time.js';
import { Lines } from '../../parts/diff.js';
import { Text, plainly } from '../../parts/text.js';
import { compare, lineageOf } from './lineage.js';

/** @param {{project: string, one: any}} props */
export function Compare({ project, one }) {
  const { params } = route.value;
  const lineage = useResource(`lineage:${project}:${one.package_id}`, () => lineageOf(project, one), ({ room, kind }) => room === 'context' && /package/.test(kind), 2000);
  const others = (lineage.data.value ?? []).filter(({ package_id }) => package_id !== one.package_id);
  if (!others.length && !params.with) return null;
  return html`<section class="block compare"><h3>Compared with</h3>
    <select aria-label="Compare with another of its lineage" value=${params.with ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { with: event.target.value || undefined } })}>
      <option value="">nothing; its lineage has ${others.length} ${others.length === 1 ? 'other' : 'others'}</option>
      ${others.map((other) => html`<option value=${other.package_id}>${plainly(other.title)}, ${date(other.created_at)} ${timeOfDay(other.created_at)}${other.package_id === one.parent_package_id ? ' (continued by this one)' : ''}</option>`)}</select>
    ${params.with && params.with !== one.package_id ? html`<${Changed} key=${params.with} project=${project} other=${params.with} one=${one} />` : null}
  </section>`;
}

/** The older package is on the left. @param {{project: string, other: string, one: any}} props */
function Changed({ project, other, one }) {
  const read = useResource(`package:${project}:${other}`, () => get(`/v1/packages/${encodeURIComponent(other)}${query({ project })}`), ({ room }) => room === 'context');
  const that = read.data.value;
  const turned = that && that.created_at > one.created_at;
  const told = useMemo(() => (that ? (turned ? compare(one, that) : compare(that, one)) : undefined), [that, one]);
  if (!told) return html`<p class="aside">${read.error.value ? read.error.value.message : 'Looking …'}</p>`;
  return html`<p class="aside">From <b><${Text} text=${(turned ? one : that).title} /></b> to <b><${Text} text=${(turned ? that : one).title} /></b>${told.same.length ? html`. The same in both: ${plainly(told.same.join(', ').toLowerCase())}.` : '.'}</p>
    ${told.changed.length ? told.changed.map(({ title, lines }) => html`<div class="changed-part"><h4>${plainly(title)}</h4><${Lines} rows=${lines} label=${`What changed in ${plainly(title)}`} /></div>`) : html`<p class="aside">They say the same.</p>`}`;
}
