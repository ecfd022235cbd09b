// A virtual list: only the visible rows are rendered.
// Must not know: the content of a row.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../core/preact.js';
import { useKeys } from '../core/keys.js';

const MARGIN_ROWS = 8;

/**
 * A list box whose rows have the same height. `j` and `k` move, Enter opens.
 * @param {{items: any[], height: number, keyOf: (item: any) => string, row: (item: any, state: {selected: boolean}) => any,
 *   selected: string, select: (key: string, item: any) => void, label: string, empty?: any, rowClass?: string,
 *   keys?: boolean, end?: () => void}} props
 */
export function List({ items, height, keyOf, row, selected, select, label, empty = null, keys = true, end }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ from: 0, to: 40 });
  const index = items.findIndex((item) => keyOf(item) === selected);

  const measure = () => {
    const node = box.current;
    if (!node) return;
    const from = Math.max(0, Math.floor(node.scrollTop / height) - MARGIN_ROWS);
    const to = Math.ceil((node.scrollTop + node.clientHeight) / height) + MARGIN_ROWS;
    setView((was) => (was.from === from && was.to === to ? was : { from, to }));
    if (end && to >= items.length) end();
  };
  useLayoutEffect(measure, [items.length, height]);
  useEffect(() => {
    const sized = new ResizeObserver(measure);
    if (box.current) sized.observe(box.current);
    return () => sized.disconnect();
  }, [height, items.length]);
  useEffect(() => {
    const node = box.current;
    if (!node || index < 0) return;
    const top = index * height;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + node.clientHeight) node.scrollTop = top + height - node.clientHeight;
  }, [selected, index >= 0]);

  /** @param {number} by */
  const move = (by) => {
    const next = Math.max(0, Math.min(items.length - 1, index < 0 ? 0 : index + by));
    if (items[next]) select(keyOf(items[next]), items[next]);
  };
  useKeys(label, keys ? [
    { keys: 'j or ArrowDown', says: 'The next row', run: () => move(1) },
    { keys: 'k or ArrowUp', says: 'The row before', run: () => move(-1) },
    { keys: 'Home', says: 'The first row', run: () => move(-items.length), hidden: true },
    { keys: 'End', says: 'The last row', run: () => move(items.length), hidden: true },
  ] : []);

  if (items.length === 0) return html`<div class="list-empty">${empty}</div>`;
  const shown = items.slice(view.from, view.to);
  const optionId = (/** @type {number} */ n) => `${label.replace(/\W+/g, '-')}-${n}`;
  return html`<div class="list" ref=${box} onScroll=${measure} role="listbox" tabindex="0" aria-label=${label}
      aria-activedescendant=${index >= view.from && index < view.to ? optionId(index) : null}>
    <div class="list-all" role="presentation" style=${{ height: `${items.length * height}px` }}>
      ${shown.map((item, k) => {
        const n = view.from + k;
        const chosen = n === index;
        return html`<div key=${keyOf(item)} id=${optionId(n)} class=${chosen ? 'list-row chosen' : 'list-row'} role="option"
          aria-selected=${chosen ? 'true' : 'false'} aria-setsize=${items.length} aria-posinset=${n + 1}
          style=${{ transform: `translateY(${n * height}px)`, height: `${height}px` }}
          onClick=${() => select(keyOf(item), item)}>${row(item, { selected: chosen })}</div>`;
      })}
    </div>
  </div>`;
}
