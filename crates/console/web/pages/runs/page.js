// Runs: the list with the state of each, and one of them in full.
// Must not know: how a run is executed.

import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { mayWrite } from '../../core/api.js';
import { useKeys } from '../../core/keys.js';
import { refine, route } from '../../core/route.js';
import { List } from '../../parts/list.js';
import { Age, Mark } from '../../parts/marks.js';
import { Text } from '../../parts/text.js';
import { Ask } from './ask.js';
import { Run } from './run.js';
import { findRun, readOlder, reportOf, titleOf, useRunners, useRuns, wordsOf } from './runs.js';

export function Page() {
  const { id, params } = route.value;
  const [asking, ask] = useState(/** @type {any} */ (undefined));
  const runners = useRunners();
  const runs = useRuns();
  const words = (params.q ?? '').toLowerCase();
  const all = runs.data.value?.runs ?? [];
  const items = all.filter((one) => (!params.agent || one.name === params.agent) && (!words || wordsOf(one).includes(words)));
  const pinned = useRef('');
  if (!items.some(({ run_id }) => run_id === pinned.current)) pinned.current = items[0]?.run_id ?? '';
  const listed = all.find(({ run_id }) => run_id === (id || pinned.current));
  const linked = useLinked(listed || !runs.data.value ? '' : id);
  const one = listed ?? linked.run;
  const [busy, setBusy] = useState(false);
  const older = async () => {
    setBusy(true);
    await readOlder();
    await runs.reload();
    setBusy(false);
  };
  useKeys('Runs', [{ keys: 'n', says: 'Ask an agent', run: () => mayWrite() && ask({}) }]);
  const value = (/** @type {any} */ event) => event.target.value || undefined;
  return html`<div class=${id ? 'page split open' : 'page split'}>
    <h1 class="unseen">Runs</h1>
    <section class="split-list" aria-label="Runs">
      <header class="page-head slim"><p class="title" aria-hidden="true">Runs</p><button disabled=${!mayWrite()} onClick=${() => ask({})}>Ask <kbd>n</kbd></button></header>
      <div class="filters">
        <input type="search" data-search placeholder="What was asked" aria-label="Search runs" value=${params.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ params: { q: value(event) } })} />
        <select aria-label="Agent" value=${params.agent ?? ''} onChange=${(/** @type {any} */ event) => refine({ params: { agent: value(event) } })}><option value="">All agents</option>${(runners.data.value ?? []).map(({ name }) => html`<option value=${name}>${name}</option>`)}</select>
      </div>
      ${runs.error.value ? html`<p class="trouble">The runs cannot be read: ${runs.error.value.message}</p>` : null}
      <${List} items=${items} height=${62} label="Runs" keyOf=${(/** @type {any} */ item) => item.run_id} selected=${one?.run_id ?? ''} select=${(/** @type {string} */ key) => refine({ id: key })}
        empty=${runs.error.value ? null : runs.data.value ? (params.q || params.agent ? 'No run fits.' : html`No runs yet. <b>Ask</b> gives a task to an agent that this server runs.`) : 'Looking …'} row=${(/** @type {any} */ item) => html`<${Row} one=${item} />`} />
      ${runs.data.value?.more ? html`<p class="list-more"><button disabled=${busy} onClick=${older}>Older runs</button></p>` : null}
    </section>
    <section class="split-detail" aria-label="The run">
      ${one ? html`<${Run} key=${one.run_id} run=${one} rerun=${(/** @type {any} */ what) => ask(what)} />` : html`<p class="quiet-note center" role="status">${id ? linked.why : ''}</p>`}
    </section>
    ${asking ? html`<${Ask} what=${asking} runners=${runners.data.value ?? []} close=${() => ask(undefined)} />` : null}
  </div>`;
}

/** Finds the run of the address if the list does not contain it. @param {string} id */
function useLinked(id) {
  const [found, find] = useState(/** @type {{id: string, run?: import('./runs.js').Run, why: string}} */ ({ id: '', why: '' }));
  useEffect(() => {
    let left = false;
    if (id) findRun(id).then((run) => left || find({ id, run, why: 'There is no such run, or it is not yours.' }));
    return () => void (left = true);
  }, [id]);
  return found.id === id ? found : { run: undefined, why: 'Looking …' };
}

/** @param {{one: import('./runs.js').Run}} props */
function Row({ one }) {
  const report = reportOf(one).value;
  return html`<div class="session-row">
    <p class="row-title"><${Mark} state=${report?.status ?? 'queued'} label /> <${Text} text=${titleOf(one, report)} /></p>
    <p class="row-foot"><span class="who-list"><${Text} text=${one.name} />${report ? html` · ${report.status === 'error' ? html`<span class="bad-word">failed</span>` : report.held ? 'held' : report.status}` : ''}</span><span class="aside"><${Age} at=${one.at} /></span></p>
  </div>`;
}
