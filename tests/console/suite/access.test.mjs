// The page Access: the tokens of agents as a tree, made and revoked, and the clients that a person let in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { treeOf } from '../../../crates/console/web/pages/access/tree.js';
import { client } from '../api.mjs';
import { violations } from '../axe.mjs';
import { openBrowser } from '../browser.mjs';
import { letIn } from '../oauth.mjs';
import { startServer } from '../server.mjs';

const LAPTOP = '@ida.laptop';
let server;
let owner;
let own;

before(async () => {
  server = await startServer();
  const operator = client(server.url, server.operator);
  owner = (await operator.post('/_admin/owners', { owner: 'ida' })).token;
  for (const handle of ['@ida.scribe', LAPTOP]) own = (await client(server.url, owner).post('/_admin/agents', { handle })).token;
});
after(() => server?.stop());

const tokens = async () => (await client(server.url, owner).get(`/_admin/agents/${LAPTOP}/tokens`)).tokens;
const answers = async (token) => (await fetch(`${server.url}/agents/me`, { headers: { Authorization: `Bearer ${token}` } })).status;
const row = (page, name) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
const open = async (page) => {
  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByRole('heading', { name: 'Tokens of agents' }).waitFor();
};

test('tokens are a tree, whatever their order', () => {
  const token = (id, parent) => ({ id, parent, scope: 'read', created_at: 0 });
  const shape = (list) => treeOf(list).map(({ token: { id }, depth, below }) => [id, depth, below]);
  assert.deepEqual(shape([token('a'), token('b', 'own'), token('c', 'b'), token('d', 'c'), token('e', 'a'), token('f', 'gone')]),
    [['a', 0, 1], ['e', 1, 0], ['b', 0, 2], ['c', 1, 1], ['d', 2, 0], ['f', 0, 0]]);
  assert.deepEqual(shape([token('child', 'top'), token('top')]), [['top', 0, 1], ['child', 1, 0]]);
  assert.deepEqual(shape([]), []);
});

test('a token is made by the keyboard alone, shown once, and works', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  await open(page);
  await page.getByRole('rowheader', { name: LAPTOP }).waitFor();
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'A new token' });
  await dialog.getByLabel('Agent').selectOption(LAPTOP);
  await dialog.getByLabel('Name').focus();
  await page.keyboard.type('nightly build');
  await dialog.getByLabel('It may').selectOption('rooms');
  assert.deepEqual(await violations(page), []);
  await dialog.locator('select[name=accounts]').selectOption('read');
  await dialog.locator('select[name=sessions]').selectOption('write');
  await dialog.getByLabel('It lasts').selectOption('a day');
  await dialog.getByLabel('Name').focus();
  await page.keyboard.press('Enter');
  const shown = page.getByRole('dialog', { name: 'The token is made' });
  const token = await shown.locator('code').innerText();
  assert.match(token, /^pls_/);
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('Escape');
  await shown.waitFor({ state: 'detached' });
  const [made] = await tokens();
  assert.deepEqual([made.name, made.scope, made.parent], ['nightly build', 'accounts:read sessions:write', undefined]);
  assert.ok(Math.abs(made.expires_at - made.created_at - 86_400_000) < 2_000);
  const line = row(page, 'nightly build');
  await line.getByText('the owner').waitFor();
  await line.getByText('never').waitFor();
  assert.equal(await answers(token), 200);
  await page.reload();
  await line.getByText(/^\d+ (s|min) ago$/).waitFor();
  assert.equal(await page.getByText(token).count(), 0, 'it is shown once');
  assert.deepEqual(browser.troubles, []);
});

test('what the server refuses is said in the form, and nothing is made', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  await open(page);
  const count = (await tokens()).length;
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog', { name: 'A new token' });
  await dialog.getByLabel('It may').selectOption('rooms');
  await dialog.getByRole('button', { name: 'Make it' }).click();
  await dialog.getByRole('alert').getByText('scope').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await tokens()).length, count);
});

