// Markdown without a browser: what it makes of a text, and that no text makes it slow.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocks, inline } from '../../../crates/console/web/parts/markdown.js';

const MOST = 100_000;
const LIMIT_MS = 200;

/** The nodes as text with tags. */
const written = (node) => {
  if (node === null || node === undefined || typeof node === 'boolean') return '';
  if (Array.isArray(node)) return node.map(written).join('');
  if (typeof node !== 'object') return String(node);
  const { type, props } = node;
  if (typeof type === 'function') return `<a ${props.address}>${written(props.label)}</a>`;
  return `<${type}>${written(props.children)}</${type}>`;
};

test('the marks of Markdown become nodes', () => {
  for (const [text, wanted] of [
    ['a **b *c* d** e', 'a <strong>b <em>c</em> d</strong> e'],
    ['*a*b *c d* * e *', '<em>a</em>b <em>c d</em> * e *'],
    ['`a` ``b`c`` `d``e` `f', '<code>a</code> <code>b`c</code> <code>d``e</code> `f'],
    ['[a](http://x/y) ![b](http://x) [c [d](http://z)', '<a http://x/y>a</a> ![b](http://x) [c <a http://z>d</a>'],
    ['see https://x.y/z, or http://a.b.', 'see <a https://x.y/z>https://x.y/z</a>, or <a http://a.b>http://a.b</a>.'],
    ['**a', '**a'], ['** a **', '** a **'], ['', ''],
  ]) assert.equal(written(inline(text)), wanted, text);
  for (const [text, wanted] of [
    ['## Title ##', '<p>Title</p>'], ['# a # b#', '<p>a # b</p>'], ['#', '<p>#</p>'], ['#a', '<p>#a</p>'],
    ['- - -', '<hr></hr>'], ['***', '<hr></hr>'], ['- a\n  - b\n- c', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>'],
    ['> a\n> b', '<blockquote><p>a<br></br>b</p></blockquote>'],
  ]) assert.equal(written(blocks(text, 0)), wanted, text);
});

test('a hundred thousand characters of any kind are read at once', () => {
  const fill = (unit) => unit.repeat(Math.ceil(MOST / unit.length)).slice(0, MOST);
  const rising = Array.from({ length: 440 }, (_, n) => '`'.repeat(n + 1)).join('x');
  const texts = [
    '# a' + ' '.repeat(MOST) + 'x', '# ' + '#'.repeat(MOST) + 'x', '# ' + ' #'.repeat(MOST / 2) + 'x', rising, rising.split('x').reverse().join('x'), fill('`x``x'), fill('**a '), fill('*a '), fill('**a*b'), fill('*a**'), fill('['), fill('[a](http://x'), fill('[a]('),
    fill('http://'), fill('http://.'), 'http://' + '.'.repeat(MOST), '- ' + ' '.repeat(MOST) + 'x\u2028', '-' + ' -'.repeat(MOST / 2) + 'x', '---' + ' '.repeat(MOST) + 'x',
    fill('> '), fill('- '), fill('- a\n  '), '1. ' + ' '.repeat(MOST) + '\r', fill('a|'), 'a|b\n' + fill('-|') + 'x', fill('a|b\n-|-\n'), fill('```\n'), '   ' + '`'.repeat(MOST), fill('\\|'), fill(' '), fill(' \n'), fill('\r'),
    fill('\u{1f3fb}') + '\u200d', fill('\ufe0f\u200d'),
  ];
  for (const text of texts) {
    // The time of the processor, and the best of five: the machine may do something else meanwhile.
    const times = [0, 1, 2, 3, 4].map(() => {
      const begun = process.cpuUsage();
      blocks(text.slice(0, MOST), 0);
      return process.cpuUsage(begun).user / 1000;
    });
    assert.ok(Math.min(...times) < LIMIT_MS, `${JSON.stringify(text.slice(0, 20))}…: ${times.map(Math.round)} ms`);
  }
});
