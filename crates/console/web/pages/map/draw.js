// Draws the map in two layers: a static one, and one that follows the pointer.
// Must not know: the source of the agents.

/**
 * @typedef {{nodes: import('./layout.js').Node[], groups: import('./layout.js').Group[],
 *   edges: {a: import('./layout.js').Node, b: import('./layout.js').Node, part: number, word: 'talk' | 'yes' | 'no' | 'open'}[],
 *   states: Map<string, string>, chosen: string, over: string}} Picture
 * @typedef {{x: number, y: number, k: number, width: number, height: number}} View the centre, the scale and the size
 * @typedef {Record<string, string>} Colours
 */

const NAMES = ['ink', 'ink-2', 'ink-3', 'line-2', 'step-2', 'panel', 'accent', 'good', 'bad', 'sans'];
const NODE_R = 9;
const LABEL_SCALE = 0.8;
const LABELS_MAX = 400;
/** Lines of one width are drawn in one stroke. */
const WIDTHS = 4;
const TURN = 2 * Math.PI;

/** The colours of the theme. @returns {Colours} */
export const colours = () => {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
};

/** Sets the transform, so that later units are units of the map. @param {CanvasRenderingContext2D} on @param {View} view */
const enter = (on, { x, y, k, width, height }) => {
  on.save();
  on.translate(width / 2, height / 2);
  on.scale(k, k);
  on.translate(-x, -y);
};

/** @param {View} view @param {{x: number, y: number}} at @param {number} r */
const sees = (view, at, r) => Math.abs(at.x - view.x) * view.k < view.width / 2 + r * view.k && Math.abs(at.y - view.y) * view.k < view.height / 2 + r * view.k;

/**
 * Draws the static layer.
 * @param {CanvasRenderingContext2D} on
 * @param {Picture} picture
 * @param {View} view
 * @param {Colours} colour
 */
export function drawAll(on, picture, view, colour) {
  on.clearRect(0, 0, view.width, view.height);
  enter(on, view);
  groups(on, picture, colour, view.k);
  edges(on, picture.edges, picture.chosen, colour, view.k);
  const shown = picture.nodes.filter((node) => sees(view, node, NODE_R));
  nodes(on, picture, shown, colour, view.k);
  on.restore();
  owners(on, picture, view, colour);
  if (view.k >= LABEL_SCALE && shown.length <= LABELS_MAX) names(on, shown, view, colour);
}

/**
 * Draws the agent under the pointer and the selected one, with their lines.
 * @param {CanvasRenderingContext2D} on
 * @param {Picture} picture
 * @param {View} view
 * @param {Colours} colour
 */
export function drawNear(on, picture, view, colour) {
  const { over, chosen } = picture;
  const near = picture.nodes.filter(({ handle }) => handle === over || handle === chosen);
  if (!near.length) return;
  enter(on, view);
  const of = over || chosen;
  const lit = picture.edges.filter(({ a, b }) => a.handle === of || b.handle === of);
  edges(on, lit, of, colour, view.k);
  nodes(on, picture, [...new Set([...lit.flatMap(({ a, b }) => [a, b]), ...near])], colour, view.k);
  for (const node of near) {
    on.beginPath();
    on.arc(node.x, node.y, NODE_R + 4 / view.k, 0, TURN);
    on.strokeStyle = colour.ink;
    on.lineWidth = 2 / view.k;
    on.stroke();
  }
  on.restore();
  names(on, near, view, colour);
}

/** @param {CanvasRenderingContext2D} on @param {Picture} picture @param {Colours} colour @param {number} k */
function groups(on, picture, colour, k) {
  on.strokeStyle = colour['line-2'];
  on.lineWidth = 1 / k;
  on.setLineDash([2 / k, 4 / k]);
  on.beginPath();
  for (const group of picture.groups) {
    on.moveTo(group.x + group.r, group.y);
    on.arc(group.x, group.y, group.r, 0, TURN);
  }
  on.stroke();
  on.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} on
 * @param {Picture['edges']} all
 * @param {string} of the agent whose lines are emphasised
 * @param {Colours} colour
 * @param {number} k
 */
