// What does not fit on one page of the server: blocks, channels, decided requests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { startServer } from '../server.mjs';

const BLOCKS = 105;
const CHANNELS = 505;
const DECISIONS = 105;
const TRUSTING = 23;
let server;
let token;
let owner;
let one;

/** Does something `count` times, a few at a time. */
const many = async (count, make) => {
  let next = 0;
  await Promise.all(Array.from({ length: 12 }, async () => {
    for (let n = next++; n < count; n = next++) await make(n);
  }));
};

before(async () => {
  server = await startServer();
  const operator = client(server.url, server.operator);
  token = (await operator.post('/_admin/owners', { owner: 'ida' })).token;
  owner = client(server.url, token);
  for (const name of ['one', 'zed']) {
    const made = await operator.post('/_admin/agents', { handle: `@ida.${name}`, allowlist: ['@ida.*'] });
    if (name === 'one') one = client(server.url, made.token);
  }
});
after(() => server?.stop());

const open = async (t, hash) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, token);
  await page.evaluate((to) => (location.hash = to), hash);
  return { browser, page };
};

test('all blocks count, wherever they are asked about', async (t) => {
  await many(BLOCKS, (n) => owner.post('/_admin/agents/@ida.one/blocks', { handle: `@acme.a${String(n).padStart(3, '0')}` }));
  await owner.post('/_admin/agents/@ida.one/blocks', { handle: '@ida.zed' });
  const { blocks } = await owner.get('/_admin/agents/@ida.one/blocks?limit=100');
  assert.ok(!blocks.some(({ blocked_handle }) => blocked_handle === '@ida.zed'), 'it is on a later page');
  const { browser, page } = await open(t, '#/agents/@ida.one?other=@ida.zed');
  await page.locator('h4', { hasText: `Blocked ${BLOCKS + 1}` }).waitFor();
  await page.locator('.verdict.no', { hasText: '@ida.one blocks @ida.zed' }).waitFor();
  await page.evaluate(() => (location.hash = '#/map?lines=reach'));
  await page.locator('tr', { hasText: 'no: @ida.one blocks @ida.zed' }).waitFor();
  await page.evaluate(() => (location.hash = '#/map/@ida.one?lines=reach'));
  await page.locator('.why li', { hasText: 'it blocks them' }).getByText('1', { exact: true }).waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('all channels are listed, and a post does not read the list again', async (t) => {
  const made = [];
  await many(CHANNELS, async (n) => made.push(await one.post('/agent-channel', { title: `Channel ${n}` })));
  const { browser, page } = await open(t, `#/channels/${made[0].id}`);
  await page.locator('#channel-title', { hasText: made[0].title }).waitFor();
  await page.locator(`.list-row[aria-setsize="${CHANNELS}"]`).first().waitFor();
  const lists = [];
  page.on('request', (request) => /\/agent-channel\?/.test(request.url()) && !request.headers()['x-asp-agent'] && lists.push(request.url()));
  await one.post(`/agent-channel/${made[0].id}/event`, { kind: 'comms', payload: { text: 'A post.' } });
  await page.locator('.posts li', { hasText: 'A post.' }).waitFor();
  await one.post('/agent-channel', { title: 'A new channel' });
  await page.locator(`.list-row[aria-setsize="${CHANNELS + 1}"]`).first().waitFor();
  assert.equal(lists.length, 2, 'the pages of one list, for the new channel');
  await page.evaluate(() => (location.hash = '#/channels/ZZZZ'));
  await page.getByText('There is no such channel, or it is not yours.').waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('the channels of other owners are read for a few agents, and the page says so', async (t) => {
  const operator = client(server.url, server.operator);
  await many(TRUSTING, (n) => operator.post('/_admin/agents', { handle: `@ida.open-${n}`, policy: 'open' }));
  await one.post('/agent-channel', { title: 'A channel' });
  const { browser, page } = await open(t, '#/now');
  const asked = new Set();
  page.on('request', (request) => /\/agent-channel\?/.test(request.url()) && asked.add(request.headers()['x-asp-agent']));
  await page.evaluate(() => (location.hash = '#/channels'));
  await page.locator('.list-row').first().waitFor();
  await page.getByText(`Channels of other owners are read for 20 of the ${TRUSTING + 1} agents that admit others.`).waitFor(); // and the builder
  assert.equal([...asked].filter(Boolean).length, 20);
  assert.deepEqual(browser.troubles, []);
});

test('decided requests go on past the first page, and the search says what it covers', async (t) => {
  const made = [];
  for (let n = 0; n < DECISIONS; n++) made.push(await one.post('/requests', { kind: 'question', title: `Decision ${n}.`, allow: { accept: false, edit: false, respond: true, ignore: true }, on_timeout: 'none' }));
  for (let from = 0; from < DECISIONS; from += 100) await owner.post('/requests/answers', { answers: made.slice(from, from + 100).map(({ request_id, version }) => ({ request_id, version, type: 'ignore' })) });
  const { browser, page } = await open(t, '#/inbox?state=answered&q=decision%202.');
  await page.getByText('Searched: the 100 that are read.').waitFor();
  assert.equal(await page.locator('.list-row').count(), 0);
  await page.getByRole('button', { name: 'Older decisions' }).click();
  await page.locator('.list-row', { hasText: 'Decision 2.' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Older decisions' }).count(), 0);
  assert.deepEqual(browser.troubles, []);
});

test('the operator is told that there are more owners than are shown', async (t) => {
  await many(100, (n) => client(server.url, server.operator).post('/_admin/owners', { owner: `owner-${n}` }));
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, server.operator);
  await page.evaluate(() => (location.hash = '#/health'));
  await page.getByText('The first 100; there are more.').waitFor();
});
