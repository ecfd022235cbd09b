// The canvas of the map: dragging pans, Ctrl with the wheel, two fingers or buttons zoom, and a click selects.
// Must not know: the meaning of a line.

import { html, useEffect, useRef, useState } from '../../core/preact.js';
import { useKeys } from '../../core/keys.js';
import { colours, drawAll, drawNear } from './draw.js';

const SCALE_MAX = 4;
const SCALE_FIT_MAX = 1.4;
const STEP = 1.4;
const NEAR_PX = 16;
const DRAG_PX = 4;
/** The part of the canvas by which the layer extends beyond each side, so that panning seldom redraws it. */
const MARGIN = 0.25;
const HINT = matchMedia('(pointer: coarse)').matches ? 'Two fingers move and enlarge, a tap chooses' : 'Drag to move, Ctrl and wheel to enlarge, click to choose';
/** Space for the text and the buttons at the lower edge. */
const FOOT_PX = 40;
/** The delay after the last zoom step before the layer is redrawn sharply. */
const SHARP_MS = 120;

/**
 * @typedef {import('./draw.js').View} View
 * @typedef {{canvas: HTMLCanvasElement, view: View, picture: import('./draw.js').Picture, colour: any}} Layer
 */

/**
 * Whether a layer is still current and covers the visible part.
 * @param {Layer} layer
 * @param {import('./draw.js').Picture} picture
 * @param {any} colour
 * @param {View} view
 */
const isOf = (layer, picture, colour, view) =>
  layer.colour === colour && layer.picture.nodes === picture.nodes && layer.picture.edges === picture.edges && layer.picture.states === picture.states && layer.picture.chosen === picture.chosen &&
  Math.abs(layer.view.x - view.x) * layer.view.k <= view.width * MARGIN && Math.abs(layer.view.y - view.y) * layer.view.k <= view.height * MARGIN;

/**
 * @param {HTMLCanvasElement | undefined} was
 * @param {import('./draw.js').Picture} picture
 * @param {View} at
 * @param {any} colour
 * @param {number} ratio
 * @returns {Layer}
 */
function layerOf(was, picture, at, colour, ratio) {
  const canvas = was ?? document.createElement('canvas');
  // Use whole pixels, so that the layer is as sharp as the canvas.
  const [wide, high] = [at.width, at.height].map((size) => Math.round(size * MARGIN));
  const view = { ...at, width: at.width + 2 * wide, height: at.height + 2 * high };
  Object.assign(canvas, { width: Math.round(view.width * ratio), height: Math.round(view.height * ratio) });
  const on = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  on.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawAll(on, picture, view, colour);
  return { canvas, view, picture, colour };
}

/**
 * @param {{picture: Omit<import('./draw.js').Picture, 'over'>, box: {x: number, y: number, width: number, height: number},
 *   choose: (handle: string) => void, says: (handle: string) => string, label: string}} props
 */
