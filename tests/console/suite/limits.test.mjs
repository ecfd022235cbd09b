// Past a limit the person is told, plainly: the 33rd session of the console, and one stream of events too many.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { signInLink, client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { startServer } from '../server.mjs';

const SESSIONS_MAX = 32;
const WATCHES_MAX = 32;
let server;
let owners;

before(async () => {
  server = await startServer();
  owners = {};
  for (const owner of ['ida', 'acme']) owners[owner] = (await client(server.url, server.operator).post('/_admin/owners', { owner })).token;
});
after(() => server?.stop());

/** Somebody signs in elsewhere. */
const another = async (token) => {
  const link = new URL(await signInLink(server.url, token)).hash.replace('#link=', '');
  const reply = await fetch(`${server.url}/console/sessions`, { method: 'POST', headers: { 'Content-Type': 'application/json', Origin: server.url }, body: JSON.stringify({ link }) });
  assert.equal(reply.status, 201, await reply.text());
};

test('the page says that no session is left, and whoever loses theirs to another is told', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owners.ida);
  for (let n = 1; n < SESSIONS_MAX; n++) await another(owners.ida);
  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByText('No session is left').waitFor();
  await page.getByText(`${SESSIONS_MAX} of ${SESSIONS_MAX}`).waitFor();
  // The one that was idle longest goes. This page was used last, so all others go before it.
  const ended = page.getByText('Your session has ended.');
  for (let n = 0; n <= SESSIONS_MAX && !(await ended.count()); n++) {
    await another(owners.ida);
    const { sessions } = await client(server.url, owners.ida).get('/console/sessions');
    assert.equal(sessions.length, SESSIONS_MAX);
    if (!sessions.some(({ user_agent }) => /Chrome/.test(user_agent ?? ''))) await ended.waitFor();
  }
  await ended.waitFor();
  await page.goto(await signInLink(server.url, owners.ida));
  await page.locator('.shell').waitFor();
});

test('a page that may not follow says so, reads on, and follows when there is room', async (t) => {
  const stops = [];
  t.after(() => stops.forEach((stop) => stop.abort()));
  for (let n = 0; n < WATCHES_MAX; n++) {
    const stop = new AbortController();
    stops.push(stop);
    const reply = await fetch(`${server.url}/watch`, { headers: { Authorization: `Bearer ${owners.acme}`, Accept: 'text/event-stream' }, signal: stop.signal });
    assert.equal(reply.status, 200);
    await reply.body.getReader().read();
  }
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owners.acme);
  await page.getByText('This page does not follow what happens.').waitFor();
  await page.locator('[data-live=stale]').waitFor();
  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByText('1 of 32').waitFor();
  stops.pop().abort();
  await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
  await page.getByText('This page does not follow what happens.').waitFor({ state: 'detached' });
  assert.deepEqual(browser.troubles, []);
});
