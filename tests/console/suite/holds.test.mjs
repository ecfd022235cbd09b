// What an owner holds for its people: a run and an invitation of another owner's agent, answered on the page and on the one-tap page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { violations } from '../axe.mjs';
import { openBrowser } from '../browser.mjs';
import { startServer } from '../server.mjs';

const BUILDER = '@ida.builder';
const DESK = '@ida.desk';
const ACME = '@acme.support';

let server;
let owner;
let ownerToken;
let acme;
let acmeToken;

before(async () => {
  server = await startServer();
  const operator = client(server.url, server.operator);
  ownerToken = (await operator.post('/_admin/owners/ida/rotate-token')).token;
  owner = client(server.url, ownerToken);
  await operator.post('/_admin/owners', { owner: 'acme' });
  const made = await operator.post('/_admin/agents', { handle: ACME, allowlist: ['@ida.*'] });
  await operator.post('/_admin/agents', { handle: DESK, allowlist: ['@acme.*'] });
  acmeToken = made.token;
  acme = client(server.url, acmeToken);
  await owner.patch(`/_admin/agents/${BUILDER}`, { hold_runs: true });
});
after(() => server?.stop());

/** @param {string} what @param {() => Promise<any>} look @returns {Promise<any>} */
const eventually = async (what, look) => {
  for (let n = 0; n < 1_200; n++) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`not in time: ${what}`);
};
const holds = async () => (await owner.get('/requests?kind=hold&state=open')).requests;
const held = (text) => eventually(`a hold about ${text}`, async () => (await holds()).find(({ title }) => title.includes(text)));

/** The agent of Acme asks for a run, which is held. */
const ask = async (input) => {
  const run = await fetch(`${server.url}/agent/builder/run`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${acmeToken}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'ChatRequest', input }),
  });
  assert.equal(run.status, 202);
  const id = run.headers.get('x-run-id');
  assert.equal((await acme.get(`/agent/builder/runs/${id}`)).held, true);
  return id;
};
const becomes = (run, status) => eventually(`${run} is ${status}`, async () => (await acme.get(`/agent/builder/runs/${run}`)).status === status);
const facts = (page) => page.locator('.request .facts > div').evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.querySelector('dt').textContent, row.querySelector('dd').textContent])));
const show = async (page, request) => {
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
};

test('a run that is held says on the page who asks and what an answer does; accepted it goes on, declined it is canceled', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, ownerToken);
  const going = await ask('release 2.4');
  await page.evaluate(() => (location.hash = '#/inbox'));
  await page.locator('.list-row', { hasText: `${ACME} asks ${BUILDER} for a run: release 2.4` }).waitFor();
  await show(page, await held('release 2.4'));
  const said = await facts(page);
  assert.deepEqual([said.Asks, said['For a run of'], said.Accept, said.Decline], [ACME, BUILDER, 'The run begins.', 'The run is canceled.']);
  await page.getByText('If nobody answers in time, it is declined.').waitFor();
  await page.locator('.request .deadline').waitFor();
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('a');
  await becomes(going, 'completed');
  const stopped = await ask('release 3.0');
  await show(page, await held('release 3.0'));
  await page.getByRole('button', { name: /^Decline/ }).click();
  await becomes(stopped, 'canceled');
  assert.deepEqual(await holds(), []);
  assert.deepEqual(browser.troubles, []);
});

test('a run that is held is released on the one-tap page, without being signed in and without a script', async (t) => {
  const browser = await openBrowser(t, { javaScriptEnabled: false });
  for (const [button, done, status] of [['Accept', 'Accepted', 'completed'], ['Decline', 'Declined', 'canceled']]) {
    const run = await ask(`release for ${button}`);
    const { url } = await owner.post(`/requests/${(await held(`release for ${button}`)).request_id}/link`);
    const page = await browser.context.newPage();
    await page.goto(url);
    await page.getByText(`${ACME} asks ${BUILDER} for a run.`).waitFor();
    await page.getByText('Accept: the run begins. Decline: the run is canceled.').waitFor();
    await page.getByText('then it counts as declined').waitFor();
    await page.getByRole('button', { name: button, exact: true }).click();
    await page.getByText(`${done}.`, { exact: true }).waitFor();
    await becomes(run, status);
  }
});

test('an invitation is held by the setting of the agent\'s page, and the agent joins once it is accepted', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, ownerToken);
  await page.evaluate((handle) => (location.hash = `#/agents/${handle}`), DESK);
  await page.getByLabel('Invitations of others wait until a person accepts them').click();
  await eventually('the setting', async () => (await owner.get(`/_admin/agents/${DESK}`)).hold_invitations);
  const { session_id } = await acme.post('/sessions', { invite: [DESK], topic: 'A row is missing' });
  const standing = async () => (await acme.get(`/sessions/${session_id}`)).participants.find(({ handle }) => handle === DESK).status;
  await show(page, await held('A row is missing'));
  const said = await facts(page);
  assert.deepEqual([said.Asks, said['To take part'], said.Accept, said.Decline], [ACME, DESK, 'The agent joins the conversation.', 'The invitation is declined.']);
  assert.equal(await standing(), 'invited');
  await page.keyboard.press('a');
  await eventually('it is joined', async () => (await standing()) === 'joined');
  const declined = await acme.post('/sessions', { invite: [DESK], topic: 'An offer' });
  await show(page, await held('An offer'));
  await page.keyboard.press('i');
  await eventually('it has left', async () => (await acme.get(`/sessions/${declined.session_id}`)).participants.find(({ handle }) => handle === DESK).status === 'left');
  assert.deepEqual(browser.troubles, []);
});
