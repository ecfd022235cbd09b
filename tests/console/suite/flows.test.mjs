// What people do with the console, each from the first key to what the agents then see.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client, signInLink } from '../api.mjs';
import { violations } from '../axe.mjs';
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
    detail: { command: `make ${serial}` }, allow: { accept: true, edit: true, respond: true, ignore: true }, on_timeout: 'none', ...more,
  });
const stateOf = async ({ request_id }) => owner.get(`/requests/${request_id}`);
const become = async (request, wanted) => {
  for (let n = 0; n < 200; n++) {
    const now = await stateOf(request);
    if (wanted(now)) return now;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it stays ${JSON.stringify(await stateOf(request))}`);
};
const inbox = async (t, request) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  return { browser, page };
};

test('a link signs in once, and signing out ends it', async (t) => {
  const browser = await openBrowser(t);
  const link = await signInLink(server.url, made.owners.ida);
  const page = await browser.context.newPage();
  await page.goto(link);
  await page.locator('.shell').waitFor();
  assert.doesNotMatch(page.url(), /link=/);
  const other = await openBrowser(t);
  const second = await other.context.newPage();
  await second.goto(link);
  await second.getByText('This link is used').waitFor();
  await page.goto(`${server.url}/#/access`);
  await page.locator('.rail').getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('A console for what your agents do').waitFor();
  await page.reload();
  await page.getByText('A console for what your agents do').waitFor();
});

test('a request arrives by itself, is accepted by a key, and can be taken back', async (t) => {
  const { page } = await inbox(t, await ask());
  const request = await ask();
  await page.locator('.list-row', { hasText: request.title }).click();
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  await page.getByLabel('Wait 8 s before a single answer takes effect').check();
  await page.keyboard.press('a');
  assert.equal((await become(request, ({ state }) => state === 'answered')).answer.type, 'accept');
  await page.keyboard.press('u');
  await become(request, ({ state }) => state === 'open');
  await page.locator('.list-row', { hasText: request.title }).waitFor();
});

test('it is accepted with other arguments', async (t) => {
  const request = await ask();
  const { page } = await inbox(t, request);
  await page.keyboard.press('e');
  await page.getByRole('textbox', { name: 'command' }).fill('make check');
  await page.keyboard.press('Control+Enter');
  const now = await become(request, ({ state }) => state === 'answered');
  assert.deepEqual([now.answer.type, now.answer.args], ['edit', { command: 'make check' }]);
});

test('it is answered in words, or by a choice', async (t) => {
  const request = await ask({ kind: 'question', choices: ['Tabs', 'Spaces'] });
  const { page } = await inbox(t, request);
  await page.keyboard.press('r');
  await page.locator('textarea:focus').waitFor();
  await page.keyboard.type('Neither of them');
  await page.keyboard.press('Control+Enter');
  assert.equal((await become(request, ({ state }) => state === 'answered')).answer.text, 'Neither of them');
  const second = await ask({ kind: 'question', choices: ['Tabs', 'Spaces'] });
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), second.request_id);
  await page.getByRole('button', { name: 'Spaces' }).click();
  assert.equal((await become(second, ({ state }) => state === 'answered')).answer.text, 'Spaces');
});

test('a form is filled in, and only with what it takes', async (t) => {
  const form = {
    type: 'object',
    properties: {
      branch: { type: 'string', title: 'Branch', description: 'Where it is released from.', oneOf: [{ const: 'main', title: 'Main' }, { const: 'next', title: 'Next' }] },
      copies: { type: 'integer', title: 'Copies', minimum: 1, maximum: 3, default: 1 },
      days: { type: 'array', title: 'Days', items: { type: 'string', enum: ['monday', 'friday'] } },
      mail: { type: 'string', title: 'Tell', format: 'email' },
      notes: { type: 'string', title: '<b>Notes</b>' },
      public: { type: 'boolean', title: 'Public' },
    },
    required: ['branch', 'copies'],
  };
  const request = await laptop.post('/requests', { kind: 'question', title: `Release ${++serial}`, form });
  const { page } = await inbox(t, request);
  await page.getByText('Where it is released from.').first().waitFor();
  await page.keyboard.press('e');
  await page.locator('.fields :focus').waitFor();
  assert.deepEqual(await violations(page), []);
  const field = (name) => page.getByLabel(name, { exact: true });
  await field('Copies').fill('7');
  await page.keyboard.press('Control+Enter');
  assert.equal((await stateOf(request)).state, 'open', 'a branch is missing, and seven are too many');
  await page.getByLabel(/^Branch/).selectOption('next');
  await field('Copies').fill('2');
  await field('friday').check();
  await field('<b>Notes</b>').fill('x < y');
  await page.keyboard.press('Control+Enter');
  const { answer } = await become(request, ({ state }) => state === 'answered');
  assert.deepEqual([answer.type, answer.args], ['edit', { branch: 'next', copies: 2, days: ['friday'], notes: 'x < y', public: false }]);
  const other = await laptop.post('/requests', { kind: 'question', title: `Release ${++serial}`, form });
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), other.request_id);
  await page.locator('#request-title', { hasText: other.title }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Accept/ }).count(), 0);
  await page.getByRole('button', { name: /^Decline/ }).click();
  assert.equal((await become(other, ({ state }) => state === 'answered')).answer.type, 'ignore');
});

