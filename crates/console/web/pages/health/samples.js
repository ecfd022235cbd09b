// Parses the server's metrics: samples, the rate between two of them, and the depths of queues. Pure.
// Must not know: their presentation.

/** @typedef {{name: string, value: number}} Sample */

/** @param {string} text @returns {Sample[]} */
export const parse = (text) => text.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
  const cut = line.lastIndexOf(' ');
  return { name: line.slice(0, cut), value: Number(line.slice(cut + 1)) };
});

const APPEND = 'plenary_log_append_duration_seconds';

/** @param {Sample[]} samples @param {string} name */
export const valueOf = (samples, name) => samples.find((one) => one.name === name)?.value;

/**
 * The buckets of a histogram: an upper bound in seconds, and the cumulative count.
 * @param {Sample[]} samples
 * @returns {[number, number][]}
 */
const buckets = (samples) => samples.filter(({ name }) => name.startsWith(`${APPEND}_bucket`)).map(({ name, value }) => {
  const bound = /le="([^"]+)"/.exec(name)?.[1] ?? '+Inf';
  return [bound === '+Inf' ? Infinity : Number(bound), value];
});

/**
 * The commits between two scrapes: the rate per second, the mean duration, and the 95th percentile.
 * The first scrape counts from the start of the server.
 * @param {Sample[]} before @param {Sample[]} now @param {number} seconds
 */
export const commits = (before, now, seconds) => {
  const grown = (/** @type {string} */ name) => (valueOf(now, name) ?? 0) - (valueOf(before, name) ?? 0);
  const count = grown(`${APPEND}_count`);
  if (count <= 0 || seconds <= 0) return { rate: 0, mean: undefined, most: undefined };
  const earlier = new Map(buckets(before));
  const most = buckets(now).sort(([a], [b]) => a - b).find(([bound, value]) => value - (earlier.get(bound) ?? 0) >= count * 0.95)?.[0];
  return { rate: count / seconds, mean: grown(`${APPEND}_sum`) / count, most };
};

/** The queues of the server, with display names. @type {[string, string][]} */
const QUEUES = [
  ['plenary_log_appends_waiting', 'Writes that wait for the log'],
  ['plenary_runs_active', 'Runs under way'],
  ['plenary_runs_queued', 'Runs that wait for their turn'],
  ['plenary_http_connections', 'Open connections'],
  ['plenary_search_everything_lag_events', 'Events that the search has yet to read'],
  ['plenary_search_lag_events', 'Packages and facts that their search has yet to read'],
  ['plenary_search_semantic_lag_events', 'The same, for the search by meaning'],
];

/** The depth of each queue that the server reports. @param {Sample[]} samples @returns {[string, number][]} */
export const queues = (samples) => QUEUES.flatMap(([name, says]) => {
  const value = valueOf(samples, name);
  return value === undefined ? [] : [/** @type {[string, number]} */ ([says, value])];
});
