// The runs that the person may see: the threads of each runner, and the states of their runs.
// Must not know: their presentation.

import { get, getPage, me, query } from '../../core/api.js';
import { byPerson, readAgents } from '../../core/agents.js';
import { signal } from '../../core/preact.js';
import { onEvent, useResource } from '../../core/store.js';

/**
 * @typedef {{run_id: string, thread_id: string, name: string, as?: string, title: string, at: number, first: boolean}} Run
 *   `as`: the owner's agent that started the run at a foreign agent, and in whose name it is read
 * @typedef {{name: string, as?: string, before: string, more: boolean}} Source
 *   a runner whose threads are read, and the oldest one read
 */

const PAGE = 100;
/** The number of own agents in whose names the runs of foreign agents are read. */
const AGENTS_MAX = 20;

/** @returns {Promise<import('../../core/types.js').Runner[]>} */
const readRunners = async () => {
  const all = await get('/agent');
  return all.agents ?? all;
};
export const useRunners = () => useResource('runners', readRunners, ({ room, kind }) => room === 'accounts' || /agent/.test(kind), 2000);

/** @type {Map<string, Source>} */
let sources = new Map();
/** @type {Map<string, Run>} The runs read so far, by id. */
let held = new Map();
let of = '';

/** @param {string} name @param {string} path */
const pathOf = (name, path) => `/agent/${encodeURIComponent(name)}${path}`;

/** Updates the sources: the own runners, and the foreign runners in the names of own agents. */
const findSources = async () => {
  const [runners, agents] = await Promise.all([readRunners(), readAgents().catch(() => [])]);
  const now = me.value?.session_id ?? '';
  if (of !== now) [sources, held, of] = [new Map(), new Map(), now];
  const isForeign = (/** @type {string} */ handle) => me.value?.owner && !handle?.startsWith(`@${me.value.owner}.`);
  const own = byPerson(agents).slice(0, AGENTS_MAX).map(({ handle }) => handle);
  const wanted = runners.flatMap(({ name, handle }) => [undefined, ...(isForeign(handle) ? own : [])].map((as) => ({ name, as })));
  sources = new Map(wanted.map(({ name, as }) => [`${name} ${as ?? ''}`, sources.get(`${name} ${as ?? ''}`) ?? { name, as, before: '', more: false }]));
};

/** Reads a page of a source's threads: the newest, or those before a thread. @param {Source} source @param {string} before */
const readThreads = async (source, before) => {
  const { name, as } = source;
  const { items, more } = await getPage(pathOf(name, `/threads${query({ limit: PAGE, before })}`), { as }).catch(() => ({ items: undefined, more: false }));
  if (!items) return;
  if (before || !source.before) Object.assign(source, { before: items[items.length - 1]?.thread_id ?? source.before, more });
  for (const thread of /** @type {import('../../core/types.js').Thread[]} */ (items)) {
    thread.runs.forEach((run_id, n) => held.set(run_id, { run_id, thread_id: thread.thread_id, name, as, title: thread.title ?? '', at: Date.parse(n === thread.runs.length - 1 ? thread.updated_at : thread.created_at), first: n === 0 }));
  }
};

/** @returns {Promise<{runs: Run[], more: boolean}>} */
const readRuns = async () => {
  await findSources();
  await Promise.all([...sources.values()].map((source) => readThreads(source, '')));
  return { runs: [...held.values()].sort((a, b) => b.at - a.at), more: [...sources.values()].some(({ more }) => more) };
};
export const useRuns = () => useResource('runs', readRuns, ({ room }) => room === 'runs', 1500);

/** Reads an older page of each source. The list shows it after its next read. */
export const readOlder = () => Promise.all([...sources.values()].filter(({ more }) => more).map((source) => readThreads(source, source.before)));

/**
 * Finds a run by its id in all sources; undefined if no source may read it.
 * @param {string} run_id
 * @returns {Promise<Run | undefined>}
 */
export const findRun = async (run_id) => {
  const found = await Promise.all([...sources.values()].map(async ({ name, as }) => {
    const report = await get(pathOf(name, `/runs/${encodeURIComponent(run_id)}`), { as }).catch(() => undefined);
    return report && { run_id, thread_id: report.thread_id, name, as, title: '', at: Date.parse(report.updated_at), first: false };
  }));
  return found.find(Boolean);
};

/** @type {Map<string, {run: Run, report: import('@preact/signals').Signal<any>}>} */
const reports = new Map();
const FINAL = new Set(['completed', 'error', 'canceled']);

/** The report of a run: read when its row becomes visible, and again after events. @param {Run} run */
export const reportOf = (run) => {
  const known = reports.get(run.run_id);
  if (known) return known.report;
  const report = signal(/** @type {any} */ (undefined));
  reports.set(run.run_id, { run, report });
  ask(run, report);
  return report;
};

/** @param {Run} run @param {import('@preact/signals').Signal<any>} into */
const ask = async (run, into) => {
  try {
    into.value = await get(pathOf(run.name, `/runs/${run.run_id}`), { as: run.as });
  } catch {
    reports.delete(run.run_id);
  }
};

/**
 * The input of a run as text. Without a report, the first run of a thread has the thread's title.
 * @param {Run} run
 * @param {any} report
 */
export const inputOf = (run, report) => {
  const input = report?.request?.input ?? report?.input;
  if (typeof input === 'string') return input;
  return report || !run.first ? '' : run.title;
};

const TITLE_MAX = 200;
/** The first line of the input, or the run's id. @param {Run} run @param {any} report */
export const titleOf = (run, report) => inputOf(run, report).trim().split('\n')[0].slice(0, TITLE_MAX) || run.run_id;

/** The text that a search looks in, as far as it is known. @param {Run} run */
export const wordsOf = (run) => `${run.title} ${run.run_id} ${inputOf(run, reports.get(run.run_id)?.report.value)}`.toLowerCase();

/** The id of the run that an event belongs to. @param {import('../../core/types.js').WatchEvent} event @returns {string} */
export const runOf = ({ data, stream }) => data?.run_id ?? stream;

onEvent((event) => {
  const known = event.room === 'runs' ? reports.get(runOf(event)) : undefined;
  const was = known?.report.peek();
  if (known && was && !FINAL.has(was.status)) ask(known.run, known.report);
});