test('several are ignored together', async (t) => {
  const requests = [await ask(), await ask(), await ask()];
  const { page } = await inbox(t, requests[0]);
  await page.keyboard.press('x');
  for (const request of requests.slice(1)) {
    await page.locator('.list-row', { hasText: request.title }).click();
    await page.locator('#request-title', { hasText: request.title }).waitFor();
    await page.keyboard.press('x');
  }
  await page.getByRole('button', { name: 'Ignore all' }).click();
  for (const request of requests) assert.equal((await become(request, ({ state }) => state === 'answered')).answer.type, 'ignore');
});

test('a one-tap link answers, without being signed in and without a script', async (t) => {
  const browser = await openBrowser(t, { javaScriptEnabled: false });
  for (const [button, type, done] of [['Accept', 'accept', 'Accepted'], ['Ignore', 'ignore', 'Ignored'], ['Tabs', 'respond', 'Answered']]) {
    const request = await ask({ choices: ['Tabs', 'Spaces'] });
    const { url } = await owner.post(`/requests/${request.request_id}/link`);
    const page = await browser.context.newPage();
    await page.goto(url);
    await page.getByRole('heading', { name: request.title }).waitFor();
    await page.getByRole('button', { name: button, exact: true }).click();
    await page.getByText(`${done}.`, { exact: true }).waitFor();
    assert.equal((await stateOf(request)).answer.type, type);
    await page.goto(url);
    assert.equal(await page.getByRole('button').count(), 0, 'it answers once');
  }
});

test('it is put off, and comes back under Snoozed', async (t) => {
  const request = await ask();
  const { page } = await inbox(t, request);
  await page.keyboard.press('z');
  const now = await become(request, ({ state }) => state === 'snoozed');
  assert.ok(now.snoozed_until > Date.now() + 3_000_000);
  await page.getByRole('button', { name: /^Snoozed/ }).click();
  await page.locator('.list-row', { hasText: request.title }).waitFor();
});

test('a rule is made from an answer, and ended', async (t) => {
  const request = await ask();
  const { page } = await inbox(t, request);
  await page.keyboard.press('w');
  await page.keyboard.press('a');
  await become(request, ({ state }) => state === 'answered');
  await page.getByRole('button', { name: 'Rules' }).click();
  await page.locator('.rules li', { hasText: 'Bash' }).getByRole('button', { name: 'End' }).click();
  await page.getByText('No rules').waitFor();
});

test('who is slower sees the answer that stands', async (t) => {
  const request = await ask();
  const browser = await openBrowser(t);
  await browser.context.route(/\/watch(\?|$)/, (route) => route.abort());
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  const now = await stateOf(request);
  await owner.post(`/requests/${request.request_id}/answer`, { type: 'ignore', version: now.version });
  await page.getByRole('button', { name: /^Accept/ }).click();
  await page.getByText(/Somebody was faster: ignored|It changed meanwhile/).waitFor();
  await page.locator('.decided', { hasText: 'ignore' }).waitFor();
  assert.equal((await stateOf(request)).answer.type, 'ignore');
});

test('what somebody else answers stays in view, and no key hits another request', async (t) => {
  const [request, other] = [await ask(), await ask()];
  const { page } = await inbox(t, request);
  await page.locator('[data-live=live]').waitFor();
  const now = await stateOf(request);
  await owner.post(`/requests/${request.request_id}/answer`, { type: 'ignore', version: now.version });
  await page.locator('.decided', { hasText: 'ignore' }).waitFor();
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('i');
  assert.equal((await stateOf(other)).state, 'open');
});

