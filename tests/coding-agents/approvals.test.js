// Permissions that Claude Code and Codex ask for are answered in the console and by a one-tap link, and the agent goes on.
// Must not know: how a hook asks, or how the page is made.

import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBrowser } from '../console/browser.mjs';
import { until } from './house.js';
import { last, sceneOf } from './scene.js';
import { claude } from './claude.js';
import { codex, settle } from './codex.js';

/** @type {(() => Promise<void>)[]} */
const ends = [];
after(async () => { for (const end of ends) await end(); });
/** @type {ReturnType<typeof openBrowser> | undefined} */
let opened;
/** One browser for all, once it is needed; its pages are signed in by links of their own. */
const browser = () => (opened ??= openBrowser({ after: (/** @type {() => Promise<void>} */ end) => ends.push(end) }));

/** The console of the person, at the request that waits. @param {any} scene @param {string} title */
async function inbox({ house, directory }, title) {
  const page = await (await browser()).context.newPage();
  const [link] = /http\S+#link=\S+/.exec(await house.plenary(directory, 'console', '--owner', 'nick')) ?? [];
  await page.goto(link);
  await page.locator('.shell').waitFor();
  await page.evaluate(() => (location.hash = '#/inbox'));
  await page.locator('.list-row', { hasText: title }).click();
  await page.locator('#request-title', { hasText: title }).waitFor();
  return page;
}

/** The page behind a one-tap link of the request that waits. @param {any} scene @param {string} title */
async function tap({ house, directory }, title) {
  let waits;
  for (let n = 0; n < 200 && !waits; n++) {
    const { requests } = JSON.parse(await house.plenary(directory, 'requests', 'list', '--json'));
    waits = requests.find((/** @type {any} */ one) => one.title.includes(title));
  }
  assert.ok(waits, `nobody asks ${title}`);
  const [link] = /http\S+\/tap\/\w+/.exec(await house.plenary(directory, 'requests', 'link', waits.request_id)) ?? [];
  const page = await (await browser()).context.newPage();
  await page.goto(link);
  await page.getByRole('heading', { name: title }).waitFor();
  return page;
}

/** The two, and what is particular about each. @type {Record<string, any>} */
const AGENTS = {
  claude: {
    // It asks in its window at the same time, and takes what is answered first.
    begin: (/** @type {any} */ { house, model, directory }) => claude(house, model, directory, { away: true }),
    step: (/** @type {string} */ command) => ({ call: 'Bash', with: { command, description: `Run ${command}` } }),
  },
  codex: {
    begin: async (/** @type {any} */ { house, model, directory }) => {
      settle(house, model, directory);
      return codex(house, directory, { approval: 'untrusted' });
    },
    step: (/** @type {string} */ command) => ({ call: 'exec_command', with: { cmd: command } }),
  },
};

for (const [name, { begin, step }] of Object.entries(AGENTS)) {
  /** One turn of the agent: it asks, `answer` is given, and it goes on. @param {any} scene @param {any} session @param {string} command @param {() => Promise<unknown>} answer */
  const turn = async ({ model }, session, command, answer) => {
    const before = model.conversation().length;
    model.plans(step(command), { say: 'Going on.' });
    const ended = session.prompt(`Please do ${command}`);
    const failed = ended.then(() => { throw new Error('the turn ended before anybody answered'); });
    await Promise.race([answer(), failed]);
    await ended;
    assert.equal(model.conversation().length, before + 2, 'it went on with what the tool said');
    assert.equal(model.left(), 0);
  };
  const scene = (/** @type {(scene: any, session: any, made: (name: string) => string) => Promise<void>} */ play) => sceneOf(name, async (one) => {
    const session = await begin(one);
    const made = (/** @type {string} */ file) => join(one.directory, file);
    await play(one, session, made);
    await session.close();
  }, '--approvals', '60');

  test(`${name}: allowed in the page, it does what it asked for`, () => scene(async (one, session, made) => {
    await turn(one, session, 'touch allowed.txt', async () => {
      const page = await inbox(one, 'touch allowed.txt');
      assert.equal(existsSync(made('allowed.txt')), false, 'nothing happens before the answer');
      await page.keyboard.press('a');
    });
    assert.ok(existsSync(made('allowed.txt')));
  }));

  test(`${name}: refused in the page with words, its model reads them`, () => scene(async (one, session, made) => {
    await turn(one, session, 'touch refused.txt', async () => {
      const page = await inbox(one, 'touch refused.txt');
      await page.keyboard.press('r');
      await page.locator('textarea:focus').fill('Not on a Sunday.');
      await page.keyboard.press('Control+Enter');
    });
    assert.equal(existsSync(made('refused.txt')), false);
    assert.match(last(one.model), /Not on a Sunday\./);
  }));

  test(`${name}: a one-tap link allows, and another one refuses`, () => scene(async (one, session, made) => {
    await turn(one, session, 'touch tapped.txt', async () => {
      const page = await tap(one, 'touch tapped.txt');
      await page.getByRole('button', { name: 'Accept', exact: true }).click();
      await page.getByText(/answered|Accepted/i).first().waitFor();
    });
    assert.ok(existsSync(made('tapped.txt')));
    await turn(one, session, 'touch untapped.txt', async () => {
      const page = await tap(one, 'touch untapped.txt');
      await page.getByRole('button', { name: /Ignore|Refuse|Decline/ }).click();
    });
    assert.equal(existsSync(made('untapped.txt')), false);
  }));
}

