// What the pages say while the server cannot be read, and after it is back.
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

test('what of a page cannot be read is not said to be none', async (t) => {
  await client(server.url, made.owners.ida).post('/_admin/agents/@ida.scribe/tokens', { scope: 'read' });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.route(/\/_admin\/sessions|\/console\/sessions|\/tokens$|\/requests\?state=(answered|expired|withdrawn)|\/blocks/, (route) => route.abort());
  await go(page, '#/map');
  await page.getByText('The conversations cannot be read').waitFor();
  assert.equal(await page.getByText('No two of them').count(), 0);
  await go(page, '#/map?lines=reach');
  await page.getByText('Who may write to whom cannot be read').waitFor();
  await go(page, '#/access');
  await page.getByText('The clients cannot be read').waitFor();
  await page.locator('#signed-in').waitFor();
  assert.equal(await page.getByText(/of 32|^None/).count(), 0);
  await go(page, '#/inbox?state=answered');
  await page.getByText('The requests cannot be read').waitFor();
  assert.equal(await page.getByText('None.').count(), 0);
  await go(page, '#/agents/@ida.laptop?other=@ida.reviewer');
  await page.getByText('What @ida.laptop blocks cannot be read').waitFor();
  await page.locator('.verdict', { hasText: 'Unknown' }).waitFor();
  assert.equal(await page.getByText(/Neither blocks|does not block/).count(), 0);
});

test('until they are read, it is not said that no requests are decided', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  let pass = () => {};
  const held = new Promise((done) => (pass = done));
  await page.route(/\/requests\?state=answered/, (route) => held.then(() => route.continue()));
  await go(page, '#/inbox?state=answered');
  await page.locator('.list-empty', { hasText: 'Looking …' }).waitFor();
  pass();
  await page.locator('.list-empty', { hasText: 'None.' }).waitFor();
});

test('a switch that the server has not taken goes back, and an entry that it refused stays', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await go(page, '#/agents/@ida.scribe');
  const box = page.getByLabel('Runs that others ask for wait until a person accepts them');
  await page.route('**/_admin/agents/@ida.scribe', (route) => (route.request().method() === 'PATCH' ? route.abort() : route.continue()));
  await box.click();
  await page.locator('.toast', { hasText: 'The server does not answer.' }).waitFor();
  assert.equal(await box.isChecked(), false);
  await page.unroute('**/_admin/agents/@ida.scribe');
  await box.click();
  await page.waitForFunction(async () => (await (await fetch('/_admin/agents/@ida.scribe')).json()).hold_runs);
  await page.waitForFunction(() => [...document.querySelectorAll('.agent input:checked')].some(({ disabled }) => !disabled));
  assert.equal(await box.isChecked(), true);
  const entry = page.getByLabel('Add to admitted');
  await entry.fill('no handle');
  await entry.press('Enter');
  await page.locator('.toast.bad').last().waitFor();
  assert.equal(await entry.inputValue(), 'no handle');
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