test('a person takes part in a conversation, writes, and sees how far it came', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const session = made.sessions.review;
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), session);
  await page.getByRole('button', { name: 'Take part yourself' }).click();
  await page.waitForFunction(() => document.querySelector('.compose select').value === '@ida.ida');
  await page.locator('#compose').fill('I decide: **no** UTF-16.');
  await page.keyboard.press('Control+Enter');
  const message = page.locator('.message', { hasText: 'I decide: no UTF-16.' });
  await message.locator('strong', { hasText: 'no' }).waitFor();
  await message.getByRole('button', { name: 'How far this message came' }).click();
  await message.locator('.receipts tr', { hasText: '@ida.laptop' }).locator('td', { hasText: 'it is on disk' }).waitFor();
  const { events } = await laptop.get(`/sessions/${session}/events?after_sequence=0&limit=200`);
  assert.deepEqual(events.filter(({ sender }) => sender === '@ida.ida').map(({ content }) => content), ['I decide: **no** UTF-16.']);
  await laptop.post(`/sessions/${session}/messages`, { content: 'Understood, it goes.' });
  await page.locator('.message', { hasText: 'Understood, it goes.' }).waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('a person writes in an agent’s name, ends and opens again, and the audit says so', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.export);
  await page.locator('#compose').fill('It is fixed in 2.4.');
  await page.getByRole('button', { name: /^Send/ }).click();
  await page.locator('.message', { hasText: 'It is fixed in 2.4.' }).waitFor();
  await page.getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('This conversation has ended.').waitFor();
  await page.getByRole('button', { name: 'Reopen' }).click();
  await page.locator('#compose').waitFor();
  await page.evaluate(() => (location.hash = '#/audit'));
  await page.locator('tr', { hasText: '@ida.laptop' }).first().waitFor();
});

test('a new conversation is begun, and somebody else is invited', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.locator('.list').waitFor();
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('With').fill('@ida.scribe');
  await dialog.getByLabel('About').fill('What is left for 2.4');
  await dialog.getByLabel('First message').fill('Please list what is left.');
  await dialog.getByRole('button', { name: 'Begin' }).click();
  await page.locator('.message', { hasText: 'Please list what is left.' }).waitFor();
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Whom to invite').fill('@ida.reviewer');
  await page.keyboard.press('Enter');
  await page.locator('.people', { hasText: '@ida.reviewer' }).waitFor();
});

test('what is being written and chosen stays while events come in', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  let said = 0;
  /** Something happens, and the page has shown it. */
  const happen = async () => {
    const topic = `Something ${++said} ${Date.now()}`;
    await laptop.post('/sessions', { topic });
    return topic;
  };
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.locator('.list').waitFor();
  await page.keyboard.press('n');
  await page.getByRole('dialog').getByLabel('As').selectOption('@ida.scribe');
  await page.getByRole('dialog').getByLabel('First message').fill('Half a');
  await page.locator('.list-row', { hasText: await happen() }).waitFor({ state: 'attached' });
  assert.equal(await page.getByRole('dialog').getByLabel('As').inputValue(), '@ida.scribe');
  assert.equal(await page.getByRole('dialog').getByLabel('First message').inputValue(), 'Half a');
  await page.keyboard.press('Escape');
  await page.evaluate(() => (location.hash = '#/timeline?rooms=sessions'));
  await page.locator('.event-row').first().waitFor();
  await page.getByLabel('From').fill('14:0');
  await page.locator('.event-row', { hasText: await happen() }).first().waitFor();
  assert.equal(await page.getByLabel('From').inputValue(), '14:0');
  await page.evaluate(() => (location.hash = '#/map'));
  await page.getByLabel('Choose an agent').fill('@ida.l');
  const row = page.locator('.map-key', { hasText: '7 agents' });
  await owner.post('/_admin/agents', { handle: '@ida.newcomer', allowlist: ['@ida.*'] });
  await row.waitFor();
  assert.equal(await page.getByLabel('Choose an agent').inputValue(), '@ida.l');
  assert.deepEqual(browser.troubles, []);
});

test('the simulator says no and why, and mends it', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await owner.remove('/_admin/agents/@ida.reviewer/allowlist/@ida.*');
  await page.evaluate(() => (location.hash = '#/agents/@ida.scribe'));
  await page.getByLabel('The other agent').fill('@ida.reviewer');
  await page.getByText('because @ida.scribe is not on the allowlist of @ida.reviewer').waitFor();
  await page.getByRole('button', { name: 'Admit it' }).click();
  await page.locator('.verdict.yes').waitFor();
  assert.ok((await owner.get('/_admin/agents/@ida.reviewer/allowlist')).entries.includes('@ida.scribe'));
  await page.getByLabel('The other agent').fill('@acme.support');
  await page.locator('.verdict.no', { hasText: '@ida.scribe blocks @acme.support' }).waitFor();
});

