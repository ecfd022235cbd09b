// A new server: each page says how it gets its first content, and the sign-in offers nothing that cannot work.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser } from '../browser.mjs';
import { startServer } from '../server.mjs';

let server;
// Without the agents of the usual configuration.
before(async () => (server = await startServer({ more: { PLENARY_CONFIG: '', XDG_CONFIG_HOME: '/none' } })));
after(() => server?.stop());

const ADVICE = [
  ['#/now', 'plenary connect claude'],
  ['#/inbox', 'plenary ask'],
  ['#/conversations', 'begins one'],
  ['#/agents', 'plenary connect claude'],
  ['#/runs', 'gives a task to an agent'],
  ['#/context', 'plenary context init'],
  ['#/channels', 'plenary channel create'],
  ['#/access', 'plenary console --owner NAME'],
];

test('every empty page says how to begin', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, server.operator);
  for (const [hash, text] of ADVICE) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator('main').getByText(text).first().waitFor();
  }
  assert.deepEqual(browser.troubles, []);
});

test('passkeys are offered only at a host with a name', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.context.newPage();
  const offered = page.getByRole('button', { name: 'Sign in with a passkey' });
  for (const [host, count] of [['127.0.0.1', 0], ['localhost', 1]]) {
    await page.goto(server.url.replace('127.0.0.1', host));
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    assert.equal(await offered.count(), count, host);
  }
});
