// Codex as it is installed, against a real server: what reaches its model, and what it asks its person.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { BINARY, until } from './house.js';
import { CORE, last, sceneOf } from './scene.js';
import { times } from './model.js';
import { PROGRAM, codex, settle, terminal } from './codex.js';

const scene = (/** @type {(scene: any) => Promise<void>} */ play, /** @type {string[]} */ ...more) => sceneOf('codex', async (scene) => {
  settle(scene.house, scene.model, scene.directory);
  await play(scene);
}, ...more);

test('a thread knows who it is, is told at its prompt, and answers unasked', () => scene(async ({ house, model, directory, me, bob }) => {
  const sent = await bob.send(me, 'Word-At-Prompt');
  const thread = await codex(house, directory, { approval: 'untrusted' });
  model.plans({ call: 'send', with: { session_id: sent.session, text: 'Answer-One' } }, { say: 'Sent.' });
  await thread.prompt('Go on');
  assert.deepEqual(thread.asked, [], 'it asks for no click');
  assert.equal(times(last(model), `This session is the agent ${me}`), 1);
  assert.equal(times(model.conversation()[0].text, 'Word-At-Prompt'), 1, 'before the model said anything');
  assert.equal(times(last(model), 'Word-At-Prompt'), 1);
  await bob.gets('Answer-One');
  await thread.close();
}));

test('every core tool is called unasked', () => scene(async ({ house, model, directory }) => {
  const thread = await codex(house, directory);
  for (const tool of CORE) model.plans({ call: tool, with: { unknown_argument: 1 } });
  await thread.prompt('Try them all');
  assert.deepEqual(thread.asked, []);
  assert.equal(times(last(model), 'invalid_arguments'), CORE.length, 'each was called, and answered by the server');
  await thread.close();
}));

test('with --ask all but the run of an agent goes by its own rule, and what it then writes stays at a second connect', () => scene(async ({ house, model, directory }) => {
  const path = join(directory, '.codex/config.toml');
  assert.doesNotMatch(readFileSync(path, 'utf8'), /approve/);
  const always = { action: 'accept', content: {}, _meta: { persist: 'always' } };
  const thread = await codex(house, directory, { answer: always });
  for (const tool of CORE) model.plans({ call: tool, with: { unknown_argument: 1 } });
  await thread.prompt('Try them all');
  assert.deepEqual(thread.asked.map((/** @type {any} */ asked) => asked._meta?.tool_name), ['run_agent'], 'it alone is open');
  const written = () => [readFileSync(path, 'utf8'), readFileSync(join(house.home, '.codex/config.toml'), 'utf8')].join();
  await until(() => /run_agent/.test(written()), 'it wrote that down');
  await thread.close();
  await house.connect('codex', directory);
  const again = await codex(house, directory);
  model.plans({ call: 'run_agent', with: { unknown_argument: 1 } });
  await again.prompt('Once more');
  assert.deepEqual(again.asked, [], written());
  await again.close();
}, '--ask'));

test('what arrives during a turn comes after a tool, and what arrives last continues the turn once', () => scene(async ({ house, model, directory, me, bob }) => {
  const thread = await codex(house, directory);
  let late;
  model.plans({ call: 'whoami', before: () => bob.send(me, 'Word-After-Tool') });
  model.plans({ say: 'Nearly done.', before: async () => { late = await bob.send(me, 'Word-At-Stop'); } });
  await thread.prompt('Work');
  const requests = model.conversation();
  assert.equal(requests.length, 3, 'the turn went on once');
  assert.equal(times(requests[1].text, 'Word-After-Tool'), 1);
  assert.equal(times(requests[2].text, 'Word-After-Tool'), 1);
  assert.equal(times(requests[2].text, 'Word-At-Stop'), 1);
  await thread.prompt('And now?');
  assert.equal(times(last(model), 'Word-At-Stop'), 1, 'and not a second time');
  assert.equal(await bob.state(late, me), 'in_context');
  await thread.close();
}));

