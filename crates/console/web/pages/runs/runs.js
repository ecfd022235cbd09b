// The runs that the person may see: the threads of each agent behind the server, and where their runs stand.
// Must not know: how they are shown.

import { get, query } from '../../core/api.js';
import { signal } from '../../core/preact.js';
import { onEvent, useResource } from '../../core/store.js';

/** @typedef {{key: string, run_id: string, thread_id: string, name: string, title: string, at: number, first: boolean}} Run */

const PAGE = 100;

/** @returns {Promise<import('../../core/types.js').Runner[]>} */
const readRunners = async () => {
  const all = await get('/agent');
  return all.agents ?? all;
};
export const useRunners = () => useResource('runners', readRunners, ({ room, kind }) => room === 'accounts' || /agent/.test(kind), 2000);

/** @returns {Promise<Run[]>} */
const readRuns = async () => {
  const runners = await readRunners();
  const pages = await Promise.all(runners.map(async ({ name }) => ({ name, threads: await get(`/agent/${encodeURIComponent(name)}/threads${query({ limit: PAGE })}`).catch(() => []) })));
  return pages
    .flatMap(({ name, threads }) => threads.flatMap((/** @type {import('../../core/types.js').Thread} */ thread) =>
      thread.runs.map((run_id, n) => ({ key: run_id, run_id, thread_id: thread.thread_id, name, title: thread.title ?? '', at: Date.parse(n === thread.runs.length - 1 ? thread.updated_at : thread.created_at), first: n === 0 }))))
    .sort((a, b) => b.at - a.at);
};
export const useRuns = () => useResource('runs', readRuns, ({ room }) => room === 'runs', 1500);

/** @type {Map<string, import('@preact/signals').Signal<any>>} */
const reports = new Map();
const FINAL = new Set(['completed', 'error', 'canceled']);

/** Where a run stands; asked once it can be seen, and again by the stream. @param {Run} run */
export const reportOf = (run) => {
  let found = reports.get(run.run_id);
  if (!found) {
    found = signal(/** @type {any} */ (undefined));
    reports.set(run.run_id, found);
    ask(run, found);
  }
  return found;
};

/** @param {{run_id: string, name: string}} run @param {import('@preact/signals').Signal<any>} into */
const ask = async (run, into) => {
  try {
    into.value = await get(`/agent/${encodeURIComponent(run.name)}/runs/${run.run_id}`);
  } catch {
    reports.delete(run.run_id);
  }
};

/** What was asked of a run, in words; of one whose state is not read yet the title of the thread, which is that of the first run. @param {Run} run @param {any} report */
export const inputOf = (run, report) => {
  const input = report?.request?.input ?? report?.input;
  if (typeof input === 'string') return input;
  return report || !run.first ? '' : run.title;
};

const TITLE_MAX = 200;
/** The first line of what was asked. @param {Run} run @param {any} report */
export const titleOf = (run, report) => inputOf(run, report).trim().split('\n')[0].slice(0, TITLE_MAX) || run.run_id;

/** The run that an event is about. @param {import('../../core/types.js').WatchEvent} event @returns {string} */
export const runOf = ({ data, stream }) => data?.run_id ?? stream;

onEvent((event) => {
  const found = event.room === 'runs' ? reports.get(runOf(event)) : undefined;
  const was = found?.peek();
  if (found && was && !FINAL.has(was.status)) ask({ run_id: runOf(event), name: was.agent }, found);
});
