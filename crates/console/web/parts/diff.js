// Shows a unified diff line by line, and a command word by word.
// Must not know: the request that it belongs to.

import { html } from '../core/preact.js';
import { visible } from './text.js';

const LINES_MAX = 2000;

/** A unified diff from its text. @param {{text: string}} props */
export function Diff({ text }) {
  const lines = text.replace(/\n$/, '').split(/\r?\n/);
  let [before, after, ends, newEnds] = [0, 0, 0, 0];
  const rows = lines.slice(0, LINES_MAX).map((line) => {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?/.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      [ends, newEnds] = [before + Number(hunk[2] ?? 1), after + Number(hunk[4] ?? 1)];
      return { kind: 'hunk', line, left: '', right: '' };
    }
    const begins = /^(diff|index) /.test(line);
    if (begins) ends = newEnds = 0;
    // Within a hunk, `--- x` is the removed line `-- x`.
    if (begins || (before >= ends && after >= newEnds && /^(\+\+\+|---)/.test(line))) return { kind: 'path', line, left: '', right: '' };
    if (line.startsWith('+')) return { kind: 'add', line, left: '', right: after++ };
    if (line.startsWith('-')) return { kind: 'cut', line, left: before++, right: '' };
    return { kind: 'same', line, left: before++ || '', right: after++ || '' };
  });
  return html`<${Lines} rows=${rows} more=${lines.length - LINES_MAX} />`;
}

/** @param {{rows: {kind: string, line: string, left: number | string, right: number | string}[], more?: number, label?: string}} props */
export function Lines({ rows, more = 0, label = 'The change, line by line' }) {
  const count = (/** @type {string} */ wanted) => rows.filter(({ kind }) => kind === wanted).length;
  return html`<figure class="diff">
    <figcaption>${count('add')} added, ${count('cut')} removed</figcaption>
    <div class="diff-lines" tabindex="0" role="region" aria-label=${label}>
      ${rows.slice(0, LINES_MAX).map(({ kind, line, left, right }) => html`<div class=${`diff-line ${kind}`}><span class="no" aria-hidden="true">${left}</span><span class="no" aria-hidden="true">${right}</span><code>${visible(line)}</code></div>`)}
      ${more > 0 || rows.length > LINES_MAX ? html`<div class="diff-line hunk">${Math.max(more, rows.length - LINES_MAX)} more lines</div>` : null}
    </div>
  </figure>`;
}

const RISKY = /\b(rm|sudo|dd|mkfs|chmod|chown|curl|wget|eval|kill|shutdown|git push|force|drop|delete|truncate)\b/gi;

/** A command with its risky words marked. @param {{text: string, directory?: string}} props */
export function Command({ text, directory }) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(RISKY)) {
    parts.push(...visible(text.slice(from, found.index)), html`<mark>${found[0]}</mark>`);
    from = found.index + found[0].length;
  }
  parts.push(...visible(text.slice(from)));
  return html`<figure class="command">
    ${directory ? html`<figcaption><bdi>${visible(directory)}</bdi></figcaption>` : null}
    <pre class="code" tabindex="0" aria-label="The command"><code><span class="prompt" aria-hidden="true">$ </span>${parts}</code></pre>
  </figure>`;
}