/** How a person changes a command that Claude Code asks for. @type {Record<string, (scene: any, command: string) => Promise<void>>} */
const EDITED = {
  'in the page': async (one, command) => {
    const page = await inbox(one, 'echo theirs');
    await page.keyboard.press('e');
    await page.getByRole('textbox', { name: 'command' }).fill(command);
    await page.keyboard.press('Control+Enter');
  },
  'by a one-tap link': async (one, command) => {
    const page = await tap(one, 'echo theirs');
    await page.locator('textarea[name="arg.command"]').fill(command);
    await page.getByRole('button', { name: 'Accept with these changes' }).click();
  },
};
for (const [where, edits] of Object.entries(EDITED)) {
  test(`claude: edited ${where}, it does what the person wrote`, () => sceneOf('claude', async (one) => {
    const session = claude(one.house, one.model, one.directory, { away: true });
    one.model.plans({ call: 'Bash', with: { command: 'echo theirs > edited.txt', description: 'Write a file' } }, { say: 'Going on.' });
    const ended = session.prompt('Write it');
    await edits(one, 'echo mine > edited.txt');
    await ended;
    assert.equal(readFileSync(join(one.directory, 'edited.txt'), 'utf8'), 'mine\n');
    await session.close();
  }, '--approvals', '60'));
}

test('codex: its arguments cannot be edited, and the page does not offer it', () => sceneOf('codex', async (one) => {
  settle(one.house, one.model, one.directory);
  const thread = await codex(one.house, one.directory, { approval: 'untrusted' });
  one.model.plans(AGENTS.codex.step('touch kept.txt'), { say: 'Going on.' });
  const ended = thread.prompt('Write it');
  const page = await inbox(one, 'touch kept.txt');
  assert.equal(await page.getByRole('button', { name: /^Edit/ }).count(), 0);
  await page.keyboard.press('e');
  await page.keyboard.press('a');
  await ended;
  assert.ok(existsSync(join(one.directory, 'kept.txt')));
  await thread.close();
}, '--approvals', '60'));

test('nobody answers: the request is withdrawn, and the window decides as always', () => sceneOf('claude', async (one) => {
  const session = claude(one.house, one.model, one.directory, { away: true });
  one.model.plans({ call: 'Bash', with: { command: 'touch late.txt', description: 'Too late' } }, { say: 'Going on.' });
  const ended = session.prompt('Write it');
  const withdrawn = async () => JSON.parse(await one.house.plenary(one.directory, 'requests', 'list', '--state', 'withdrawn', '--json')).requests.length === 1;
  await until(withdrawn, 'the request is withdrawn');
  assert.deepEqual(session.asked, ['Bash']);
  session.refuse();
  await ended;
  assert.equal(existsSync(join(one.directory, 'late.txt')), false);
  assert.match(last(one.model), /The person says no\./);
  await session.close();
}, '--approvals', '2'));

/** A session of Claude Code with a server that asks its person for something. @param {any} scene */
const banking = ({ house, model, directory }) => {
  const bank = { mcpServers: { bank: { command: process.execPath, args: [fileURLToPath(new URL('bank.js', import.meta.url))] } } };
  return claude(house, model, directory, { away: true, args: ['--mcp-config', JSON.stringify(bank), '--allowedTools', 'mcp__bank__pay'] });
};
/** The person's answer as the server had it. @param {any} model */
const heard = (model) => JSON.parse(/The person's answer: (\{.*\})/s.exec(last(model))?.[1].replaceAll('\\"', '"') ?? 'null');

test('claude: what a server asks for is filled in in the page, and the server gets the values', () => sceneOf('claude', async (one) => {
  const session = banking(one);
  one.model.plans({ call: 'mcp__bank__pay', with: {} }, { say: 'Going on.' });
  const ended = session.prompt('Pay it');
  const page = await inbox(one, 'bank asks: Which account pays the bill?');
  await page.keyboard.press('e');
  // What the form does not take is not sent.
  await page.locator('.fields select').selectOption('household');
  await page.getByRole('spinbutton').fill('70');
  await page.keyboard.press('Control+Enter');
  assert.equal(await page.getByRole('spinbutton').evaluate((/** @type {any} */ field) => field.validity.rangeOverflow), true);
  await page.getByRole('spinbutton').fill('7');
  await page.getByRole('checkbox', { name: 'With a receipt' }).check();
  await page.keyboard.press('Control+Enter');
  await ended;
  assert.deepEqual(heard(one.model), { action: 'accept', content: { account: 'household', amount: 7, receipt: true } });
  await session.close();
}, '--approvals', '60'));

test('claude: what a server asks for is declined in the page', () => sceneOf('claude', async (one) => {
  const session = banking(one);
  one.model.plans({ call: 'mcp__bank__pay', with: {} }, { say: 'Going on.' });
  const ended = session.prompt('Pay it');
  const page = await inbox(one, 'bank asks: Which account pays the bill?');
  await page.getByRole('button', { name: /^Decline/ }).click();
  await ended;
  assert.equal(heard(one.model).action, 'decline');
  await session.close();
}, '--approvals', '60'));
