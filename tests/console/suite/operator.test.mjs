// The operator's console: the agents of all owners, what they store, and what people did in their names.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { violations } from '../axe.mjs';
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

test('the operator sees every owner, and each number is the one of the server', async (t) => {
  const operator = client(server.url, server.operator);
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, server.operator);
  await page.locator('.rail-foot .role', { hasText: 'operator' }).waitFor();
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.locator('.list-row', { hasText: 'Widget export drops the last row' }).waitFor();
  await page.evaluate(() => (location.hash = '#/timeline?agent=@acme.support'));
  await page.locator('.event-row', { hasText: '@acme.support' }).first().waitFor();
  await page.evaluate(() => (location.hash = '#/health'));
  const stores = page.locator('section', { has: page.locator('#owners') });
  for (const { owner } of (await operator.get('/_admin/owners?limit=100')).owners) await stores.locator('tr', { hasText: owner }).first().waitFor();
  const lag = page.locator('section', { has: page.locator('#lag') });
  const { agents } = await operator.get('/overview');
  for (const { handle, unread } of agents.filter((one) => one.unread)) await lag.locator('tr', { hasText: handle }).getByText(String(unread), { exact: true }).first().waitFor();
  const writing = page.locator('section', { has: page.locator('#writing') });
  await writing.locator('tr', { hasText: 'Writes that wait for the log' }).waitFor();
  await writing.getByText('commits a second').waitFor();
  await page.waitForFunction(() => !document.querySelector('section:has(#writing) .gauges')?.textContent?.includes('…'), null, { timeout: 60_000 });
  await page.locator('section', { has: page.locator('#counters') }).locator('tr').first().waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(browser.troubles, []);
});

test('an owner sees how far its own agents are, and nothing of the server', async (t) => {
  const ida = client(server.url, made.owners.ida);
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/health'));
  const far = page.locator('section', { has: page.locator('#lag') });
  const { agents } = await ida.get('/overview');
  for (const { handle } of agents) await far.locator('tr', { hasText: handle }).first().waitFor();
  const seen = agents.find((one) => one.seen_to);
  assert.ok(seen, 'an agent that has seen a message');
  await far.locator('tr', { hasText: seen.handle }).getByText(seen.seen_to.toLocaleString('en'), { exact: true }).first().waitFor();
  assert.equal(await far.locator('tr', { hasText: '@acme.' }).count(), 0);
  assert.equal(await page.locator('#writing').count(), 0);
  assert.deepEqual(browser.troubles, []);
});

test('what a person does in the name of an agent is in the audit of the owner and of the operator, and of nobody else', async (t) => {
  const browser = await openBrowser(t);
  const ida = await browser.signedIn(server, made.owners.ida);
  await ida.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.export);
  await ida.locator('#compose').fill('In the name of the laptop.');
  await ida.keyboard.press('Control+Enter');
  await ida.locator('.message', { hasText: 'In the name of the laptop.' }).waitFor();
  for (const [token, sees] of [[made.owners.ida, true], [server.operator, true], [made.owners.acme, false]]) {
    const other = await openBrowser(t);
    const page = await other.signedIn(server, token);
    await page.evaluate(() => (location.hash = '#/audit'));
    await page.locator('h1', { hasText: 'Audit' }).waitFor();
    const row = page.locator('tr', { hasText: '@ida.laptop' }).filter({ hasText: '@ida.ida' });
    if (sees) await row.first().waitFor();
    else {
      await page.waitForFunction(() => !document.body.textContent.includes('Looking …'));
      assert.equal(await row.count(), 0);
    }
  }
});

test('the audit shows decisions as they are made, and none is missing between its pages', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const other = await browser.context.newPage();
  await other.goto(`${server.url}/#/inbox`);
  await other.locator('.list-row').first().waitFor();
  const decide = async (title) => {
    const { request_id } = await laptop.post('/requests', { kind: 'permission', title, action: { name: 'Sh', args: {} }, allow: { accept: true, edit: true, respond: true, ignore: true } });
    await other.evaluate((id) => (location.hash = `#/inbox/${id}`), request_id);
    await other.locator('#request-title', { hasText: title }).waitFor();
    await other.keyboard.press('a');
    return request_id;
  };
  const first = [];
  for (let n = 0; n < 4; n++) first.push(await decide(`Early ${n}.`));
  await page.route(/\/_admin\/audit(\?|$)/, (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set('limit', '3');
    return route.continue({ url: url.href });
  });
  await page.evaluate(() => (location.hash = '#/audit'));
  const row = (id) => page.locator('tr', { hasText: id });
  await row(first[3]).first().waitFor();
  const late = [];
  for (let n = 0; n < 2; n++) late.push(await decide(`Late ${n}.`));
  for (const id of late) await row(id).first().waitFor();
  for (let n = 0; n < 20 && (await page.getByRole('button', { name: 'Older' }).count()); n++) {
    const before = await page.locator('tbody tr').count();
    await page.getByRole('button', { name: 'Older' }).click();
    await page.waitForFunction((was) => document.querySelectorAll('tbody tr').length > was || !document.body.textContent.includes('Older'), before);
  }
  for (const id of [...first, ...late]) assert.equal(await row(id).count(), 1, id);
});