function edges(on, all, of, colour, k) {
  /** @type {Map<string, {lit: boolean, word: string, width: number, path: Path2D}>} */
  const strokes = new Map();
  for (const { a, b, part, word } of all) {
    const lit = Boolean(of) && (a.handle === of || b.handle === of);
    const step = Math.ceil(part * WIDTHS);
    const key = `${lit} ${word} ${step}`;
    let stroke = strokes.get(key);
    if (!stroke) strokes.set(key, (stroke = { lit, word, width: 0.6 + step, path: new Path2D() }));
    stroke.path.moveTo(a.x, a.y);
    stroke.path.lineTo(b.x, b.y);
  }
  for (const { lit, word, width, path } of [...strokes.values()].sort((a, b) => Number(a.lit) - Number(b.lit))) {
    on.strokeStyle = word === 'no' ? colour.bad : word === 'yes' ? colour.good : lit ? colour.accent : colour['step-2'];
    on.globalAlpha = lit || !of ? 0.75 : 0.15;
    on.lineWidth = width / Math.max(k, 0.5);
    on.setLineDash(word === 'no' ? [4 / k, 4 / k] : word === 'open' ? [1 / k, 4 / k] : []);
    on.stroke(path);
  }
  on.globalAlpha = 1;
  on.setLineDash([]);
}

/** @type {Map<string, HTMLCanvasElement>} */
const stamps = new Map();
const STAMPS_MAX = 64;

/**
 * The mark of a state, drawn once per size: filled, half filled, a ring, or a broken ring.
 * @param {string} state
 * @param {Colours} colour
 * @param {number} px pixels per unit
 */
function stamp(state, colour, px) {
  const size = Math.max(5, Math.ceil((2 * NODE_R + 3) * px));
  const paint = state === 'working' ? colour.good : state === 'waiting' ? colour.accent : colour['ink-3'];
  const key = `${state} ${size} ${paint}`;
  const known = stamps.get(key);
  if (known) return known;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const on = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const r = (size / (2 * NODE_R + 3)) * NODE_R;
  on.translate(size / 2, size / 2);
  on.beginPath();
  on.arc(0, 0, r, 0, TURN);
  on.fillStyle = colour.panel;
  on.fill();
  on.strokeStyle = on.fillStyle = paint;
  on.lineWidth = Math.max(1, r / 6);
  if (state === 'gone' || state === 'foreign') on.setLineDash([r / 3, r / 2.4]);
  on.stroke();
  if (state === 'working' || state === 'waiting') {
    on.beginPath();
    if (state === 'working') on.arc(0, 0, r / 2, 0, TURN);
    else on.arc(0, 0, r, -TURN / 4, TURN / 4);
    on.fill();
  }
  if (stamps.size >= STAMPS_MAX) stamps.clear();
  stamps.set(key, canvas);
  return canvas;
}

/**
 * @param {CanvasRenderingContext2D} on
 * @param {Picture} picture
 * @param {Picture['nodes']} shown
 * @param {Colours} colour
 * @param {number} k
 */
function nodes(on, picture, shown, colour, k) {
  const px = k * (devicePixelRatio || 1);
  const half = NODE_R + 1.5;
  /** @type {Map<string, HTMLCanvasElement>} */
  const marks = new Map();
  for (const { handle, x, y } of shown) {
    const state = picture.states.get(handle) ?? 'foreign';
    let mark = marks.get(state);
    if (!mark) marks.set(state, (mark = stamp(state, colour, px)));
    on.drawImage(mark, x - half, y - half, 2 * half, 2 * half);
  }
}

/** @param {View} view @param {number} x @param {number} y @returns {[number, number]} */
const onScreen = (view, x, y) => [(x - view.x) * view.k + view.width / 2, (y - view.y) * view.k + view.height / 2];

/** @param {CanvasRenderingContext2D} on @param {Picture} picture @param {View} view @param {Colours} colour */
function owners(on, picture, view, colour) {
  on.textAlign = 'center';
  on.font = `500 12px ${colour.sans}`;
  on.fillStyle = colour['ink-2'];
  for (const { owner, x, y, r } of picture.groups) if (r * view.k > 14) on.fillText(`@${owner}`, ...onScreen(view, x, y - r - 8 / view.k));
}

/** @param {CanvasRenderingContext2D} on @param {Picture['nodes']} of @param {View} view @param {Colours} colour */
function names(on, of, view, colour) {
  on.textAlign = 'center';
  on.font = `500 12px ${colour.sans}`;
  on.strokeStyle = colour.panel;
  on.lineWidth = 3;
  on.fillStyle = colour.ink;
  for (const { handle, x, y } of of) {
    const [left, top] = onScreen(view, x, y);
    const name = handle.split('.').slice(1).join('.');
    on.strokeText(name, left, top + NODE_R * view.k + 14);
    on.fillText(name, left, top + NODE_R * view.k + 14);
  }
}
