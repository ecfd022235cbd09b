// The server is killed and started again under the page: it says so, catches up, and never reloads.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

let server;
let made;
before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
});
after(() => server?.stop());

test('stale is said, then it is live again with all that came, without a reload', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const session = made.sessions.review;
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), session);
  await page.locator('.message', { hasText: 'I read it' }).waitFor();
  await page.locator('#compose').fill('A draft that is not sent');
  await page.evaluate(() => (globalThis.__same = true));
  for (let round = 0; round < 3; round++) {
    await page.locator('[data-live=live]').waitFor();
    await server.kill();
    await page.locator('[data-live=stale]').waitFor({ timeout: 30_000 });
    await server.restart();
    await laptop.post(`/sessions/${session}/messages`, { content: `After restart ${round}` });
    await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
    await laptop.post(`/sessions/${session}/messages`, { content: `Live again ${round}` });
    await page.locator('.message', { hasText: `Live again ${round}` }).waitFor();
    await page.locator('.message', { hasText: `After restart ${round}` }).waitFor();
  }
  const texts = await page.locator('.message').allInnerTexts();
  for (let round = 0; round < 3; round++) {
    assert.equal(texts.filter((text) => text.includes(`After restart ${round}`)).length, 1);
    assert.equal(texts.filter((text) => text.includes(`Live again ${round}`)).length, 1);
  }
  assert.equal(await page.evaluate(() => globalThis.__same), true);
  assert.equal(await page.locator('#compose').inputValue(), 'A draft that is not sent');
  assert.equal((await page.evaluate(() => performance.getEntriesByType('navigation'))).length, 1);
});

test('a place that is no longer known causes everything to be read again', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.locator('[data-live=live]').waitFor();
  let gone = 0;
  await page.route(/\/watch\?after=/, async (route) => {
    if (gone++ === 0) return route.fulfill({ status: 410, json: { error: { code: 'cursor_gone', message: 'gone' } } });
    return route.continue();
  });
  const read = page.waitForRequest((request) => request.url().includes('/requests?state=open'), { timeout: 30_000 });
  await server.kill();
  await page.locator('[data-live=stale]').waitFor({ timeout: 30_000 });
  await server.restart();
  await read;
  await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
  assert.ok(gone >= 1);
});
