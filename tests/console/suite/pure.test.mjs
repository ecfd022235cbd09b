// The parts without a browser: reach, canonical form, what is vendored, and what the page weighs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { reach } from '../../../crates/console/web/pages/agents/reach.js';
import { canonical, hashOf } from '../../../crates/console/web/pages/context/hash.js';
import { fieldsOf, initial } from '../../../crates/console/web/pages/inbox/fields.js';
import { timeIn } from '../../../crates/console/web/core/when.js';
import { commits, parse, queues } from '../../../crates/console/web/pages/health/samples.js';
import { edgesOf, layout } from '../../../crates/console/web/pages/map/layout.js';
import { steps as stepsOf } from '../../../crates/console/web/pages/runs/steps.js';
import { csv } from '../../../crates/console/web/parts/csv.js';
import { changes, steps } from '../../../crates/console/web/parts/lines.js';

const WEB = fileURLToPath(new URL('../../../crates/console/web/', import.meta.url));
const files = readdirSync(WEB, { recursive: true }).map(String).filter((name) => statSync(join(WEB, name)).isFile());
const read = (name) => readFileSync(join(WEB, name));
const ours = files.filter((name) => /\.(js|css)$/.test(name) && !name.startsWith('vendor'));

const side = (handle, more = {}) => ({ handle, policy: 'allowlist', allowlist: [], blocks: [], ...more });

test('the commits between two looks are told by the histogram of the server', () => {
  const text = (under1, under5, all, sum, waiting) => `# HELP x\nplenary_log_append_duration_seconds_sum ${sum}\nplenary_log_append_duration_seconds_count ${all}\n`
    + `plenary_log_append_duration_seconds_bucket{le="0.005"} ${under5}\nplenary_log_append_duration_seconds_bucket{le="0.001"} ${under1}\n`
    + `plenary_log_append_duration_seconds_bucket{le="+Inf"} ${all}\nplenary_log_appends_waiting ${waiting}\n`;
  const [before, now] = [parse(text(5, 5, 10, 1, 0)), parse(text(5, 25, 30, 1.5, 3))];
  assert.deepEqual(commits(before, now, 5), { rate: 4, mean: 0.025, most: 0.005 });
  assert.deepEqual(commits(now, now, 5), { rate: 0, mean: undefined, most: undefined });
  assert.equal(commits([], now, 1).most, Infinity);
  assert.deepEqual(queues(now), [['Writes that wait for the log', 3]]);
});

test('each side must admit the other, and neither may block', () => {
  const [a, b] = ['@x.a', '@y.b'];
  const open = { policy: 'open' };
  const cases = [
    [side(a, open), side(b, open), true],
    [side(a, { allowlist: [b] }), side(b, { allowlist: [a] }), true],
    [side(a, { allowlist: ['@y.*'] }), side(b, { allowlist: ['@x.*'] }), true],
    [side(a, { allowlist: [b] }), side(b), false],
    [side(a), side(b, open), false],
    [side(a, { ...open, blocks: [b] }), side(b, open), false],
    [side(a, open), side(b, { ...open, blocks: [a] }), false],
    [side(a, { allowlist: ['@y.bb', '@yy.*'] }), side(b, open), false],
    [side(a, open), { handle: b, unknown: true }, undefined],
    [side(a), { handle: b, unknown: true }, false],
    [side(a), side(a), true],
  ];
  for (const [from, to, may] of cases) assert.equal(reach(from, to).may, may, JSON.stringify([from, to]));
});

test('a refusal names the first thing that stands in the way, and what would mend it', () => {
  const told = reach(side('@x.a'), side('@y.b', { policy: 'open' }));
  assert.match(told.because, /@y\.b is not on the allowlist of @x\.a, which is empty/);
  assert.deepEqual(told.steps.find(({ mend }) => mend)?.mend, { what: 'allow', of: '@x.a', entry: '@y.b' });
});

test('what agents write into a form is read, whatever it is', () => {
  const odd = [5, true, null, 'x', [null], [{}], {}, { toString: 1, valueOf: 1 }];
  const members = ['title', 'description', 'default', 'format', 'enumNames', 'oneOf', 'anyOf', 'minimum', 'items'];
  for (const value of odd) {
    const rest = Object.fromEntries(members.map((member) => [member, value]));
    const properties = {
      text: { ...rest, oneOf: undefined, anyOf: undefined, type: 'string' },
      one: { ...rest, type: 'string', enum: ['a'] },
      many: { ...rest, type: 'array', items: { enum: ['a'] } },
      number: { ...rest, type: 'number' },
      truth: { ...rest, type: 'boolean' },
    };
    const fields = fieldsOf({ required: value, properties });
    assert.deepEqual(fields.map(({ kind }) => kind), ['text', 'choice', 'choices', 'number', 'truth'], JSON.stringify(value));
    for (const field of fields) {
      for (const said of [field.title, field.description, field.type, ...field.choices.map(({ title }) => title)]) assert.equal(typeof said, 'string');
      initial(field);
    }
    assert.deepEqual(initial(fields[2]), []);
  }
  const choice = { type: 'string', enum: ['a', 'b'], enumNames: ['A'], default: 'b' };
  const [field] = fieldsOf({ required: ['c'], properties: { c: choice } });
  assert.deepEqual([field.required, field.choices, initial(field)], [true, [{ value: 'a', title: 'A' }, { value: 'b', title: 'b' }], 'b']);
});