export function Canvas({ picture, box, choose, says, label }) {
  const node = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [over, setOver] = useState('');
  const state = useRef({ view: { x: 0, y: 0, k: 1, width: 0, height: 0 }, touched: false, frame: 0, timer: 0, layer: /** @type {Layer | null} */ (null), colour: /** @type {any} */ (null), picture: /** @type {any} */ (null), box }).current;
  state.picture = { ...picture, over };
  state.box = box;

  const paint = () => {
    state.frame = 0;
    const canvas = node.current;
    const on = canvas?.getContext('2d');
    if (!canvas || !on || state.view.width < 1 || state.view.height < 1) return;
    const ratio = devicePixelRatio || 1;
    const [wide, high] = [Math.round(state.view.width * ratio), Math.round(state.view.height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    on.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colour = (state.colour ??= colours());
    const { view } = state;
    let { layer } = state;
    if (!layer || !isOf(layer, state.picture, colour, view) || (layer.view.k !== view.k && !state.timer)) state.layer = layer = layerOf(layer?.canvas, state.picture, view, colour, ratio);
    const by = view.k / layer.view.k;
    const [wideNow, highNow] = [layer.view.width * by, layer.view.height * by];
    on.clearRect(0, 0, view.width, view.height);
    on.drawImage(layer.canvas, Math.round((view.width - wideNow) / 2 + (layer.view.x - view.x) * view.k), Math.round((view.height - highNow) / 2 + (layer.view.y - view.y) * view.k), wideNow, highNow);
    drawNear(on, state.picture, view, colour);
    canvas.dataset.nodes = String(state.picture.nodes.length);
  };
  const soon = () => void (state.frame ||= requestAnimationFrame(paint));
  const fit = () => {
    const { view } = state;
    const { x, y, width, height } = state.box;
    const k = Math.max(0.01, Math.min((view.width - 32) / width, (view.height - 24 - FOOT_PX) / height, SCALE_FIT_MAX));
    Object.assign(view, { x: x + width / 2, y: y + height / 2 + FOOT_PX / 2 / k, k });
    state.touched = false;
    soon();
  };
  /** Zooms around a point of the canvas. */
  const zoom = (/** @type {number} */ by, px = state.view.width / 2, py = state.view.height / 2) => {
    const { view } = state;
    const [dx, dy] = [px - view.width / 2, py - view.height / 2];
    const least = Math.min(view.width / state.box.width, view.height / state.box.height, 1) / 3;
    const k = Math.max(least, Math.min(SCALE_MAX, view.k * by));
    Object.assign(view, { x: view.x + dx / view.k - dx / k, y: view.y + dy / view.k - dy / k, k });
    state.touched = true;
    clearTimeout(state.timer);
    state.timer = setTimeout(() => {
      state.timer = 0;
      soon();
    }, SHARP_MS);
    soon();
  };
  const nearest = (/** @type {number} */ px, /** @type {number} */ py) => {
    const { view } = state;
    const [x, y] = [view.x + (px - view.width / 2) / view.k, view.y + (py - view.height / 2) / view.k];
    let [best, far] = ['', Math.max(NEAR_PX / view.k, 12) ** 2];
    for (const one of state.picture.nodes) {
      const away = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (away < far) [best, far] = [one.handle, away];
    }
    return best;
  };

  useEffect(() => {
    const canvas = node.current;
    if (!canvas) return undefined;
    const sized = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = canvas;
      Object.assign(state.view, { width, height });
      if (state.touched) soon();
      else fit();
    });
    sized.observe(canvas);
    const themed = matchMedia('(prefers-color-scheme: dark)');
    const theme = () => {
      state.colour = null;
      soon();
    };
    themed.addEventListener('change', theme);
    const ends = follow(canvas, { pan: (dx, dy) => {
      state.view.x -= dx / state.view.k;
      state.view.y -= dy / state.view.k;
      state.touched = true;
      soon();
    }, zoom, hover: (px, py) => setOver(nearest(px, py)), leave: () => setOver(''), click: (px, py) => choose(nearest(px, py)) });
    return () => {
      sized.disconnect();
      themed.removeEventListener('change', theme);
      cancelAnimationFrame(state.frame);
      clearTimeout(state.timer);
      ends();
    };
  }, []);
  useEffect(() => {
    if (!state.touched && state.view.width) fit();
  }, [box.x, box.y, box.width, box.height]);
  useEffect(soon);
  useKeys('Map', [
    { keys: '+', says: 'Larger', run: () => zoom(STEP) },
    { keys: '-', says: 'Smaller', run: () => zoom(1 / STEP) },
    { keys: '0', says: 'All of it', run: fit },
  ]);
  return html`<figure class="panel map-panel">
    <canvas ref=${node} role="img" aria-label=${label} class=${over ? 'at-node' : ''}></canvas>
    <p class="map-over" aria-hidden="true">${over ? says(over) : HINT}</p>
    <div class="map-tools" role="group" aria-label="Size"><button aria-label="Larger" onClick=${() => zoom(STEP)}>+</button><button aria-label="Smaller" onClick=${() => zoom(1 / STEP)}>−</button><button onClick=${fit}>All</button></div>
  </figure>`;
}

/**
 * Touch and mouse input of a canvas. One finger scrolls the page, two fingers pan and zoom.
 * @param {HTMLCanvasElement} canvas
 * @param {{pan: (dx: number, dy: number) => void, zoom: (by: number, px: number, py: number) => void,
 *   hover: (px: number, py: number) => void, leave: () => void, click: (px: number, py: number) => void}} to
 */
function follow(canvas, to) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;
  const spread = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.x - b.x, a.y - b.y) || 1;
  };
  const stop = new AbortController();
  const on = (/** @type {string} */ name, /** @type {(event: any) => void} */ run, passive = true) => canvas.addEventListener(name, run, { signal: stop.signal, passive });
  on('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  });
  on('pointermove', (event) => {
    const was = down.get(event.pointerId);
    const now = { x: event.offsetX, y: event.offsetY };
    if (!was) return event.pointerType === 'mouse' ? to.hover(now.x, now.y) : undefined;
    const before = down.size === 2 ? spread() : 0;
    down.set(event.pointerId, now);
    moved += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
    if (moved > DRAG_PX) to.pan((now.x - was.x) / down.size, (now.y - was.y) / down.size);
    if (before) to.zoom(spread() / before, now.x, now.y);
    return undefined;
  });
  on('pointerup', (event) => {
    if (down.delete(event.pointerId) && down.size === 0 && moved <= DRAG_PX) to.click(event.offsetX, event.offsetY);
  });
  on('pointercancel', (event) => down.delete(event.pointerId));
  on('pointerleave', to.leave);
  on('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    to.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, false);
  return () => stop.abort();
}
