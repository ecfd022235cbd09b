// Renders a subset of Markdown: headings, paragraphs, lists, quotes, code, emphasis and links that show their host.
// There is no HTML and there are no images: `![x](y)` stays text, so that reading fetches nothing.
// Must not know: the author of the text.

import { html } from '../core/preact.js';
import { visible } from './text.js';

const INLINE = /(`+)([^`](?:.*?[^`])?)\1(?!`)|\*\*([^\s*](?:.*?[^\s*])?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*|(?<!!)\[([^\]\n]{1,300})\]\((https?:\/\/[^\s)]{1,2000})\)|(https?:\/\/[^\s<>"'`)\]]{1,2000}[^\s<>"'`)\].,;:!?])/;
const DEPTH_MAX = 6;

/** @param {string} address */
const hostOf = (address) => {
  try {
    const url = new URL(address);
    return url.username || url.password ? undefined : url.host;
  } catch {
    return undefined;
  }
};

/** A link that shows its host. @param {{address: string, label: any, text: string}} props */
const Link = ({ address, label, text }) => {
  const host = hostOf(address);
  if (!host) return html`<span>${visible(text)}</span>`;
  return html`<a href=${address} target="_blank" rel="noopener noreferrer nofollow" class="out">${label}<span class="host">${visible(host)}</span></a>`;
};

/** @param {string} text @param {number} [depth] @returns {any[]} */
export function inline(text, depth = 0) {
  const nodes = [];
  let rest = text;
  while (rest) {
    const found = depth < DEPTH_MAX ? INLINE.exec(rest) : null;
    if (!found) break;
    if (found.index > 0) nodes.push(...visible(rest.slice(0, found.index)));
    const [all, , code, strong, emphasis, label, target, bare] = found;
    if (code !== undefined) nodes.push(html`<code>${visible(code)}</code>`);
    else if (strong !== undefined) nodes.push(html`<strong>${inline(strong, depth + 1)}</strong>`);
    else if (emphasis !== undefined) nodes.push(html`<em>${inline(emphasis, depth + 1)}</em>`);
    else if (label !== undefined) nodes.push(html`<${Link} address=${target} label=${visible(label)} text=${all} />`);
    else nodes.push(html`<${Link} address=${bare} label=${visible(bare)} text=${all} />`);
    rest = rest.slice(found.index + all.length);
  }
  if (rest) nodes.push(...visible(rest));
  return nodes;
}

const BULLET = /^\s{0,6}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,20})/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;

/** @param {string} text @param {number} depth @returns {any[]} */
function blocks(text, depth) {
  const lines = text.split(/\r?\n/);
  const nodes = [];
  let n = 0;
  /** @param {(line: string) => boolean} more */
  const take = (more) => {
    const taken = [];
    while (n < lines.length && more(lines[n])) taken.push(lines[n++]);
    return taken;
  };
  while (n < lines.length) {
    const line = lines[n];
    const fence = FENCE.exec(line);
    if (!line.trim()) n++;
    else if (fence) {
      n++;
      const code = take((other) => !other.trimStart().startsWith(fence[1]));
      n++;
      nodes.push(html`<pre class="code" tabindex="0" role="group" aria-label="Code"><code>${visible(code.join('\n'))}</code></pre>`);
    } else if (HEADING.test(line)) {
      const [, marks, title] = /** @type {RegExpExecArray} */ (HEADING.exec(line));
      n++;
      nodes.push(html`<p class=${`said-heading h-${marks.length}`} dir="auto">${inline(title)}</p>`);
    } else if (/^\s{0,3}>/.test(line) && depth < DEPTH_MAX) {
      const quoted = take((other) => /^\s{0,3}>/.test(other)).map((other) => other.replace(/^\s{0,3}> ?/, ''));
      nodes.push(html`<blockquote dir="auto">${blocks(quoted.join('\n'), depth + 1)}</blockquote>`);
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      n++;
      nodes.push(html`<hr />`);
    } else if (BULLET.test(line)) {
      nodes.push(list(take((other) => BULLET.test(other) || /^\s{2,}\S/.test(other)), depth));
    } else if (isTable(lines, n)) {
      const [head, , ...rows] = take((other) => other.includes('|'));
      nodes.push(html`<div class="scroll-x" tabindex="0" role="group" aria-label="A table"><table class="table"><thead><tr>${cellsOf(head).map((cell) => html`<th scope="col" dir="auto">${inline(cell)}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${cellsOf(row).map((cell) => html`<td dir="auto">${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`);
    } else {
      const said = take((other) => !!other.trim() && !FENCE.test(other) && !HEADING.test(other) && !BULLET.test(other) && !/^\s{0,3}>/.test(other) && !isTable(lines, n));
      const taken = said.length ? said : [lines[n++]];
      nodes.push(html`<p dir="auto">${taken.flatMap((one, k) => (k ? [html`<br />`, ...inline(one)] : inline(one)))}</p>`);
    }
  }
  return nodes;
}

/** @param {string} line */
const cellsOf = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
/** Whether a table begins at this line: its head, and a line of dashes with as many cells. @param {string[]} lines @param {number} n */
const isTable = (lines, n) => {
  const [head, rule = ''] = [lines[n], lines[n + 1]];
  return head.includes('|') && rule.includes('|') && cellsOf(rule).every((cell) => /^:?-+:?$/.test(cell)) && cellsOf(rule).length === cellsOf(head).length;
};

const INDENT = 2;
/** A list, with the lists within it by their indents. @param {string[]} lines @param {number} depth @returns {any} */
function list(lines, depth) {
  const items = /** @type {{text: string, below: string[]}[]} */ ([]);
  const first = BULLET.exec(lines[0]);
  const indent = (/** @type {string} */ line) => line.length - line.trimStart().length;
  const inner = indent(lines[0]) + INDENT;
  for (const line of lines) {
    const found = BULLET.exec(line);
    const last = items[items.length - 1];
    if (found && (!last || indent(line) < inner || depth >= DEPTH_MAX)) items.push({ text: found[2], below: [] });
    else if (found || last.below.length) last.below.push(line.slice(Math.min(indent(line), inner)));
    else last.text += ' ' + line.trim();
  }
  const shown = items.map(({ text, below }) => html`<li dir="auto">${inline(text)}${below.length ? list(below, depth + 1) : null}</li>`);
  return first?.[1] ? html`<ol start=${Number(first[1])}>${shown}</ol>` : html`<ul>${shown}</ul>`;
}

const SHOWN_MAX = 100_000;

/** @param {{text: string}} props */
export const Markdown = ({ text }) => html`<div class="said">${blocks(String(text ?? '').slice(0, SHOWN_MAX), 0)}</div>`;
