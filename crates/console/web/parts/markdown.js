// Renders a subset of Markdown: headings, paragraphs, lists, quotes, code, emphasis and links that show their host.
// There is no HTML and there are no images: `![x](y)` stays text, so that reading fetches nothing.
// Must not know: the author of the text.

import { html, useMemo } from '../core/preact.js';
import { visible } from './text.js';

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

// Whoever may write to an agent writes these texts: each pattern reads a text once, whatever it is.
const MARK = /`+|\*|\[|https?:\/\//g;
const LINK = /\[([^[\]\n]{1,300})\]\((https?:\/\/[^\s)[]{1,2000})\)/y;
const ADDRESS = /https?:\/\/[^\s<>"'`)\]]{1,2000}[^\s<>"'`)\].,;:!?]/y;

/** @param {RegExp} pattern @param {string} text @param {number} at */
const matchAt = (pattern, text, at) => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

/** Finds the first of the places, which only rise, that is not before `from`; `from` only rises too. @param {number[]} places */
const rising = (places) => {
  let n = 0;
  return (/** @type {number} */ from) => {
    while (n < places.length && places[n] < from) n++;
    return places[n] ?? -1;
  };
};

/**
 * Reads what begins at a mark: code, strong text, emphasis, a link or an address.
 * @param {string} text @param {number} depth
 * @returns {(mark: string, at: number) => {node: any, end: number} | undefined}
 */
function reader(text, depth) {
  /** @type {Map<number, number[]>} */
  const runs = new Map();
  for (const { 0: { length }, index } of text.matchAll(/`+/g)) {
    const places = runs.get(length);
    if (places) places.push(index);
    else runs.set(length, [index]);
  }
  const codeEnds = new Map([...runs].map(([length, places]) => [length, rising(places)]));
  const strongEnd = rising([...text.matchAll(/(?<=[^\s*])\*\*/g)].map(({ index }) => index));
  const isWord = (/** @type {string | undefined} */ letter) => letter !== undefined && /[^\s*]/.test(letter);
  return (mark, at) => {
    if (mark[0] === '`') {
      const end = codeEnds.get(mark.length)?.(at + 1) ?? -1;
      return end < 0 ? undefined : { node: html`<code>${visible(text.slice(at + mark.length, end))}</code>`, end: end + mark.length };
    }
    if (mark === '[') {
      const found = text[at - 1] === '!' ? null : matchAt(LINK, text, at);
      return found ? { node: html`<${Link} address=${found[2]} label=${visible(found[1])} text=${found[0]} />`, end: LINK.lastIndex } : undefined;
    }
    if (mark !== '*') {
      const found = matchAt(ADDRESS, text, at);
      return found ? { node: html`<${Link} address=${found[0]} label=${visible(found[0])} text=${found[0]} />`, end: ADDRESS.lastIndex } : undefined;
    }
    if (text[at + 1] === '*' && isWord(text[at + 2])) {
      const end = strongEnd(at + 3);
      if (end > 0) return { node: html`<strong>${inline(text.slice(at + 2, end), depth + 1)}</strong>`, end: end + 2 };
    }
    const end = isWord(text[at + 1]) ? text.indexOf('*', at + 2) : -1;
    return end > 0 && isWord(text[end - 1]) ? { node: html`<em>${inline(text.slice(at + 1, end), depth + 1)}</em>`, end: end + 1 } : undefined;
  };
}

/** @param {string} text @param {number} [depth] @returns {any[]} */
export function inline(text, depth = 0) {
  if (!/[`*[]|:\/\//.test(text)) return text ? visible(text) : [];
  const nodes = [];
  let from = 0;
  const read = depth < DEPTH_MAX ? reader(text, depth) : () => undefined;
  for (const { 0: mark, index } of text.matchAll(MARK)) {
    const found = index < from ? undefined : read(mark, index);
    if (!found) continue;
    if (index > from) nodes.push(...visible(text.slice(from, index)));
    nodes.push(found.node);
    from = found.end;
  }
  if (from < text.length) nodes.push(...visible(text.slice(from)));
  return nodes;
}

const BULLET = /^\s{0,6}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/s;
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,20})/;
const HEADING = /^(#{1,6})\s/;
/** The text of a heading, without the marks at its end. @param {string} line @param {number} depth */
const titleOf = (line, depth) => {
  let end = line.trimEnd().length;
  while (line[end - 1] === '#') end--;
  return line.slice(depth, end).trim();
};

/** @param {string} text @param {number} depth @returns {any[]} */
export function blocks(text, depth) {
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
      const depthOf = /** @type {RegExpExecArray} */ (HEADING.exec(line))[1].length;
      n++;
      nodes.push(html`<p class=${`said-heading h-${depthOf}`} dir="auto">${inline(titleOf(line, depthOf))}</p>`);
    } else if (/^\s{0,3}>/.test(line) && depth < DEPTH_MAX) {
      const quoted = take((other) => /^\s{0,3}>/.test(other)).map((other) => other.replace(/^\s{0,3}> ?/, ''));
      nodes.push(html`<blockquote dir="auto">${blocks(quoted.join('\n'), depth + 1)}</blockquote>`);
    } else if (/^\s{0,3}[-*_]/.test(line) && /^([-*_])\1{2,}$/.test(line.replace(/\s+/g, ''))) {
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

/** Beyond it a text is cut, and says so. */
const SHOWN_MAX = 100_000;

/** The text is read once, however often the page around it is drawn. @param {{text: string}} props */
export function Markdown({ text }) {
  const all = String(text ?? '');
  const nodes = useMemo(() => blocks(all.slice(0, SHOWN_MAX), 0), [all]);
  return html`<div class="said">${nodes}${all.length > SHOWN_MAX ? html`<p class="aside">… ${(all.length - SHOWN_MAX).toLocaleString('en')} more characters are not shown.</p>` : null}</div>`;
}
