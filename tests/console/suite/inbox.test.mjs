// The inbox of people: what a link shows, when an answer takes effect, who a request is given to, and several people at once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

let server;
let made;
let laptop;
let owner;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
  laptop = client(server.url, made.tokens['@ida.laptop']);
  owner = client(server.url, made.owners.ida);
});
after(() => server?.stop());

let serial = 0;
/** Asks a person for a permission. */
const ask = (more = {}) =>
  laptop.post('/requests', {
    kind: 'permission', title: `Permission ${++serial}`, action: { name: 'Bash', args: { command: `make ${serial}` } },
    allow: { accept: true, edit: true, respond: true, ignore: true }, on_timeout: 'none', ...more,
  });
const stateOf = ({ request_id }) => owner.get(`/requests/${request_id}`);
const openOnes = async () => (await owner.get('/requests?state=open&limit=100')).requests.map(({ request_id }) => request_id);
const become = async (request, wanted) => {
  for (let n = 0; n < 200; n++) {
    const now = await stateOf(request);
    if (wanted(now)) return now;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it stays ${JSON.stringify(await stateOf(request))}`);
};
/** The page as a link opens it: nothing of it was there before. */
const follow = async (browser, id) => {
  const page = await browser.context.newPage();
  await page.goto(`${server.url}/#/inbox/${id}`);
  await page.locator('.split-list .list-row').first().waitFor();
  return page;
};
const show = async (page, request) => {
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
};

test('a link to a decided or unknown request shows no other, and keys act on none', async (t) => {
  const decided = await ask();
  await owner.post(`/requests/${decided.request_id}/answer`, { type: 'ignore', version: decided.version });
  const browser = await openBrowser(t);
  await browser.signedIn(server, made.owners.ida);
  const before = await openOnes();
  const page = await follow(browser, decided.request_id);
  await page.locator('#request-title', { hasText: decided.title }).waitFor();
  await page.locator('.decided', { hasText: 'ignore' }).waitFor();
  const foreign = (await client(server.url, made.tokens['@acme.support']).post('/requests', { kind: 'question', title: 'Of Acme' })).request_id;
  const others = [];
  for (const id of [foreign, 'ask_01AAAAAAAAAAAAAAAAAAAAAAAA', 'nonsense']) {
    const other = await follow(browser, id);
    await other.getByText('There is no such request, or it is not yours.').waitFor();
    assert.equal(await other.locator('#request-title').count(), 0, id);
    others.push(other);
  }
  for (const one of [page, ...others]) {
    // A batch is of what is picked by key, too.
    for (const key of ['x', 'w', 'a', 'i', 'z']) await one.keyboard.press(key);
    assert.equal(await one.locator('.toast').count(), 0);
    assert.equal(await one.locator('.picked').count(), 0);
  }
  assert.deepEqual(await openOnes(), before);
  // The list is there, and goes on from its own rows.
  await others[0].locator('.list-row').first().click();
  await others[0].locator('#request-title').waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('a single answer takes effect at once, or after eight seconds where the person wants that', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  /** Accepts by key, and tells after how many milliseconds the agent goes on. */
  const resumed = async () => {
    const request = await ask();
    await show(page, request);
    const waiting = laptop.get(`/requests/${request.request_id}?wait=30`).then(({ state }) => [state, Date.now()]);
    const began = Date.now();
    await page.keyboard.press('a');
    const [state, at] = await waiting;
    assert.equal(state, 'answered');
    return at - began;
  };
  const times = [await resumed(), await resumed(), await resumed()];
  assert.ok(Math.min(...times) < 1000, `the agent went on after ${times} ms`);
  assert.equal(await page.getByRole('button', { name: /^Undo/ }).count(), 0);
  const other = await ask();
  await show(page, other);
  await page.getByLabel('Wait 8 s before a single answer takes effect').check();
  await page.reload();
  await page.locator('#request-title', { hasText: other.title }).waitFor();
  assert.ok(await page.getByLabel('Wait 8 s before a single answer takes effect').isChecked(), 'the browser remembers it');
  const late = await resumed();
  assert.ok(late >= 7_500, `the agent went on after ${late} ms`);
});
