// The differences of two texts, line by line.
// Pure.
// Must not know: the meaning of the texts.

/** @typedef {{kind: 'same' | 'add' | 'cut' | 'hunk', line: string, left: number | string, right: number | string}} Line */

/** Larger comparisons are too slow for a page; then the whole differing part counts as replaced. */
const CELLS_MAX = 2_000_000;
const AROUND = 3;

/**
 * The edit steps from one list of lines to another.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {{kind: 'same' | 'add' | 'cut', line: string}[]}
 */
export function steps(a, b) {
  let [head, tail] = [0, 0];
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (/** @type {string[]} */ lines) => lines.map((line) => ({ kind: /** @type {const} */ ('same'), line }));
  return [...same(a.slice(0, head)), ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)), ...same(tail ? a.slice(-tail) : [])];
}

/** @param {string[]} a @param {string[]} b @returns {{kind: 'same' | 'add' | 'cut', line: string}[]} */
function middle(a, b) {
  const cut = (/** @type {string} */ line) => ({ kind: /** @type {const} */ ('cut'), line });
  const add = (/** @type {string} */ line) => ({ kind: /** @type {const} */ ('add'), line });
  if (a.length * b.length > CELLS_MAX) return [...a.map(cut), ...b.map(add)];
  const width = b.length + 1;
  /** The length of the longest common subsequence from each pair of lines on. */
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  }
  /** @type {{kind: 'same' | 'add' | 'cut', line: string}[]} */
  const all = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      all.push({ kind: 'same', line: a[i] });
      [i, j] = [i + 1, j + 1];
    } else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) all.push(cut(a[i++]));
    else all.push(add(b[j++]));
  }
  return all;
}

/**
 * The steps with line numbers, without unchanged lines far from a change.
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function changes(before, after) {
  const split = (/** @type {string} */ text) => (text === '' ? [] : text.split(/\r?\n/));
  let [left, right] = [0, 0];
  const all = steps(split(before), split(after)).map(({ kind, line }) => ({ kind, line, left: kind === 'add' ? '' : ++left, right: kind === 'cut' ? '' : ++right }));
  const near = new Set();
  all.forEach(({ kind }, n) => {
    if (kind !== 'same') for (let at = n - AROUND; at <= n + AROUND; at++) near.add(at);
  });
  /** @type {Line[]} */
  const shown = [];
  let hidden = 0;
  const close = () => {
    if (hidden) shown.push({ kind: 'hunk', line: `${hidden} ${hidden === 1 ? 'line' : 'lines'} as before`, left: '', right: '' });
    hidden = 0;
  };
  all.forEach((line, n) => {
    if (!near.has(n)) return void hidden++;
    close();
    shown.push(line);
  });
  close();
  return shown;
}