test('a result belongs to the latest open call of its function, also among many', () => {
  const call = (id, function_name) => ({ id, type: 'ToolCall', function_name });
  const result = (id, function_name) => ({ id, type: 'ToolResult', function_name });
  const pairs = (events) => stepsOf(events).map(({ id, result: of }) => [id, of?.id]);
  assert.deepEqual(pairs([call(1, 'a'), call(2, 'b'), call(3, 'a'), result(4, 'a'), result(5), result(6, 'a'), result(7, 'a')]), [[1, 6], [2, 5], [3, 4], [7, undefined]]);
  const many = Array.from({ length: 20_000 }, (_, n) => call(n, `f${n % 7}`));
  const begun = process.cpuUsage();
  stepsOf([...many, ...many.map(({ id, function_name }) => result(id + 20_000, function_name))]);
  assert.ok(process.cpuUsage(begun).user < 1_000_000);
});

test('the canonical form sorts names by their bytes and leaves out nulls', () => {
  assert.equal(canonical({ b: 1, a: [null, { d: null, c: 'é' }], '\u{1f600}': true, '\uff5a': 0.5 }), '{"a":[null,{"c":"é"}],"b":1,"\uff5a":0.5,"\u{1f600}":true}');
});

test('a hash is that of the package without its own', async () => {
  const whole = { package_id: 'p', title: 'T', parent_package_id: null };
  const expected = 'sha256:' + createHash('sha256').update('{"package_id":"p","title":"T"}').digest('hex');
  assert.equal(await hashOf({ ...whole, content_hash: expected }), expected);
  assert.notEqual(await hashOf({ ...whole, title: 'U' }), expected);
});

test('the map puts the same agents at the same places and counts pairs once', () => {
  const handles = ['@b.two', '@a.one', '@a.three'];
  assert.deepEqual(layout(handles), layout([...handles].reverse()));
  const sessions = [{ participants: [{ handle: '@a.one' }, { handle: '@b.two' }] }, { participants: [{ handle: '@b.two' }, { handle: '@a.one' }] }];
  assert.deepEqual(edgesOf(sessions), [{ a: '@a.one', b: '@b.two', count: 2 }]);
});

test('two thousand agents of any owners stand apart from each other', () => {
  for (const owners of [1, 7, 2_000]) {
    const { nodes, groups } = layout(Array.from({ length: 2_000 }, (_, n) => `@owner-${n % owners}.agent-${n}`));
    assert.deepEqual([nodes.length, groups.length], [2_000, owners]);
    const cells = new Map(nodes.map((node) => [`${Math.round(node.x / 9)} ${Math.round(node.y / 9)}`, node]));
    assert.equal(cells.size, 2_000, 'no two on one spot');
    for (const a of groups.slice(0, 60)) for (const b of groups) if (a !== b) assert.ok(Math.hypot(a.x - b.x, a.y - b.y) >= a.r + b.r, `${a.owner} ${b.owner}`);
  }
});

test('the steps between two texts make the one of the other, and keep all that can be kept', () => {
  const words = ['a', 'b', 'c', 'd'];
  let seed = 7;
  const pick = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 400; round++) {
    const [a, b] = [0, 0].map(() => Array.from({ length: pick(9) }, () => words[pick(4)]));
    const all = steps(a, b);
    assert.deepEqual(all.filter(({ kind }) => kind !== 'add').map(({ line }) => line), a);
    assert.deepEqual(all.filter(({ kind }) => kind !== 'cut').map(({ line }) => line), b);
    // The longest that both have, by looking at every choice of lines.
    const choices = Array.from({ length: 2 ** a.length }, (_, bits) => a.filter((_line, n) => bits & (1 << n)));
    const isIn = (some) => some.reduce((at, line) => (at < 0 ? -1 : b.indexOf(line, at) + 1 || -1), 0) >= 0;
    assert.equal(all.filter(({ kind }) => kind === 'same').length, Math.max(...choices.filter(isIn).map(({ length }) => length)));
  }
  const far = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  const shown = changes(far.join('\n'), far.with(15, 'other').join('\n'));
  assert.deepEqual(shown.map(({ kind }) => kind), ['hunk', 'same', 'same', 'same', 'cut', 'add', 'same', 'same', 'same', 'hunk']);
  assert.deepEqual(shown.filter(({ kind }) => kind === 'cut' || kind === 'add').map(({ left, right }) => [left, right]), [[16, ''], ['', 16]]);
  assert.deepEqual(changes('', 'new').map(({ kind }) => kind), ['add']);
});

