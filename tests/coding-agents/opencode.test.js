// OpenCode and Kilo Code as they are installed, against a real server: what our module puts before their model, that they are
// woken, and that nothing of the connection is left.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE, last, sceneOf } from './scene.js';
import { times } from './model.js';
import { isInstalled, kilo, opencode } from './opencode.js';

for (const [name, begin] of Object.entries({ opencode, kilo })) {
  const skip = !isInstalled(name);
  test(`${name}: a session is told at its prompt, after a tool and at the end of its turn, answers, and is woken`, { skip }, () =>
    sceneOf(name, async ({ house, model, directory, me, bob }) => {
      writeFileSync(join(directory, 'a.txt'), 'A line\n');
      const sent = await bob.send(me, 'Word-At-Prompt');
      const session = await begin(house, model, directory);
      model.plans({ call: 'send', with: { session_id: sent.session, text: 'Answer-One' } });
      model.plans({ call: 'read', with: { filePath: join(directory, 'a.txt') }, before: () => bob.send(me, 'Word-After-Tool') });
      model.plans({ say: 'Nearly done.', before: () => bob.send(me, 'Word-At-Stop') });
      await session.prompt('Go on');
      const requests = model.conversation();
      assert.equal(times(requests[0].text, `This session is the agent ${me}`), 1);
      assert.equal(times(requests[0].text, 'Word-At-Prompt'), 1, 'before the model said anything');
      await bob.gets('Answer-One');
      assert.equal(times(requests[2].text, 'Word-After-Tool'), 1);
      const continued = await model.asked((/** @type {any} */ request) => request.text.includes('Word-At-Stop'));
      assert.equal(times(continued.text, 'Word-At-Stop'), 1, 'the turn went on once');
      // It waits for its person now.
      const wake = await bob.send(me, 'Word-While-Idle');
      const woken = await model.asked((/** @type {any} */ request) => request.text.includes('Word-While-Idle'));
      assert.equal(times(woken.text, 'Word-While-Idle'), 1);
      assert.equal(times(woken.text, 'Word-At-Prompt'), 1);
      await session.prompt('And now?');
      assert.equal(times(last(model), 'Word-While-Idle'), 1, 'and not a second time');
      assert.equal(await bob.state(wake, me), 'in_context');
      await session.close();
    }, '--wake'));

  test(`${name}: every core tool is called unasked, and disconnect is exact`, { skip }, () =>
    sceneOf(name, async ({ house, model, directory }) => {
      const session = await begin(house, model, directory);
      for (const tool of CORE) model.plans({ call: `plenary_${tool}`, with: { unknown_argument: 1 } });
      // It would wait for its person, and not end, if it asked.
      await session.prompt('Try them all');
      assert.equal(times(last(model), 'there is no argument `unknown_argument`'), CORE.length, 'each was called, and answered');
      await session.close();
      await house.plenary(directory, 'disconnect', name);
      // Also where it has named its schema in the settings that were made for it.
      assert.deepEqual(house.files(directory), { './': '' });
    }));
}
