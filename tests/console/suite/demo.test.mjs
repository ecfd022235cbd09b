// `plenary demo`: whoever follows its link is signed in and sees the story as it is played.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBrowser } from '../browser.mjs';
import { BIN } from '../server.mjs';

/** Starts the demonstration until the test ends; what it prints. */
function demo(t) {
  const home = mkdtempSync(join(tmpdir(), 'plenary-demo-home-'));
  const child = spawn(BIN, ['demo'], { env: { ...process.env, HOME: home }, stdio: ['ignore', 'pipe', 'ignore'] });
  const said = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (said.text += text));
  const ended = new Promise((done) => child.once('exit', done));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  const hears = async (pattern) => {
    for (let n = 0; n < 600; n++) {
      const found = pattern.exec(said.text);
      if (found) return found;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`${pattern} is not in:\n${said.text}`);
  };
  return { said, hears };
}

test('the story waits for the console, and is seen there while it is played', async (t) => {
  const { said, hears } = demo(t);
  const [link] = await hears(/http\S+#link=\S+/);
  await hears(/The story begins when the console is open/);
  assert.doesNotMatch(said.text, /invites @acme\.support/, 'nothing is played before somebody watches');
  const browser = await openBrowser(t);
  const page = await browser.context.newPage();
  await page.goto(link);
  await page.locator('.shell').waitFor();
  assert.equal(new URL(page.url()).hash.split('?')[0], '#/timeline', 'it leads to what happens');
  assert.ok(!page.url().includes('link='), 'the secret is gone from the address');
  const rows = page.locator('.list-row');
  await rows.filter({ hasText: '@acme.support' }).first().waitFor();
  await rows.filter({ hasText: 'session.message' }).first().waitFor();
  // It goes on by itself: what is not there yet comes without a reload.
  assert.doesNotMatch(said.text, /ends the conversation/, 'the story is not over when it is first seen');
  await rows.filter({ hasText: 'session.ended' }).first().waitFor();
  await hears(/ends the conversation/);
  await rows.filter({ hasText: 'session.reopened' }).first().waitFor();
  assert.deepEqual(browser.troubles, []);
});
