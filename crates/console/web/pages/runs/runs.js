// The runs that the person may see: the threads of each agent behind the server, and where their runs stand.
// Must not know: how they are shown.

import { get, getPage, me, query } from '../../core/api.js';
import { byPerson, readAgents } from '../../core/agents.js';
import { signal } from '../../core/preact.js';
import { onEvent, useResource } from '../../core/store.js';

/**
 * @typedef {{run_id: string, thread_id: string, name: string, as?: string, title: string, at: number, first: boolean}} Run
 *   `as`: the agent that asked it of an agent of another owner, and in whose name it is read
 * @typedef {{name: string, as?: string, before: string, more: boolean}} Source whose threads are read, and how far back they are
 */

const PAGE = 100;
/** In the names of so many of one's own agents runs of other owners' agents are read. */
const AGENTS_MAX = 20;

/** @returns {Promise<import('../../core/types.js').Runner[]>} */
const readRunners = async () => {
  const all = await get('/agent');
  return all.agents ?? all;
};
export const useRunners = () => useResource('runners', readRunners, ({ room, kind }) => room === 'accounts' || /agent/.test(kind), 2000);

/** @type {Map<string, Source>} */
let sources = new Map();
/** @type {Map<string, Run>} What was read, by id. */
let held = new Map();
let of = '';

/** @param {string} name @param {string} path */
const pathOf = (name, path) => `/agent/${encodeURIComponent(name)}${path}`;

/** Whose threads there are: all of one's own agents behind the server, and what one's agents asked of others. */
const findSources = async () => {
  const [runners, agents] = await Promise.all([readRunners(), readAgents().catch(() => [])]);
  const now = me.value?.session_id ?? '';
  if (of !== now) [sources, held, of] = [new Map(), new Map(), now];
  const isForeign = (/** @type {string} */ handle) => me.value?.owner && !handle?.startsWith(`@${me.value.owner}.`);
  const own = byPerson(agents).slice(0, AGENTS_MAX).map(({ handle }) => handle);
  const wanted = runners.flatMap(({ name, handle }) => [undefined, ...(isForeign(handle) ? own : [])].map((as) => ({ name, as })));
  sources = new Map(wanted.map(({ name, as }) => [`${name} ${as ?? ''}`, sources.get(`${name} ${as ?? ''}`) ?? { name, as, before: '', more: false }]));
};

/** Reads a page of the threads of a source: the newest, or those before the oldest that is known. @param {Source} source @param {string} before */
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

/** Reads the page before what is known of each source; the list has it when it is read again. */
export const readOlder = () => Promise.all([...sources.values()].filter(({ more }) => more).map((source) => readThreads(source, source.before)));

/** A run that no list has, by its id; nothing if nobody may see it. @param {string} run_id @returns {Promise<Run | undefined>} */
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

/** Where a run stands; asked once it can be seen, and again by the stream. @param {Run} run */
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

/** What was asked of a run, in words; of one whose state is not read yet the title of the thread, which is that of the first run. @param {Run} run @param {any} report */
export const inputOf = (run, report) => {
  const input = report?.request?.input ?? report?.input;
  if (typeof input === 'string') return input;
  return report || !run.first ? '' : run.title;
};

const TITLE_MAX = 200;
/** The first line of what was asked. @param {Run} run @param {any} report */
export const titleOf = (run, report) => inputOf(run, report).trim().split('\n')[0].slice(0, TITLE_MAX) || run.run_id;

/** What runs are found by, as far as it is known. @param {Run} run */
export const wordsOf = (run) => `${run.title} ${run.run_id} ${inputOf(run, reports.get(run.run_id)?.report.value)}`.toLowerCase();

/** The run that an event is about. @param {import('../../core/types.js').WatchEvent} event @returns {string} */
export const runOf = ({ data, stream }) => data?.run_id ?? stream;

onEvent((event) => {
  const known = event.room === 'runs' ? reports.get(runOf(event)) : undefined;
  const was = known?.report.peek();
  if (known && was && !FINAL.has(was.status)) ask(known.run, known.report);
});