test('a long message is in context whole', () => scene(async ({ house, model, directory, me, bob }) => {
  const text = `Begin-Of-Long ${'ä'.repeat(8_000)} End-Of-Long`;
  await bob.send(me, text);
  const thread = await codex(house, directory);
  await thread.prompt('Read it');
  assert.equal(times(last(model), 'End-Of-Long'), 1);
  assert.ok(last(model).includes('ä'.repeat(8_000)));
  await thread.close();
}));

test('a server that is killed is told once, its tools fail soon, and all goes on when it is back', () => scene(async ({ house, model, directory, me, bob }) => {
  const thread = await codex(house, directory);
  await thread.prompt('Begin');
  await house.kill();
  model.plans({ call: 'send', with: { to: [bob.handle], text: 'Lost' } });
  await thread.prompt('Are you there?');
  const calls = model.conversation();
  assert.ok(calls.at(-1).at - calls.at(-2).at < 4_000, 'the call fails soon');
  assert.match(last(model), /plenary serve/, 'and says what to do');
  const told = thread.lines.seen.filter((/** @type {any} */ message) => message.method === 'hook/completed' && /no server answers/.test(JSON.stringify(message)));
  assert.equal(told.length, 1, 'once a session');
  assert.equal(times(last(model), 'no server answers'), 0, 'the person is told, not the model');
  await house.serve();
  const sent = await bob.send(me, 'After-The-Restart');
  model.plans({ call: 'send', with: { session_id: sent.session, text: 'Back-Again' } });
  await thread.prompt('And now?');
  assert.equal(times(last(model), 'After-The-Restart'), 1);
  await bob.gets('Back-Again');
  assert.deepEqual(thread.asked, []);
  await thread.close();
}));

test('of two threads in one directory one is told', () => scene(async ({ house, model, directory, me, bob }) => {
  const one = await codex(house, directory);
  const two = await codex(house, directory);
  await one.prompt('Session-One begins');
  await two.prompt('Session-Two begins');
  await bob.send(me, 'For-One-Of-Them');
  await one.prompt('Go on');
  await two.prompt('Go on');
  const seen = (/** @type {string} */ name) => times(model.conversation().filter((/** @type {any} */ request) => request.text.includes(name)).at(-1).text, 'For-One-Of-Them');
  assert.deepEqual([seen('Session-One'), seen('Session-Two')], [1, 0]);
  await one.close();
  await two.close();
}));

test('a thread that waits in a terminal is woken by one line in its queue', () => scene(async ({ house, model, directory, me, bob }) => {
  await (await codex(house, directory)).close();
  const shown = terminal(house, directory, 'Session begins');
  await model.asked((/** @type {any} */ request) => request.text.includes('Session begins'));
  // One that began with the session ends with the first prompt; the one behind the turn stays.
  const waits = () => Object.entries(house.kept(me)).find(([name]) => name.startsWith('waits '))?.[1];
  await until(() => house.processes('hook Wait').includes(waits()), 'a process waits for news');
  await bob.send(me, 'Wake-1-');
  const asked = await model.asked((/** @type {any} */ request) => request.text.includes('Wake-1-')).catch((error) => { throw new Error(`${error.message}; ${house.journal()} ${shown.shown.slice(-1000)}`); });
  assert.equal(times(asked.text, 'Wake-1-'), 1);
  assert.equal(times(asked.text, 'they come with this prompt'), 1, 'one line, which has nothing of what was said');
  await until(() => house.processes('hook Wait').includes(waits()), 'and another waits');
  const kept = Object.entries(house.kept(me));
  assert.ok(kept.some(([name, count]) => name.startsWith('wakings ') && count === 1) && !kept.some(([name]) => name.startsWith('queued ')), JSON.stringify(kept));
}, '--wake'));

/** A directory that the person trusts, and what finds Codex there. @param {import('./house.js').House} house @param {string} name */
const bare = (house, name) => {
  const directory = house.directory(name);
  appendFileSync(join(house.home, '.codex/config.toml'), `\n[projects.${JSON.stringify(directory)}]\ntrust_level = "trusted"\n`);
  const bin = house.directory('bin');
  symlinkSync(PROGRAM, join(bin, 'codex'));
  return { directory, env: { PATH: `${bin}:/usr/bin:/bin`, CODEX_HOME: join(house.home, '.codex') } };
};