test('a run is asked for, streams, waits, is answered and ends; another is canceled', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/runs'));
  await page.locator('.list').waitFor();
  await page.keyboard.press('n');
  await page.getByRole('dialog').getByLabel('Agent').selectOption('builder');
  await page.getByRole('dialog').getByRole('textbox', { name: 'What' }).fill('release 3.0 and ask');
  await page.getByRole('dialog').getByRole('button', { name: 'Ask' }).click();
  await page.getByLabel('Publish 2.4.0 to the registry? (yes or no)').fill('yes');
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.locator('.step.end.success').waitFor();
  await page.locator('.step.text', { hasText: 'You said: yes' }).waitFor();
  await page.locator('.list-row', { hasText: 'slow verification' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('.step.end.canceled').waitFor();
});

test('an agent shows the programs that work in its name, and when each was last seen', async (t) => {
  for (const [session, event] of [['one', 'prompt'], ['two', 'start']]) await laptop.post('/inbox/session', { session, client: session === 'one' ? 'claude' : 'codex', event });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/agents/@ida.laptop'));
  const working = page.locator('.coding tr', { hasText: 'claude' });
  // A request of the agent waits, too: then the one that works waits for the answer.
  await working.filter({ hasText: /working|waiting/ }).waitFor();
  await working.locator('time').first().waitFor();
  await page.locator('.coding tr', { hasText: 'codex' }).filter({ hasText: 'idle' }).waitFor();
  assert.deepEqual(await violations(page), []);
  for (const session of ['one', 'two']) await laptop.post('/inbox/session', { session, client: 'claude', event: 'end' });
  assert.deepEqual(browser.troubles, []);
});

test('an owner has the runs that others ask for held, in the agent\'s settings', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/agents/@ida.scribe'));
  await page.getByLabel('Runs that others ask for wait until a person accepts them').click();
  for (let n = 0; n < 200 && !(await owner.get('/_admin/agents/@ida.scribe')).hold_runs; n++) await page.waitForTimeout(50);
  assert.equal((await owner.get('/_admin/agents/@ida.scribe')).hold_runs, true);
  assert.deepEqual(browser.troubles, []);
});

test('a search for packages shows which words matched, where they stand, and what the rank is made of', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/context/parser'));
  await page.getByLabel('Search packages').fill('byte offsets');
  const row = page.locator('.session-row', { hasText: 'Ported the lexer' });
  await row.locator('.why mark', { hasText: /^byte$/i }).first().waitFor();
  await row.locator('.why mark', { hasText: /^offsets$/i }).first().waitFor();
  await row.locator('.why', { hasText: /words \d+ %/ }).waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(browser.troubles, []);
});

test('the hash of a package is verified in the browser, and a changed one is found', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/context/parser?package=pkg_lexer'));
  await page.locator('.hash.done', { hasText: 'verified here' }).waitFor();
  await page.route('**/v1/packages/pkg_review*', async (route) => {
    const reply = await route.fetch();
    await route.fulfill({ response: reply, json: { ...(await reply.json()), title: 'Nothing was found' } });
  });
  await page.evaluate(() => (location.hash = '#/context/parser?package=pkg_review'));
  await page.locator('.hash.failed', { hasText: 'does not match' }).waitFor();
});

test('a review is given, and facts are as of any time', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/context/parser?tab=reviews&package=pkg_drop'));
  await page.getByLabel('Note').fill('One release later');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.locator('.package', { hasText: 'complete' }).waitFor();
  assert.equal((await owner.get('/v1/packages/pkg_drop?project=parser')).status, 'complete');
  await page.evaluate((at) => (location.hash = `#/context/parser?tab=facts&as_of=${at}`), Date.now() - 15 * 86_400_000);
  await page.locator('tr', { hasText: 'status' }).getByText('planned').waitFor();
  await page.evaluate(() => (location.hash = '#/context/parser?tab=facts'));
  await page.locator('tr', { hasText: 'status' }).getByText('done').waitFor();
});

test('the timeline is one axis over the rooms, and seeks', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/timeline?rooms=sessions'));
  await page.locator('.event-row').first().waitFor();
  const rooms = await page.locator('.event-kind i').evaluateAll((marks) => [...new Set(marks.map((mark) => mark.className))]);
  assert.deepEqual(rooms, ['swatch r-sessions']);
  const first = await page.locator('.event-row .num').first().innerText();
  await page.getByLabel('From').fill(first);
  await page.keyboard.press('Enter');
  await page.waitForFunction((wanted) => location.hash.includes(`from=${wanted}`), first);
  await page.locator('.raw .call', { hasText: 'curl -s' }).first().waitFor();
});

test('a viewer sees everything and may change nothing', async (t) => {
  const request = await ask();
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida, { role: 'viewer' });
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  assert.ok(await page.getByRole('button', { name: /^Accept/ }).isDisabled());
  await page.keyboard.press('a');
  await page.keyboard.press('i');
  assert.equal((await stateOf(request)).state, 'open');
});

test('two owners see nothing of each other', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.acme);
  await page.getByText('support').first().waitFor();
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.review);
  await page.getByText('None of your agents may read this conversation.').waitFor();
  assert.equal(await page.getByText('Merge the new lexer').count(), 0);
});
