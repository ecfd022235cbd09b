// In whose name a person acts: as shown, and as chosen until the person chooses otherwise.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

let server;
let made;
let as;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
  as = Object.fromEntries(Object.entries(made.tokens).map(([handle, token]) => [handle.split('.')[1], client(server.url, token)]));
});
after(() => server?.stop());

/** A conversation of the laptop and the scribe, shown to their person. */
const talk = async (t, options) => {
  const { session_id } = await as.laptop.post('/sessions', { invite: ['@ida.scribe'], topic: 'Who speaks' });
  await as.scribe.post(`/sessions/${session_id}/join`);
  const browser = await openBrowser(t, options);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), session_id);
  await page.locator('.people', { hasText: '@ida.scribe' }).waitFor();
  const events = async (type) => (await as.laptop.get(`/sessions/${session_id}/events?limit=200`)).events.filter((event) => event.type === `session.${type}`);
  return { browser, page, session_id, events, speaker: page.locator('.compose select') };
};

test('a person invites, steps in, ends and opens again in the name that is shown', async (t) => {
  const { browser, page, events, speaker } = await talk(t);
  await speaker.selectOption('@ida.scribe');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Whom to invite').fill('@nobody.there @ida.reviewer');
  await page.keyboard.press('Enter');
  await page.locator('.toast', { hasText: 'Not invited: @nobody.there. ' }).waitFor();
  await page.locator('.toast', { hasText: 'Invited @ida.reviewer as @ida.scribe.' }).waitFor();
  await page.getByRole('button', { name: 'Take part yourself' }).click();
  await page.waitForFunction(() => document.querySelector('.compose select').value === '@ida.ida');
  assert.deepEqual((await events('invited')).slice(-2).map(({ payload }) => payload.by), ['@ida.scribe', '@ida.scribe']);
  await page.getByRole('button', { name: 'End', exact: true }).click();
  await page.locator('.event-line', { hasText: 'ended by @ida.ida' }).waitFor();
  await page.getByRole('button', { name: 'Reopen', exact: true }).click();
  await page.locator('.event-line', { hasText: 'opened again by @ida.ida' }).waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('an invitation that reaches nobody names the agents', async (t) => {
  const { page } = await talk(t);
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Whom to invite').fill('@nobody.there');
  await page.keyboard.press('Enter');
  await page.locator('.toast', { hasText: 'Not invited: @nobody.there. ' }).waitFor();
  await page.getByRole('button', { name: 'New n' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('With').fill('@ida.laptop, @nobody.there');
  await dialog.getByRole('button', { name: 'Begin' }).click();
  await dialog.getByText('One or more of these do not exist, or do not admit @ida.ida.').waitFor();
});

test('who was chosen stays, whoever comes and goes, and on a phone it is said that an agent speaks', async (t) => {
  const { page, session_id, events, speaker } = await talk(t, { viewport: { width: 390, height: 844 } });
  await page.getByRole('button', { name: 'Take part yourself' }).click();
  await page.waitForFunction(() => document.querySelector('.compose select').value === '@ida.ida');
  await speaker.selectOption('@ida.scribe');
  await page.getByText('in an agent’s name').waitFor();
  await page.locator('#compose').fill('As the scribe.');
  await as.laptop.post(`/sessions/${session_id}/invite`, { invite: ['@ida.reviewer'] });
  await as.reviewer.post(`/sessions/${session_id}/join`);
  await page.locator('.compose option', { hasText: '@ida.reviewer' }).waitFor({ state: 'attached' });
  await page.keyboard.press('Control+Enter');
  await page.locator('.message', { hasText: 'As the scribe.' }).waitFor();
  assert.deepEqual((await events('message')).map(({ sender }) => sender), ['@ida.scribe']);
  // One that has left cannot speak: the page says who does.
  await as.scribe.post(`/sessions/${session_id}/leave`);
  await page.locator('.toast', { hasText: '@ida.scribe no longer takes part. You write as @ida.ida now.' }).waitFor();
});

test('in a channel that trust opens to one agent, that agent posts, and the button says so', async (t) => {
  const channel = await as.support.post('/agent-channel', { title: 'Of another owner' });
  await as.laptop.post(`/agent-channel/${channel.id}/event`, { kind: 'comms', payload: { text: 'I follow.' } });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/channels'));
  await page.locator('.list-row', { hasText: 'Of another owner' }).click();
  await page.getByLabel('What to post').fill('Posted by a person.');
  await page.getByRole('button', { name: 'Post as @ida.laptop' }).click();
  await page.locator('.posts li', { hasText: 'Posted by a person.' }).getByText('@ida.laptop').waitFor();
  await page.locator('.list-row', { hasText: 'Port the parser' }).click();
  await page.getByRole('button', { name: 'Post as @ida.ida' }).waitFor();
  assert.deepEqual(browser.troubles, []);
});