test('started by this program it trusts the hooks of its flags, and asks for no click', () => scene(async ({ house, model, bob }) => {
  const { directory, env } = bare(house, 'bare');
  const first = await house.run(BINARY, ['codex', 'exec', '--skip-git-repo-check', 'Begin'], { cwd: directory, env });
  assert.equal(first.code, 0, first.err);
  await bob.send('@nick.codex-bare', 'Word-Before-Model');
  const from = model.conversation().length;
  const second = await house.run(BINARY, ['codex', 'exec', '--skip-git-repo-check', 'Go on'], { cwd: directory, env });
  assert.equal(second.code, 0, second.err);
  assert.equal(times(JSON.stringify(model.conversation()[from]?.body ?? ''), 'Word-Before-Model'), 1);
  assert.doesNotMatch(first.err + second.err, /ignoring additionalContextLimit/);
}));

test('started by this program in a terminal it is woken while it waits', () => scene(async ({ house, model, bob }) => {
  const { directory, env } = bare(house, 'woken');
  terminal(house, directory, 'Session begins', [BINARY, 'codex'], env);
  await model.asked((/** @type {any} */ request) => request.text.includes('Session begins'));
  const me = '@nick.codex-woken';
  const waits = () => Object.entries(house.kept(me)).find(([name]) => name.startsWith('waits '))?.[1];
  await until(() => house.processes('hook Wait').includes(waits()), 'a process waits for news');
  await bob.send(me, 'Wake-2-');
  await model.asked((/** @type {any} */ request) => request.text.includes('Wake-2-'));
}));

test('connected, its hooks are trusted without a click, and no longer when it is disconnected', () => scene(async ({ house, model, bob }) => {
  const { directory, env } = bare(house, 'unasked');
  const connected = await house.run(BINARY, ['connect', 'codex'], { cwd: directory, env });
  assert.match(connected.err, /it trusts the hooks written now/);
  await bob.send('@nick.codex-unasked', 'Word-Before-Model');
  const from = model.conversation().length;
  const ran = await house.run(PROGRAM, ['exec', '--skip-git-repo-check', 'Go on'], { cwd: directory, env });
  assert.equal(ran.code, 0, ran.err);
  assert.equal(times(JSON.stringify(model.conversation()[from]?.body ?? ''), 'Word-Before-Model'), 1);
  const trusts = () => readFileSync(join(house.home, '.codex/config.toml'), 'utf8').includes(`${directory}/.codex/hooks.json:`);
  assert.ok(trusts());
  const gone = await house.run(BINARY, ['disconnect', 'codex'], { cwd: directory, env });
  assert.equal(gone.code, 0, gone.err);
  assert.ok(!trusts(), 'what it trusted goes with the hooks');
  await house.run(BINARY, ['connect', 'codex', '--ask'], { cwd: directory, env });
  assert.ok(!trusts(), 'with --ask its person trusts them');
}));

test('disconnect is exact, and what Codex wrote of other things stays', () => scene(async ({ house, directory }) => {
  await house.plenary(directory, 'disconnect', 'codex');
  assert.deepEqual(house.files(directory), { './': '' });
  house.write(join(directory, '.codex/config.toml'), '# mine\n[mcp_servers.other]\ncommand = "true"\n');
  const before = house.files(directory);
  await house.connect('codex', directory);
  await house.plenary(directory, 'disconnect', 'codex');
  assert.deepEqual(house.files(directory), before);
  // Its own settings, where it writes while our block is there.
  const own = join(house.home, '.codex/config.toml');
  const plain = readFileSync(own, 'utf8');
  await house.connect('codex', directory, '--user');
  const thread = await codex(house, directory);
  await thread.call('config/value/write', { keyPath: 'projects."/elsewhere".trust_level', value: 'trusted', mergeStrategy: 'upsert' });
  await thread.close();
  await house.connect('codex', directory, '--user');
  await house.plenary(directory, 'disconnect', 'codex');
  const left = readFileSync(own, 'utf8');
  assert.match(left, /elsewhere/);
  assert.doesNotMatch(left, /plenary\]|mcp_servers/);
  assert.ok(left.startsWith(plain.trimEnd()), left);
}));