test('a cell of CSV is quoted where it must be, and is never a formula', () => {
  const rows = [{ a: '=1+1', b: 'x,"y"' }, { a: '@ida.laptop', b: 'two\nlines' }, { a: null, b: 0 }];
  assert.equal(csv(['a', 'b'], rows), ['a,b', `'=1+1,"x,""y"""`, `'@ida.laptop,"two\nlines"`, ',0', ''].join('\r\n'));
});

test('a time that a person writes is the last such one', () => {
  const now = new Date(2026, 10, 22, 14, 0, 0).getTime();
  assert.equal(timeIn('13:59', now), now - 60_000);
  assert.equal(timeIn('14:01', now), now - 86_400_000 + 60_000);
  assert.equal(timeIn('2026-11-22', now), new Date(2026, 10, 22).getTime());
  assert.equal(timeIn('2026-11-22 10:00:01Z', now), Date.UTC(2026, 10, 22, 10, 0, 1));
  for (const wrong of ['25:00', 'yesterday', '12', '2026-13-40', '']) assert.equal(timeIn(wrong, now), undefined, wrong);
});

test('what is vendored is what VENDOR.md says, and has its licence', () => {
  const rows = [...read('vendor/VENDOR.md').toString().matchAll(/^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$/gm)];
  const listed = new Map(rows.map(([, name, sum]) => [name, sum]));
  const there = files.filter((name) => /^vendor\/[^/]+\.(js|woff2)$/.test(name)).map((name) => relative('vendor', name));
  assert.deepEqual([...listed.keys()].sort(), there.sort());
  for (const [name, sum] of listed) assert.equal(createHash('sha256').update(read(`vendor/${name}`)).digest('hex'), sum, name);
  for (const licence of ['preact', 'htm', 'signals', 'instrument-sans']) assert.ok(read(`vendor/licences/${licence}.txt`).length > 500);
});

test('all pages together weigh at most 224 KiB compressed', (t) => {
  const sent = files.filter((name) => !/\.(txt|md)$/.test(name));
  const gzip = sent.reduce((sum, name) => sum + (name.endsWith('.woff2') ? read(name).length : gzipSync(read(name), { level: 9 }).length), 0);
  t.diagnostic(`${sent.length} files, ${(gzip / 1024).toFixed(1)} KiB by gzip; what the first page loads is measured in the browser`);
  assert.ok(gzip <= 224 * 1024, `${gzip} bytes`);
});

test('files are small, and none of ours makes HTML or code of text', () => {
  for (const name of ours) {
    const text = read(name).toString();
    assert.ok(text.split('\n').length <= 300, `${name} has more than 300 lines`);
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|\beval\(|new Function|srcdoc/, name);
    if (name.endsWith('.js')) assert.doesNotMatch(text, /from '(?!\.)/, `${name} imports by a bare name`);
    if (name.endsWith('.js')) assert.match(text, /Must not know:/, `${name} has no head`);
  }
  assert.doesNotMatch(read('index.html').toString(), /<script(?![^>]*src=)|<style|\son\w+=|style=/);
});

test('the first screen is named in advance, so that its files are fetched at once', () => {
  const wanted = new Set();
  const walk = (name) => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const [, one, other] of read(name).toString().matchAll(/^(?:import|export)[^'\n]*'(\.[^']+)'|from\s*["'](\.[^"']+)["']/gm)) walk(join(name, '..', one ?? other));
  };
  walk('app.js');
  walk('pages/now/page.js');
  const named = [...read('index.html').toString().matchAll(/modulepreload" href="\.\/console\/([^"]+)"/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), [...wanted].filter((name) => name !== 'app.js').sort());
});

test('every file that a page needs is there', () => {
  const known = new Set(files);
  for (const name of ours.filter((one) => one.endsWith('.js'))) {
    for (const [, target] of read(name).toString().matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const path = join(name, '..', target);
      assert.ok(known.has(path), `${name} imports ${target}`);
    }
  }
  for (const [, target] of read('index.html').toString().matchAll(/(?:href|src)="\.\/console\/([^"]+)"/g)) assert.ok(known.has(target), target);
});