test('revoking a token ends those below it, and the page shows it without being asked', async (t) => {
  const mother = await client(server.url, own).post('/agents/me/tokens', { scope: 'read write', name: 'mother' });
  const child = await client(server.url, mother.token).post('/agents/me/tokens', { scope: 'write', name: 'child' });
  const grandchild = await client(server.url, child.token).post('/agents/me/tokens', { scope: 'read', name: 'grandchild' });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  await open(page);
  await row(page, 'mother').getByText('its own token').waitFor();
  await row(page, 'child').getByText('mother').waitFor();
  await row(page, 'grandchild').getByText('child', { exact: true }).waitFor();
  // By the keyboard: the button, the question, the answer.
  await page.getByRole('button', { name: 'Revoke mother' }).focus();
  await page.keyboard.press('Enter');
  const asks = page.getByRole('dialog', { name: 'Revoke it?' });
  await asks.getByText('with the 2 below it').waitFor();
  assert.deepEqual(await violations(page), []);
  await asks.getByRole('button', { name: 'Revoke' }).focus();
  await page.keyboard.press('Enter');
  for (const name of ['mother', 'child', 'grandchild']) await row(page, name).waitFor({ state: 'detached' });
  for (const { token } of [mother, child, grandchild]) assert.equal(await answers(token), 401);
  // One that an agent makes meanwhile shows by itself.
  await client(server.url, own).post('/agents/me/tokens', { scope: 'read', name: 'by itself' });
  await row(page, 'by itself').waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('a client that was let in is listed, and revoked with all that it has', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  const granted = await letIn(page, server, { name: 'Web <b>assistant</b>', agent: LAPTOP });
  assert.equal(await answers(granted.access_token), 200);
  await page.goto(`${server.url}/#/access`);
  const clients = page.getByRole('region', { name: 'Clients, a table' });
  const line = clients.getByRole('row').filter({ hasText: 'Web <b>assistant</b>' });
  await line.getByText(LAPTOP.slice(5)).waitFor();
  await line.getByText(/^in (29|30) d$/).waitFor();
  await line.getByText(/^\d+ (s|min) ago$/).last().waitFor();
  await line.getByRole('button', { name: /^Revoke the access of/ }).click();
  await page.getByRole('dialog', { name: 'Revoke it?' }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('None. A client on the web').waitFor();
  assert.equal(await answers(granted.access_token), 401);
  assert.deepEqual(await granted.renew().then(({ status, body }) => [status, body.error]), [400, 'invalid_grant']);
  assert.deepEqual(browser.troubles, []);
});

test('a viewer sees the tokens and changes none; another owner sees none of them', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner, { role: 'viewer' });
  await open(page);
  await row(page, 'nightly build').waitFor();
  for (const name of ['New token', 'Revoke nightly build']) assert.ok(await page.getByRole('button', { name }).isDisabled());
  await page.keyboard.press('n');
  assert.equal(await page.getByRole('dialog').count(), 0);
  const acme = (await client(server.url, server.operator).post('/_admin/owners', { owner: 'acme' })).token;
  const other = await (await openBrowser(t)).signedIn(server, acme);
  await open(other);
  await other.getByText('No agents.').waitFor();
  assert.equal(await other.getByText(LAPTOP.slice(5)).count(), 0);
});

for (const [width, height, theme] of [[1440, 900, 'light'], [1024, 768, 'dark'], [390, 844, 'light'], [390, 844, 'dark']]) {
  test(`tokens and clients at ${width} px, ${theme}: axe finds nothing, and nothing is wider than the screen`, async (t) => {
    const browser = await openBrowser(t, { viewport: { width, height }, colorScheme: theme });
    const page = await browser.signedIn(server, owner);
    await letIn(page, server, { name: `Client at ${width}`, agent: LAPTOP, scope: 'read' });
    await page.goto(`${server.url}/#/access`);
    await page.getByRole('region', { name: 'Clients, a table' }).getByText(`Client at ${width}`).first().waitFor();
    await row(page, 'nightly build').waitFor();
    assert.deepEqual(await violations(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(browser.troubles, []);
  });
}
