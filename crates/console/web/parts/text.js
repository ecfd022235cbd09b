// Shows foreign text as text: hidden characters become visible, and nothing is interpreted as HTML.
// Must not know: the place of the text.

import { html } from '../core/preact.js';

// Joiners within an emoji or between Arabic letters belong to the writing, and are let through.
// Control characters except tab and line feed, direction marks, zero-width characters, non-emoji variation selectors, and tags.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff]|\u200d(?<!\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*\u200d)|\u200d(?!\p{Extended_Pictographic})|\u200c(?<!\p{Script=Arabic}\u200c)|\u200c(?!\p{Script=Arabic})/gu;

/** @param {string} mark */
const nameOf = (mark) => 'U+' + (mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

const SHOWN_MAX = 200_000;

/** Splits a text into plain parts and the names of hidden characters. @param {string} text @returns {any[]} */
export function visible(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found[0] === '\r' && text[found.index + 1] === '\n') continue;
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push(html`<span class="hidden-mark" title="a character that is not seen">${nameOf(found[0])}</span>`);
    from = found.index + found[0].length;
  }
  if (from === 0) return [text];
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** The same as a plain text, for options, notes and attributes. @param {any} text */
export const plainly = (text) => String(text ?? '').replace(HIDDEN, nameOf);

/**
 * A text that is isolated, so that its direction does not affect the text beside it.
 * @param {{children?: any, text?: any}} props
 */
export const Text = ({ text }) => {
  const all = text === undefined || text === null ? '' : typeof text === 'string' ? text : JSON.stringify(text);
  return html`<bdi>${visible(all.slice(0, SHOWN_MAX))}${all.length > SHOWN_MAX ? ` … ${all.length - SHOWN_MAX} more characters` : null}</bdi>`;
};

/**
 * A handle, with the owner in a muted style and the name in a strong one.
 * @param {{handle: string | null | undefined, plain?: boolean}} props
 */
export const Handle = ({ handle, plain = false }) => {
  if (!handle) return null;
  const dot = handle.indexOf('.');
  if (dot < 0) return html`<span class="handle"><b>${visible(handle)}</b></span>`;
  const [owner, name] = [handle.slice(0, dot + 1), handle.slice(dot + 1)];
  return html`<span class=${plain ? 'handle plain' : 'handle'}><span class="of">${visible(owner)}</span><b>${visible(name)}</b></span>`;
};

/** Indented JSON, as text. @param {{value: any}} props */
export const Json = ({ value }) => html`<pre class="code" tabindex="0"><code>${visible(JSON.stringify(value, null, 2) ?? '')}</code></pre>`;

/**
 * Arguments of a tool: a text of several lines is shown line by line, the others as JSON.
 * @param {{value: any}} props
 */
export const Arguments = ({ value }) => {
  const members = value && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
  const isLong = (/** @type {[string, any]} */ [, member]) => typeof member === 'string' && member.includes('\n');
  const texts = members.filter(isLong);
  if (!texts.length) return html`<${Json} value=${value} />`;
  const others = members.filter((member) => !isLong(member));
  return html`${others.length ? html`<${Json} value=${Object.fromEntries(others)} />` : null}
    ${texts.map(([name, text]) => html`<figure class="argument"><figcaption><code><${Text} text=${name} /></code></figcaption><${Code} text=${text} label=${plainly(name)} /></figure>`)}`;
};

/** Lines of code; a growing text is scrolled to its end. @param {{text: string, label?: string, grows?: boolean}} props */
export const Code = ({ text, label, grows = false }) =>
  html`<pre class=${grows ? 'code grows' : 'code'} tabindex="0" role="group" aria-label=${label ?? 'Code'}><code>${visible(grows ? text.slice(-SHOWN_MAX) : text.slice(0, SHOWN_MAX))}</code></pre>`;
