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

test('who asks, and for whom, is said in the words of each kind, and nothing is said twice', async (t) => {
  const { requests } = await owner.get('/requests?state=open&limit=100');
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const facts = async (kind) => {
    await show(page, requests.find((one) => one.kind === kind));
    return page.locator('.request .facts > div').evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.querySelector('dt').textContent, row.querySelector('dd').textContent])));
  };
  const contact = await facts('contact');
  assert.deepEqual([contact.Asks, contact['To write to']], ['@acme.support', '@ida.reviewer']);
  const run = await facts('run_input');
  assert.deepEqual([run.Asks, run['On behalf of'], run.Tool], ['builder', '@ida.laptop', undefined]);
  assert.equal(await page.locator('.request').getByText('Publish 2.4.0 to the registry? (yes or no)').count(), 2, 'in the title and in the text');
  assert.equal(await page.getByRole('button', { name: /^(Edit|Answer)/ }).count(), 0, 'it asks for one thing, which is answered in words');
  const held = await facts('hold');
  assert.deepEqual([held.Asks, held['On behalf of']], ['@ida.scribe', '@ida.laptop']);
  await show(page, await ask());
  await page.getByText('It waits until somebody answers.').waitFor();
  await page.getByLabel(/Always accept/).waitFor();
});

test('a change shows every line that it takes away, also one that looks like the name of a file', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const diff = '--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n--- keep the last row\n select 1;\ndiff --git a/p b/p\n--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\n+b\n';
  await show(page, await ask({ detail: { diff } }));
  await page.locator('.diff figcaption', { hasText: '1 added, 2 removed' }).waitFor();
  assert.deepEqual(await page.locator('.diff-line.cut code').allInnerTexts(), ['--- keep the last row', '-a']);
  assert.equal(await page.locator('.diff-line.path').count(), 5);
});

test('a link to what a review is about opens it', async (t) => {
  const { requests } = await owner.get('/requests?state=open&limit=100');
  const browser = await openBrowser(t);
  await laptop.post('/v1/projects', { project_id: 'another', name: 'Another one', description: 'The newest project' });
  const page = await browser.signedIn(server, made.owners.ida);
  await show(page, requests.find(({ kind }) => kind === 'review'));
  await page.locator('.facts a', { hasText: 'context' }).click();
  await page.locator('.package', { hasText: 'Drop the old parser' }).waitFor();
});

test('a contact is answered in the page, and each is on the allowlist of the other', async (t) => {
  const { requests } = await owner.get('/requests?state=open&limit=100');
  const contact = requests.find(({ kind }) => kind === 'contact');
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await show(page, contact);
  await page.keyboard.press('a');
  await become(contact, ({ state }) => state === 'answered');
  for (let n = 0; ; n++) {
    const { entries } = await owner.get('/_admin/agents/@ida.reviewer/allowlist');
    if (entries.includes('@acme.support')) break;
    assert.ok(n < 100, `the allowlist stays ${entries}`);
    await new Promise((done) => setTimeout(done, 50));
  }
});

test('several are accepted together, and taken back together', async (t) => {
  const requests = [await ask(), await ask(), await ask()];
  const other = await ask();
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  for (const request of requests) {
    await show(page, request);
    await page.keyboard.press('x');
  }
  await page.getByRole('button', { name: 'Accept all' }).click();
  for (const request of requests) assert.equal((await become(request, ({ state }) => state === 'answered')).answer.type, 'accept');
  assert.equal((await stateOf(other)).state, 'open');
  await page.keyboard.press('u');
  for (const request of requests) await become(request, ({ state }) => state === 'open');
});

test('two people in two browsers: what one gives to the other leaves the one list, is marked in the other, and one answer counts', async (t) => {
  await owner.post('/_admin/people', { handle: '@ida.bob' });
  const browsers = [await openBrowser(t), await openBrowser(t)];
  const ida = await browsers[0].signedIn(server, made.owners.ida);
  const bob = await browsers[1].signedIn(server, made.owners.ida, { person: '@ida.bob' });
  const [given, kept] = [await ask(), await ask()];
  const row = (page, { title }) => page.locator('.list-row').filter({ has: page.getByText(title, { exact: true }) });
  for (const page of [ida, bob]) await show(page, given);
  const count = async (page) => Number(await page.locator('.rail .count').first().evaluate((node) => node.firstChild.textContent));
  const before = await count(ida);
  await ida.getByLabel('Later, or by somebody else').selectOption('@ida.bob');
  await row(ida, given).waitFor({ state: 'detached' });
  await ida.waitForFunction((was) => Number(document.querySelector('.rail .count').firstChild.textContent) === was - 1, before);
  assert.equal((await stateOf(given)).to, '@ida.bob');
  await row(bob, given).getByText('Given to @ida.bob').waitFor();
  // It is not lost to the one who gave it.
  await ida.getByRole('group', { name: 'Whose' }).getByRole('button', { name: 'All' }).click();
  await row(ida, given).getByText('Given to @ida.bob').waitFor();
  await ida.getByRole('group', { name: 'Whose' }).getByRole('button', { name: 'Mine' }).click();
  await row(ida, given).waitFor({ state: 'detached' });
  // Both look at the same one; who is first decides, and the other sees it.
  for (const page of [ida, bob]) await show(page, kept);
  await bob.keyboard.press('i');
  assert.equal((await become(kept, ({ state }) => state === 'answered')).answer.type, 'ignore');
  await ida.locator('.decided', { hasText: 'ignore' }).waitFor();
  await ida.keyboard.press('a');
  assert.equal((await stateOf(kept)).answer.type, 'ignore');
  assert.deepEqual(browsers.flatMap(({ troubles }) => troubles), []);
});

test('an invitation is accepted in the page, and the agent takes part', async (t) => {
  const operator = client(server.url, server.operator);
  const agent = async (handle) => client(server.url, (await operator.post('/_admin/agents', { handle, policy: 'open' })).token);
  const [bot, desk] = [await agent('@acme.bot'), await agent('@ida.desk')];
  const { session_id } = await bot.post('/sessions', { invite: ['@ida.desk'], topic: 'The next export' });
  let invitation;
  for (let n = 0; !invitation; n++) {
    assert.ok(n < 100, 'no request came of the invitation');
    await new Promise((done) => setTimeout(done, 50));
    invitation = (await owner.get('/requests?state=open&limit=100')).requests.find(({ kind }) => kind === 'invitation');
  }
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await show(page, invitation);
  assert.match(await page.locator('.request .facts').first().innerText(), /Asks\s+@acme\.bot\s+To take part\s+@ida\.desk/);
  await page.keyboard.press('a');
  await become(invitation, ({ state }) => state === 'answered');
  for (let n = 0; ; n++) {
    const { participants } = await desk.get(`/sessions/${session_id}`);
    if (participants.find(({ handle }) => handle === '@ida.desk')?.status === 'joined') break;
    assert.ok(n < 100, JSON.stringify(participants));
    await new Promise((done) => setTimeout(done, 50));
  }
});
