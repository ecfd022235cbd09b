// The dialog with the active keyboard shortcuts.
// Must not know: the effects of the keys.

import { html } from '../core/preact.js';
import { layers } from '../core/keys.js';
import { Dialog } from './dialog.js';

/** @param {{close: () => void}} props */
export const Help = ({ close }) => html`<${Dialog} title="Keys" close=${close} wide>
  <div class="keys-help">
    ${[...layers.value].reverse().filter(({ shortcuts }) => shortcuts.some(({ hidden }) => !hidden)).map(({ title, shortcuts }) => html`<section>
      <h3>${title}</h3>
      <dl>${shortcuts.filter(({ hidden }) => !hidden).map(({ keys, says }) => html`<div><dt>${keys.replace('ArrowDown', '↓').replace('ArrowUp', '↑').split(' or ').map((one, n) => html`${n ? ' or ' : ''}${one.split(' ').map((k) => html`<kbd>${k}</kbd>`)}`)}</dt><dd>${says}</dd></div>`)}</dl>
    </section>`)}
  </div>
<//>`;
