// Passkeys, with Chromium's virtual authenticator: added on the page Access, used on the sign-in page, removed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { startServer } from '../server.mjs';

let server;
let owner;

before(async () => {
  // Browsers have passkeys for names alone, not for addresses.
  server = await startServer({ host: 'localhost' });
  const operator = client(server.url, server.operator);
  owner = (await operator.post('/_admin/owners', { owner: 'ida' })).token;
});
after(() => server?.stop());

/** A page with an authenticator of its own, which verifies its user without asking. */
const withAuthenticator = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  return { session, authenticatorId };
};
const signOut = async (page) => {
  await page.evaluate(() => (location.hash = '#/access'));
  await page.locator('.rail').getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('A console for what your agents do').waitFor();
};
const add = async (page, name) => {
  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByRole('textbox', { name: 'A name for the passkey' }).fill(name);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
};
const signIn = (page) => page.getByRole('button', { name: 'Sign in with a passkey' }).click();
const passkeys = async () => (await client(server.url, owner).get('/console/passkeys')).passkeys;

test('a passkey is added, signs in, counts, and is removed', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  const { session, authenticatorId } = await withAuthenticator(page);
  await add(page, 'Laptop');
  await page.getByRole('rowheader', { name: 'Laptop' }).waitFor();
  const [made] = await passkeys();
  assert.deepEqual([made.name, made.person, made.role, made.usable, made.last_used_at], ['Laptop', '@ida.ida', 'owner', true, null]);
  // The same authenticator has one for this person already.
  await add(page, 'Again');
  await page.getByText('This device has a passkey').waitFor();
  assert.equal((await passkeys()).length, 1);

  for (let n = 0; n < 2; n++) {
    await signOut(page);
    await signIn(page);
    await page.locator('.shell').waitFor();
  }
  assert.ok((await passkeys())[0].last_used_at >= made.created_at);
  assert.deepEqual(await page.evaluate(async () => {
    const { role, person } = await (await fetch('/console/session')).json();
    return [role, person];
  }), ['owner', '@ida.ida']);

  // A copy of the authenticator, which counts from the beginning, is refused.
  const { credentials: [kept] } = await session.send('WebAuthn.getCredentials', { authenticatorId });
  assert.ok(kept.signCount > 1, `it counts: ${kept.signCount}`);
  await session.send('WebAuthn.removeCredential', { authenticatorId, credentialId: kept.credentialId });
  await session.send('WebAuthn.addCredential', { authenticatorId, credential: { ...kept, signCount: 0 } });
  await signOut(page);
  await signIn(page);
  await page.getByText('The passkey was not accepted').waitFor();
  await session.send('WebAuthn.removeCredential', { authenticatorId, credentialId: kept.credentialId });
  await session.send('WebAuthn.addCredential', { authenticatorId, credential: { ...kept, signCount: kept.signCount + 10 } });
  await signIn(page);
  await page.locator('.shell').waitFor();

  // Removing it ends the session that it began.
  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByRole('button', { name: 'Remove Laptop' }).click();
  await page.getByText('A console for what your agents do').waitFor();
  await signIn(page);
  await page.getByText('The passkey was not accepted').waitFor();
  assert.deepEqual(await passkeys(), []);
  assert.deepEqual(browser.troubles, []);
});

test('an answer is worth nothing a second time, elsewhere, or when it is changed', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  await withAuthenticator(page);
  await add(page, 'Key');
  await page.getByRole('rowheader', { name: 'Key' }).waitFor();
  const signs = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/console/sessions'));
  await signOut(page);
  await signIn(page);
  const { passkey } = (await signs).postDataJSON();
  await page.locator('.shell').waitFor();
  const use = async (changed, headers = {}) => {
    const reply = await fetch(`${server.url}/console/sessions`, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify({ passkey: { ...passkey, ...changed } }) });
    return [reply.status, (await reply.json()).error?.code ?? ''];
  };
  const refused = [401, 'passkey_invalid'];
  assert.deepEqual(await use({}), refused, 'its challenge was used');
  const { challenge } = await (await fetch(`${server.url}/console/passkeys/challenges`, { method: 'POST' })).json();
  const said = JSON.parse(Buffer.from(passkey.client_data, 'base64url').toString());
  const client_data = Buffer.from(JSON.stringify({ ...said, challenge })).toString('base64url');
  assert.deepEqual(await use({ client_data }), refused, 'nobody signed this challenge');
  const authenticator_data = `${passkey.authenticator_data.slice(0, -2)}AA`;
  assert.deepEqual(await use({ authenticator_data }), refused);
  assert.deepEqual(await use({ credential_id: 'AAAA' }), refused);
  assert.deepEqual(await use({}, { Origin: 'https://evil.example' }), [403, 'foreign_origin']);
});
