// Coding agents that are driven alike, as they are installed, against a real server: what reaches the model of each, that its
// tools answer, and that nothing of the connection is left.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BINARY } from './house.js';
import { sceneOf } from './scene.js';
import { times } from './model.js';
import { TOOLS, ask } from './tools.js';

/** All that a model had before it, its instructions too. @param {any} request */
const all = (request) => JSON.stringify(request.body);

for (const [name, tool] of Object.entries(TOOLS)) {
  const scene = (/** @type {(scene: any) => Promise<void>} */ play) => sceneOf(name, play, ...tool.connect);

  test(`${name}: a session is told at its prompt, and answers by the tool`, () => scene(async ({ house, model, directory, me, bob }) => {
    const sent = await bob.send(me, 'Word-At-Prompt');
    // Tools that are held back are called by their whole name.
    model.plans({ call: 'send', held: `${tool.prefix}send`, with: { session_id: sent.session, text: 'Answer-One' } }, { say: 'Sent.' });
    await ask(name, house, model, directory, 'Go on');
    const requests = model.conversation();
    assert.equal(times(all(requests[0]), 'Word-At-Prompt'), 1, 'before the model said anything');
    assert.equal(times(all(requests.at(-1)), 'Word-At-Prompt'), 1, 'and once');
    if (tool.midTurn) assert.match(all(requests[0]), new RegExp(`This session is the agent ${me}`));
    await bob.gets('Answer-One');
  }));

  test(`${name}: what arrives during a turn comes after a tool or at its end, once`, () => scene(async ({ house, model, directory, me, bob }) => {
    writeFileSync(join(directory, 'a.txt'), 'A line\n');
    model.plans({ ...tool.read(join(directory, 'a.txt')), before: () => bob.send(me, 'Word-After-Tool') });
    model.plans({ say: 'Nearly done.', before: () => bob.send(me, 'Word-At-Stop') });
    await ask(name, house, model, directory, 'Work');
    const requests = model.conversation();
    assert.equal(requests.length, 3, 'the turn went on once');
    assert.equal(times(requests[1].text, 'Word-After-Tool'), tool.midTurn ? 1 : 0);
    assert.equal(times(requests[2].text, 'Word-After-Tool'), 1);
    assert.equal(times(requests[2].text, 'Word-At-Stop'), 1);
  }));

  test(`${name}: disconnect is exact`, () => scene(async ({ house, directory }) => {
    await house.plenary(directory, 'disconnect', name);
    assert.deepEqual(house.files(directory), { './': '' });
  }));
}

test('qwen: connect lets it approve the server, as its person would', () => sceneOf('qwen', async ({ house, model, directory }) => {
  const { program, args: [script], env } = TOOLS.qwen.start(house, model);
  const bin = house.directory('bin');
  house.write(join(bin, 'qwen'), `#!/bin/sh\nexec ${program} ${script} "$@"\n`);
  chmodSync(join(bin, 'qwen'), 0o755);
  const approvals = () => JSON.parse(readFileSync(join(house.home, '.qwen/mcpApprovals.json'), 'utf8'));
  const connected = await house.run(BINARY, ['connect', 'qwen'], { cwd: directory, env: { PATH: `${bin}:/usr/bin:/bin` } });
  assert.equal(connected.code, 0, connected.err);
  const ours = approvals();
  assert.equal(ours[directory].plenary.status, 'approved');
  const [own, ...args] = TOOLS.qwen.approve ?? [];
  const approved = await house.run(own, args, { cwd: directory, env });
  assert.equal(approved.code, 0, approved.err);
  assert.deepEqual(approvals(), ours, 'the very same entry');
}));
