// The layout of the map: a disc for each owner with its agents. It is deterministic: the same agents get the same places.
// Pure.
// Must not know: the drawing.

export const NODES_MAX = 2_000;
/** The maximum number of agents on a ring; more fill the disc. */
const RING_MAX = 14;
const RING_STEP = 62;
const DISC_STEP = 26;
const EDGE = 34;
const GAP = 56;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const WIDE = 2;
const TALL = 0.6;

/** @typedef {{handle: string, x: number, y: number}} Node */
/** @typedef {{owner: string, members: string[], r: number, x: number, y: number}} Group */

/** @param {number} count */
const ringOf = (count) => (count === 1 ? 0 : Math.max(70, (count * RING_STEP) / (2 * Math.PI)));
/** @param {number} count */
const radiusOf = (count) => (count <= RING_MAX ? ringOf(count) : DISC_STEP * Math.sqrt(count)) + EDGE;

/** The place of the nth of `count` agents in its disc. @param {number} n @param {number} count */
const inside = (n, count) => {
  if (count <= RING_MAX) return { out: ringOf(count), angle: (n / count) * 2 * Math.PI - Math.PI / 2 };
  return { out: DISC_STEP * Math.sqrt(n + 0.5), angle: n * GOLDEN };
};

/** Places discs in centred rows, the largest first. @param {Group[]} groups @param {boolean} tall */
function pack(groups, tall) {
  const area = groups.reduce((sum, { r }) => sum + (2 * r + GAP) ** 2, 0);
  const width = Math.max(Math.sqrt(area * (tall ? TALL : WIDE)), 2 * (groups[0]?.r ?? 0) + GAP);
  let [x, y, high] = [0, 0, 0];
  /** @type {Group[]} */
  let row = [];
  const close = () => {
    row.forEach((group) => {
      group.x -= x / 2;
      group.y += y + high / 2;
    });
    y += high;
    [x, high, row] = [0, 0, []];
  };
  for (const group of groups) {
    const side = 2 * group.r + GAP;
    if (row.length && x + side > width) close();
    group.x = x + side / 2;
    x += side;
    high = Math.max(high, side);
    row.push(group);
  }
  close();
}

/** @param {string[]} handles @param {boolean} [tall] whether the page is higher than wide */
export function layout(handles, tall = false) {
  /** @type {Map<string, string[]>} */
  const owners = new Map();
  for (const handle of [...handles].sort().slice(0, NODES_MAX)) {
    const owner = handle.slice(1).split('.')[0];
    const members = owners.get(owner);
    if (members) members.push(handle);
    else owners.set(owner, [handle]);
  }
  /** @type {Group[]} */
  const groups = [...owners].map(([owner, members]) => ({ owner, members, r: radiusOf(members.length), x: 0, y: 0 }));
  groups.sort((a, b) => b.r - a.r || (a.owner < b.owner ? -1 : 1));
  pack(groups, tall);
  /** @type {Node[]} */
  const nodes = groups.flatMap(({ members, x, y }) => members.map((handle, n) => {
    const { out, angle } = inside(n, members.length);
    return { handle, x: x + Math.cos(angle) * out, y: y + Math.sin(angle) * out };
  }));
  const ends = groups.map(({ x, y, r }) => [x - r, y - r - 24, x + r, y + r]);
  const most = (/** @type {number} */ at, /** @type {(...all: number[]) => number} */ pick) => ends.reduce((far, end) => pick(far, end[at]), ends[0]?.[at] ?? 0);
  const [left, top] = [most(0, Math.min), most(1, Math.min)];
  return { nodes, groups, box: { x: left, y: top, width: most(2, Math.max) - left || 100, height: most(3, Math.max) - top || 60 } };
}

/**
 * Pairs of agents that share sessions, the pairs with the most sessions first.
 * @param {{participants: {handle: string}[]}[]} sessions
 */
export function edgesOf(sessions) {
  /** @type {Map<string, {a: string, b: string, count: number}>} */
  const pairs = new Map();
  for (const { participants } of sessions) {
    const names = participants.map(({ handle }) => handle).sort().slice(0, 20);
    names.forEach((a, n) => names.slice(n + 1).forEach((b) => {
      const key = `${a} ${b}`;
      const pair = pairs.get(key) ?? { a, b, count: 0 };
      pair.count++;
      pairs.set(key, pair);
    }));
  }
  return [...pairs.values()].sort((x, y) => y.count - x.count || x.a.localeCompare(y.a));
}
