// `plenary claude`, `gemini` and `qwen` with the real programs: the coding agent is connected from its first prompt on,
// nobody clicks, and its directory stays as it was.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { BINARY, House, INSTALLED } from './house.js';
import { startModel, times } from './model.js';

const NODE = join(INSTALLED, 'node');
const MODULES = join(INSTALLED, 'node_modules');

/** The program behind each name, one prompt for it, and what it needs beside. `begins`: it needs time for its tools. */
const LAUNCHED = {
  claude: {
    program: [join(MODULES, `@anthropic-ai/claude-code-linux-${process.arch}/claude`)], args: ['-p', 'Go on', '--model', 'claude-sonnet-4-5'],
    env: (/** @type {any} */ model) => ({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-ant-none', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }),
  },
  gemini: {
    program: [NODE, join(MODULES, '@google/gemini-cli/bundle/gemini.js')], args: ['-p', 'Go on', '--model', 'gemini-2.5-flash'], begins: true,
    settings: ['.gemini/settings.json', { security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false } }],
    env: (/** @type {any} */ model) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' }),
  },
  qwen: {
    program: [NODE, join(MODULES, '@qwen-code/qwen-code/cli.js')], args: ['-p', 'Go on', '--model', 'claude-sonnet-4-5', '--auth-type', 'anthropic'],
    settings: ['.qwen/settings.json', { security: { auth: { selectedType: 'anthropic' } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }],
    env: (/** @type {any} */ model) => ({ ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: model.url, ANTHROPIC_MODEL: 'claude-sonnet-4-5' }),
  },
};

/** A coding agent, started twice by its name. @param {keyof typeof LAUNCHED} name @param {House} house */
async function launches(name, house) {
  /** @type {{program: string[], args: string[], env: (model: any) => Record<string, string>, begins?: boolean, settings?: any[]}} */
  const launched = LAUNCHED[name];
  const model = await startModel();
  try {
    const [bin, directory] = [house.directory('bin'), house.directory('work')];
    house.write(join(bin, name), `#!/bin/sh\nexec ${launched.program.join(' ')} "$@"\n`);
    chmodSync(join(bin, name), 0o755);
    const settings = launched.settings && join(house.home, launched.settings[0]);
    if (settings) house.write(settings, JSON.stringify(launched.settings?.[1]));
    const env = { PATH: `${bin}:${INSTALLED}:/usr/local/bin:/usr/bin:/bin`, ...launched.env(model) };
    const bob = await house.peer('bob');
    // Its first start makes the agent of this directory.
    const begun = await house.run(BINARY, [name, ...launched.args], { cwd: directory, env, within: 90_000 });
    assert.equal(begun.code, 0, begun.err);
    const from = model.conversation().length;
    const me = `@nick.${name}-work`;
    const sent = await bob.send(me, 'Word-At-Prompt');
    if (launched.begins) model.plans({ call: 'list_directory', with: { dir_path: '.' }, before: () => sleep(3_000) });
    model.plans({ call: 'send', held: 'mcp__plenary__send', with: { session_id: sent.session, text: 'Answer-One' } }, { say: 'Sent.' });
    const ran = await house.run(BINARY, [name, ...launched.args], { cwd: directory, env, within: 90_000 });
    assert.equal(ran.code, 0, ran.err);
    const first = JSON.stringify(model.conversation()[from]?.body ?? '');
    assert.equal(times(first, 'Word-At-Prompt'), 1, `before the model said anything: ${house.journal()}${ran.err}`);
    await bob.gets('Answer-One');
    assert.equal(await bob.state(sent, me), 'answered');
    assert.deepEqual(Object.keys(house.files(directory)), ['./']);
    // Qwen Code itself writes the version of its settings into them.
    if (settings) assert.deepEqual({ ...JSON.parse(readFileSync(settings, 'utf8')), $version: undefined }, { ...launched.settings?.[1], $version: undefined }, "the user's own settings stay as they were");
    assert.deepEqual(model.errors, []);
  } finally {
    await house.end();
    model.close();
  }
}

for (const name of /** @type {(keyof typeof LAUNCHED)[]} */ (Object.keys(LAUNCHED))) {
  test(`plenary ${name}: the agent is told at its first prompt, and answers unasked`, async () => {
    await launches(name, await House.begin());
  });
}

/** The user `nobody`. */
const NOBODY = 65_534;

test('plenary gemini of a user who is not root', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('every test of this run is one of such a user');
  const reachable = spawnSync(NODE, ['--version'], { uid: NOBODY, gid: NOBODY, cwd: '/' }).status === 0
    && spawnSync(BINARY, ['--version'], { uid: NOBODY, gid: NOBODY, cwd: '/' }).status === 0;
  if (!reachable) return t.skip('others may not read the programs under test');
  await launches('gemini', await House.begin(NOBODY));
});
