// What the pages say while the server cannot be read, and after it is back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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

const go = (page, hash) => page.evaluate((to) => (location.hash = to), hash);

test('what cannot be read is not said to be empty', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.route(/\/requests(\/rules)?(\?|$)/, (route) => route.abort());
  await page.route(/\/agent-channel\?/, (route) => route.abort());
  await page.goto(`${server.url}/#/now`);
  await page.reload();
  await page.locator('h1', { hasText: 'What waits for you cannot be read.' }).waitFor();
  assert.equal(await page.getByText(/Nothing waits for you|go on by themselves/).count(), 0);
  await go(page, '#/inbox');
  await page.getByText('The requests cannot be read').waitFor();
  assert.equal(await page.getByText(/Looking …|Nothing waits/).count(), 0);
  await go(page, '#/inbox?state=rules');
  await page.getByText('The rules cannot be read').waitFor();
  assert.equal(await page.getByText('No rules').count(), 0);
  await go(page, '#/channels');
  await page.getByText('The channels cannot be read').waitFor();
  assert.equal(await page.getByText('No channel yet').count(), 0);
});

test('until it is read, nothing is said about what waits', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  let pass = () => {};
  const held = new Promise((done) => (pass = done));
  await page.route(/\/requests\?/, (route) => held.then(() => route.continue()));
  await page.reload();
  await page.locator('h1', { hasText: 'Looking …' }).waitFor();
  assert.equal(await page.getByText('Nothing waits for you').count(), 0);
  pass();
  await page.locator('h1', { hasText: 'for you.' }).waitFor();
});

test('a page whose code cannot be loaded says so, and can be loaded again', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.route('**/pages/audit/page.js', (route) => route.abort());
  await page.reload();
  await page.locator('.lane-row').first().waitFor();
  await go(page, '#/audit');
  await page.getByText('This page could not be loaded.').waitFor();
  await page.unroute('**/pages/audit/page.js');
  await page.getByRole('button', { name: 'Load again' }).click();
  await page.locator('h1', { hasText: 'Audit' }).waitFor();
});

test('pages that were opened while the server was away are read when it is back, and Health says that it is down', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.locator('.lane-row').first().waitFor();
  // The code of other pages is loaded ahead.
  await page.waitForFunction(() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/audit/page.js')), null, { timeout: 30_000 });
  await go(page, '#/health');
  await page.locator('.gauges', { hasText: 'serves' }).waitFor();
  await server.kill();
  await page.locator('.gauges', { hasText: 'down' }).waitFor({ timeout: 30_000 });
  const lists = [['runs', 'release 2.4 and fail'], ['conversations', 'Merge the new lexer'], ['channels', 'Port the parser'], ['timeline', '']];
  for (const [name] of lists) {
    await go(page, `#/${name}`);
    await page.getByText('cannot be read: The server does not answer.').first().waitFor();
    assert.equal(await page.getByText('Looking …').count(), 0, name);
  }
  await server.restart();
  await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
  for (const [name, text] of lists.reverse()) {
    await go(page, `#/${name}`);
    await page.locator('.list-row', { hasText: text }).first().waitFor();
    await page.getByText('cannot be read').waitFor({ state: 'detached' });
  }
  await go(page, '#/health');
  await page.locator('.gauges', { hasText: 'serves' }).waitFor();
});
