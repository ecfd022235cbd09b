// Gemini CLI as it is installed, against a real server: what reaches its model, and what it asks its person.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { CORE, last, sceneOf } from './scene.js';
import { times } from './model.js';
import { ask, gemini } from './gemini.js';

const scene = (/** @type {(scene: any) => Promise<void>} */ play, /** @type {string[]} */ ...more) => sceneOf('gemini', play, ...more);

test('a session knows who it is, is told at its prompt, and answers unasked', () => scene(async ({ house, model, directory, me, bob }) => {
  const sent = await bob.send(me, 'Word-At-Prompt');
  // It begins before its MCP servers are there.
  model.plans({ call: 'list_directory', with: { dir_path: '.' }, before: () => sleep(3_000) });
  model.plans({ call: 'send', with: { session_id: sent.session, text: 'Answer-One' } }, { say: 'Sent.' });
  await ask(house, model, directory, 'Go on');
  assert.equal(times(last(model), `This session is the agent ${me}`), 1);
  assert.equal(times(model.conversation()[0].text, 'Word-At-Prompt'), 1, 'before the model said anything');
  assert.equal(times(last(model), 'Word-At-Prompt'), 1);
  await bob.gets('Answer-One');
}));

test('every core tool is called unasked, also in an editor', () => scene(async ({ house, model, directory }) => {
  const session = await gemini(house, model, directory);
  for (const tool of CORE) model.plans({ call: tool, with: { unknown_argument: 1 } });
  await session.prompt('Try them all');
  assert.deepEqual(session.asked, []);
  assert.ok(times(last(model), 'unknown_argument') >= CORE.length, 'each was called, and answered');
  await session.close();
}));

test('with --ask its own question stays', () => scene(async ({ house, model, directory, bob }) => {
  const session = await gemini(house, model, directory);
  model.plans({ call: 'send', with: { to: [bob.handle], text: 'Never' } });
  await session.prompt('Go on');
  assert.equal(session.asked.length, 1);
  await session.close();
}, '--ask'));

test('what arrives during a turn comes after a tool, and what arrives last continues the turn once', () => scene(async ({ house, model, directory, me, bob }) => {
  model.plans({ call: 'list_directory', with: { dir_path: '.' }, before: () => bob.send(me, 'Word-After-Tool') });
  model.plans({ say: 'Nearly done.', before: () => bob.send(me, 'Word-At-Stop') });
  await ask(house, model, directory, 'Work');
  const requests = model.conversation();
  assert.equal(requests.length, 3, 'the turn went on once');
  assert.equal(times(requests[1].text, 'Word-After-Tool'), 1);
  assert.equal(times(requests[2].text, 'Word-After-Tool'), 1);
  assert.equal(times(requests[2].text, 'Word-At-Stop'), 1);
}));

test('a server that is killed fails its tools soon, and disconnect is exact', () => scene(async ({ house, model, directory, bob }) => {
  const session = await gemini(house, model, directory);
  await house.kill();
  model.plans({ call: 'send', with: { to: [bob.handle], text: 'Lost' } });
  await session.prompt('Are you there?');
  const calls = model.conversation();
  assert.ok(calls.at(-1).at - calls.at(-2).at < 5_000, 'the call fails soon');
  assert.match(last(model), /plenary serve/, 'and says what to do');
  await session.close();
  await house.serve();
  await house.plenary(directory, 'disconnect', 'gemini');
  assert.deepEqual(house.files(directory), { './': '' });
}));
