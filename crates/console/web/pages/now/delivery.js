// The delivery states of messages, as a bar and as a table.
// Must not know: the rest of the page.

import { html } from '../../core/preact.js';

/** @type {[keyof import('../../core/types.js').DeliveryCounts, string, string][]} */
const STEPS = [
  ['in_context', 'in context', 'in the context of a model'],
  ['shown', 'shown', 'handed to the coding agent'],
  ['delivered', 'delivered', 'the recipient’s program has it'],
  ['accepted', 'accepted', 'stored, and not delivered yet'],
  ['expired', 'expired', 'the recipient left before the delivery'],
];

/** @param {{counts: import('../../core/types.js').DeliveryCounts}} props */
export function Delivery({ counts }) {
  const all = STEPS.reduce((sum, [name]) => sum + (counts[name] ?? 0), 0);
  let x = 0;
  return html`
    <svg class="delivery-bar" viewBox="0 0 400 14" preserveAspectRatio="none" aria-hidden="true">
      ${all === 0 ? html`<rect width="400" height="14" class="d-none" />` : STEPS.map(([name]) => {
        const width = ((counts[name] ?? 0) / all) * 400;
        const from = x;
        x += width;
        return width ? html`<rect x=${from} width=${Math.max(1.5, width - 1.5)} height="14" class=${`d-${name}`} />` : null;
      })}
    </svg>
    <table class="delivery">
      <caption class="unseen">How far messages came</caption>
      <tbody>${STEPS.map(([name, title, says]) => html`<tr class=${name === 'expired' && counts[name] ? 'bad' : ''}>
        <th scope="row"><i class=${`swatch d-${name}`} aria-hidden="true"></i>${title}<span class="aside">${says}</span></th>
        <td class="num r">${(counts[name] ?? 0).toLocaleString('en')}</td>
        <td class="num r part">${all ? `${(((counts[name] ?? 0) / all) * 100).toFixed(all < 1000 ? 0 : 1)} %` : ''}</td>
      </tr>`)}</tbody>
    </table>`;
}
