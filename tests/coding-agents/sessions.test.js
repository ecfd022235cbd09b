// Two sessions of one coding agent in one directory, as it is installed, against a real server: the answer goes to the session
// that asked, and both go on after the server was killed and started again.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { last, sceneOf } from './scene.js';
import { times } from './model.js';
import { claude } from './claude.js';
import { codex, settle } from './codex.js';
import { gemini } from './gemini.js';
import { isInstalled, kilo, opencode } from './opencode.js';
import { TOOLS, session } from './tools.js';

/** How a session of each begins. @type {Record<string, (scene: any) => Promise<any>>} */
const BEGINS = {
  claude: async ({ house, model, directory }) => claude(house, model, directory),
  codex: ({ house, directory }) => codex(house, directory),
  gemini: ({ house, model, directory }) => gemini(house, model, directory),
  opencode: ({ house, model, directory }) => opencode(house, model, directory),
  kilo: ({ house, model, directory }) => kilo(house, model, directory),
  qwen: ({ house, model, directory }) => session('qwen', house, model, directory),
  kimi: ({ house, model, directory }) => session('kimi', house, model, directory),
  copilot: ({ house, model, directory }) => session('copilot', house, model, directory),
};

for (const [name, begin] of Object.entries(BEGINS)) {
  const skip = !isInstalled(name);
  test(`${name}: of two sessions the one that asked is answered, and both go on after a restart`, { skip }, () => sceneOf(name, async (scene) => {
    const { house, model, directory, bob } = scene;
    if (name === 'codex') settle(house, model, directory);
    const [one, two] = [await begin(scene), await begin(scene)];
    /** What the model of a session had before it last. @param {string} words that its person said first */
    const context = (words) => model.conversation().filter((/** @type {any} */ request) => request.text.includes(words)).at(-1)?.text ?? '';
    const [first, second] = ['Words-Of-One', 'Words-Of-Two'];

    const send = { call: 'send', held: 'mcp__plenary__send' };
    model.plans({ ...send, with: { to: [bob.handle], text: 'Question-Of-One' } }, { say: 'Asked.' });
    await one.prompt(first);
    await two.prompt(second);
    const asked = (await bob.inbox()).find((/** @type {any} */ item) => item.kind === 'session.invited')?.ref.session_id;
    await house.plenary(directory, 'session', 'join', asked, '--as', bob.handle);
    await house.plenary(directory, 'session', 'send', asked, 'Answer-For-One', '--as', bob.handle);
    // The other one comes first, and leaves it.
    await two.prompt('Go on');
    assert.equal(times(context(second), 'Answer-For-One'), 0);
    await one.prompt('Go on');
    assert.equal(times(context(first), 'Answer-For-One'), 1);
    assert.equal(times(context(second), 'Answer-For-One'), 0);

    await house.kill();
    await one.prompt('While it is away');
    await house.serve();
    await house.plenary(directory, 'session', 'send', asked, 'Word-After-Restart', '--as', bob.handle);
    await one.prompt('And now?');
    assert.equal(times(context(first), 'Word-After-Restart'), 1);
    model.plans({ ...send, with: { session_id: asked, text: 'Answer-After-Restart' } }, { say: 'Sent.' });
    await one.prompt('Answer it');
    await bob.gets('Answer-After-Restart').catch((/** @type {Error} */ error) => assert.fail(`${error.message}: ${last(model).slice(-400)}`));
    for (const begun of [one, two]) {
      if (!TOOLS[name]?.asks) assert.deepEqual(begun.asked ?? [], [], 'nobody had to click');
      await begun.close();
    }
  }, ...(TOOLS[name]?.connect ?? [])));
}
