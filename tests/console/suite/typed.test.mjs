// What a person types and presses: each key acts once and on what is shown, and no text is lost.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
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

const ALL = { accept: true, edit: true, respond: true, ignore: true };
let serial = 0;
/** Asks a person for a permission. */
const ask = (more = {}) =>
  laptop.post('/requests', {
    kind: 'permission', title: `Typed ${++serial}.`, action: { name: 'Sh', args: { command: 'rm -rf /srv' } }, allow: ALL, on_timeout: 'none', ...more,
  });
const stateOf = ({ request_id }) => owner.get(`/requests/${request_id}`);
const become = async (request, wanted) => {
  for (let n = 0; n < 200; n++) {
    const now = await stateOf(request);
    if (wanted(now)) return now;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it stays ${JSON.stringify(await stateOf(request))}`);
};
const show = async (page, request) => {
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
};
const open = async (t) => {
  const browser = await openBrowser(t);
  return { browser, page: await browser.signedIn(server, made.owners.ida) };
};
const hashOf = (page) => page.evaluate(() => location.hash);

test('while a form is open, only the form answers', async (t) => {
  const request = await ask();
  const { page } = await open(t);
  await show(page, request);
  await page.keyboard.press('e');
  await page.locator('.answer-form textarea').fill('ls /srv');
  assert.equal(await page.locator('.answer button.primary').count(), 1);
  assert.equal(await page.getByLabel('Later, or by somebody else').count(), 0);
  await page.keyboard.press('Escape');
  for (const key of ['a', 'i', 'z']) await page.keyboard.press(key);
  assert.equal((await stateOf(request)).state, 'open');
  await page.getByRole('button', { name: /^Accept/ }).click();
  const { answer } = await become(request, ({ state }) => state === 'answered');
  assert.deepEqual([answer.type, answer.args], ['edit', { command: 'ls /srv' }]);
});

test('a key that is held answers one request; a held j moves on', async (t) => {
  const requests = [await ask(), await ask(), await ask(), await ask()];
  const { page } = await open(t);
  await show(page, requests[0]);
  for (let n = 0; n < 8; n++) await page.keyboard.down('a');
  await page.keyboard.up('a');
  await become(requests[0], ({ state }) => state === 'answered');
  await page.locator('#request-title', { hasText: requests[1].title }).waitFor();
  for (let n = 0; n < 2; n++) await page.keyboard.down('j');
  await page.keyboard.up('j');
  await page.locator('#request-title', { hasText: requests[3].title }).waitFor();
  for (const request of requests.slice(1)) assert.equal((await stateOf(request)).state, 'open');
});

test('links, buttons and texts keep their own keys', async (t) => {
  const request = await ask({ detail: { text: Array.from({ length: 80 }, (_, n) => `Line ${n}.`).join('\n\n') } });
  const { page } = await open(t);
  await page.locator('.lane-row.chosen').waitFor();
  await page.locator('.rail a', { hasText: 'Health' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('h1', { hasText: 'Health' }).waitFor();
  await show(page, request);
  const text = page.locator('.request-scroll');
  await text.focus();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.querySelector('.request-scroll').scrollTop > 0);
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.querySelector('.request-scroll').scrollTop > 500);
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  // In the list, and where nothing has the focus, they move through the rows.
  await page.locator('.split-list .list').focus();
  await page.keyboard.press('Home');
  await page.waitForFunction((title) => !document.querySelector('#request-title').textContent.includes(title), request.title);
});

test('Escape leaves a field, and what is open and written stays', async (t) => {
  const { page } = await open(t);
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.review);
  await page.locator('#compose').fill('A draft.');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#talk-title').textContent(), 'Merge the new lexer');
  assert.equal(await page.locator('#compose').inputValue(), 'A draft.');
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
  await page.keyboard.press('/');
  await page.keyboard.type('lexer');
  const before = await hashOf(page);
  await page.keyboard.press('Escape');
  assert.equal(await hashOf(page), before);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
  // Another conversation, and back.
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.export);
  await page.locator('#talk-title', { hasText: 'Widget export' }).waitFor();
  assert.equal(await page.locator('#compose').inputValue(), '');
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.review);
  await page.locator('#talk-title', { hasText: 'Merge the new lexer' }).waitFor();
  assert.equal(await page.locator('#compose').inputValue(), 'A draft.');
});

test('a reply that was left or did not reach the server is still in its form', async (t) => {
  const [request, next] = [await ask(), await ask()];
  const { page } = await open(t);
  const field = page.locator('.answer-form textarea');
  await show(page, request);
  await page.keyboard.press('r');
  await field.fill('Use the staging copy.');
  for (const key of ['Escape', 'Escape']) await page.keyboard.press(key);
  await page.locator('.answer-form').waitFor({ state: 'detached' });
  await page.keyboard.press('r');
  assert.equal(await field.inputValue(), 'Use the staging copy.');
  await page.route('**/answer', (route) => route.abort());
  await field.press('Control+Enter');
  await page.locator('.toast', { hasText: 'The server did not answer. Your reply is still in the form.' }).waitFor();
  await page.locator('#request-title', { hasText: request.title }).waitFor();
  assert.equal(await field.inputValue(), 'Use the staging copy.');
  await page.unroute('**/answer');
  await field.press('Control+Enter');
  assert.equal((await become(request, ({ state }) => state === 'answered')).answer.text, 'Use the staging copy.');
  // The next one has a form of its own.
  await show(page, next);
  await page.keyboard.press('r');
  assert.equal(await field.inputValue(), '');
});

test('requests are picked with the mouse, the buttons say how many they answer, and one undo says so once', async (t) => {
  const requests = [await ask(), await ask()];
  const question = await ask({ kind: 'question', action: undefined, allow: { ...ALL, accept: false, edit: false } });
  const { browser, page } = await open(t);
  await show(page, requests[0]);
  const pick = (request) => page.locator('.list-row', { hasText: request.title }).locator('.pick').click();
  await pick(requests[1]);
  await page.getByRole('button', { name: 'Accept all' }).waitFor();
  await page.locator('#request-title', { hasText: requests[0].title }).waitFor();
  await pick(requests[0]);
  await pick(question);
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Accept 2 of 3' }).click();
  for (const request of requests) await become(request, ({ state }) => state === 'answered');
  assert.match(await page.locator('.toast', { hasText: 'Accepted: 2 requests' }).getByRole('button', { name: /^Undo/ }).innerText(), /[5-8] s/);
  await page.keyboard.press('u');
  for (const request of requests) await become(request, ({ state }) => state === 'open');
  await page.locator('.toast', { hasText: '2 undone.' }).waitFor();
  assert.equal(await page.locator('.toast', { hasText: /ndone/ }).count(), 1);
  assert.equal((await stateOf(question)).state, 'open');
  assert.deepEqual(browser.troubles, []);
});

test('a dialog stays when a text is selected out of it, and closes by a click beside it', async (t) => {
  const { page } = await open(t);
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.locator('.list').waitFor();
  await page.keyboard.press('n');
  const topic = page.getByRole('dialog').getByLabel('About');
  await topic.fill('A long topic');
  const box = await topic.boundingBox();
  await page.mouse.move(box.x + 60, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(20, 20);
  await page.mouse.up();
  assert.equal(await topic.inputValue(), 'A long topic');
  await page.mouse.click(20, 20);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('what is put off says until when, and can be woken', async (t) => {
  const request = await ask();
  const { page } = await open(t);
  await show(page, request);
  await page.keyboard.press('z');
  await page.locator('.toast', { hasText: 'Snoozed until' }).waitFor();
  assert.equal((await stateOf(request)).state, 'snoozed');
  await page.evaluate((id) => (location.hash = `#/inbox/${id}?state=snoozed`), request.request_id);
  await page.locator('.request-kind', { hasText: 'snoozed until' }).waitFor();
  await page.locator('.list-row', { hasText: request.title }).getByText(/^until /).waitFor();
  await page.getByLabel('Later, or by somebody else').selectOption('now');
  await become(request, ({ state }) => state === 'open');
});

test('closing a channel asks first', async (t) => {
  const { page } = await open(t);
  await page.evaluate(() => (location.hash = '#/channels'));
  await page.getByRole('button', { name: 'Close the channel …' }).click();
  const dialog = page.getByRole('dialog', { name: 'Close the channel?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Close the channel …' }).click();
  await dialog.getByRole('button', { name: 'Close the channel' }).click();
  await page.locator('.big-state', { hasText: 'closed' }).waitFor();
});

/** Holds what the page sends until it is let go. */
const hold = async (page, path) => {
  let pass = () => {};
  const held = new Promise((done) => (pass = done));
  await page.route(path, (route) => (route.request().method() === 'POST' ? held.then(() => route.continue()) : route.continue()));
  return pass;
};

test('a form that is sent twice writes once', async (t) => {
  const { page } = await open(t);
  const dialog = page.getByRole('dialog');
  const twice = async (path, name) => {
    const pass = await hold(page, path);
    await dialog.getByRole('button', { name }).dblclick();
    pass();
  };
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.getByRole('button', { name: 'New n' }).click();
  await dialog.getByLabel('With').fill('@ida.laptop');
  await dialog.getByLabel('About').fill('Begun twice');
  const passed = await hold(page, '**/sessions');
  for (let n = 0; n < 3; n++) await dialog.getByLabel('About').press('Enter');
  passed();
  await page.locator('#talk-title', { hasText: 'Begun twice' }).waitFor();
  const { sessions } = await owner.get('/_admin/sessions');
  assert.equal(sessions.filter(({ topic }) => topic === 'Begun twice').length, 1);

  await page.evaluate(() => (location.hash = '#/runs'));
  await page.getByRole('button', { name: 'Ask n' }).click();
  await dialog.getByRole('textbox', { name: 'What' }).fill('release asked twice');
  await twice('**/run', 'Ask');
  await page.locator('#run-title', { hasText: 'release asked twice' }).waitFor();
  const threads = await owner.get('/agent/builder/threads');
  assert.equal(threads.filter(({ title }) => title === 'release asked twice').length, 1);

  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByRole('button', { name: 'New token n' }).click();
  await dialog.getByLabel('Name').fill('made twice');
  await twice('**/tokens', 'Make it');
  await page.getByRole('dialog', { name: 'The token is made' }).waitFor();
  const { agents } = await owner.get('/_admin/agents?limit=100');
  const of = await Promise.all(agents.map(({ handle }) => owner.get(`/_admin/agents/${handle}/tokens`)));
  assert.equal(of.flatMap(({ tokens }) => tokens).filter(({ name }) => name === 'made twice').length, 1);
  await page.keyboard.press('Escape');

  const channel = await laptop.post('/agent-channel', { title: 'Posted twice' });
  await page.evaluate((id) => (location.hash = `#/channels/${id}`), channel.id);
  const field = page.getByLabel('What to post');
  await field.fill('once');
  const posted = await hold(page, '**/event');
  for (let n = 0; n < 3; n++) await field.press('Enter');
  posted();
  await page.locator('.posts li', { hasText: 'once' }).first().waitFor();
  assert.equal((await laptop.get(`/agent-channel/${channel.id}/events`)).filter(({ payload }) => payload.text === 'once').length, 1);
});

test('after a lost answer the same content is written once, and other content goes out', async (t) => {
  const { browser, page } = await open(t);
  const dialog = page.getByRole('dialog');
  /** The server carries the next write out, and its answer is lost. */
  const lose = (path) => page.route(path, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    await route.fetch();
    return route.abort();
  }, { times: 1 });
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.getByRole('button', { name: 'New n' }).click();
  await dialog.getByLabel('With').fill('@ida.laptop');
  await dialog.getByLabel('About').fill('Begun without an answer');
  await page.route('**/sessions', async (route) => {
    await route.fetch();
    return route.abort();
  }, { times: 1 });
  await dialog.getByRole('button', { name: 'Begin' }).click();
  await dialog.getByText('The server does not answer.').waitFor();
  await dialog.getByRole('button', { name: 'Begin' }).click();
  await page.locator('#talk-title', { hasText: 'Begun without an answer' }).waitFor();
  const begun = (await owner.get('/_admin/sessions')).sessions.filter(({ topic }) => topic === 'Begun without an answer');
  assert.equal(begun.length, 1);

  const said = async () => (await laptop.get(`/sessions/${begun[0].id}/events?limit=200`)).events.flatMap(({ type, content }) => (type === 'session.message' ? [content] : []));
  await laptop.post(`/sessions/${begun[0].id}/join`);
  const field = page.locator('#compose');
  // It is seen in the conversation: then nothing is left to send.
  await field.fill('deploy');
  await lose('**/messages');
  await field.press('Control+Enter');
  await page.locator('.toast', { hasText: 'The message has arrived all the same.' }).waitFor();
  assert.equal(await field.inputValue(), '');
  // The person corrects it before.
  await lose('**/messages');
  await page.route('**/events?*', (route) => route.abort());
  await field.fill('deploy 1');
  await field.press('Control+Enter');
  await page.locator('.toast', { hasText: 'The server does not answer.' }).last().waitFor();
  await page.waitForFunction(() => !document.querySelector('.compose .primary').disabled);
  await field.fill('do not deploy 1');
  await field.press('Control+Enter');
  await page.waitForFunction(() => document.querySelector('#compose').value === '');
  assert.deepEqual(await said(), ['deploy', 'deploy 1', 'do not deploy 1']);
  assert.deepEqual(browser.troubles, []);
});

test('after an answer by a button, the focus is on the next request', async (t) => {
  await ask();
  const { page } = await open(t);
  await page.locator('.lane-row').nth(2).waitFor();
  const next = await page.locator('.lane-row').nth(1).locator('.lane-title').innerText();
  await page.locator('.lane-row').first().getByRole('button', { name: /^Ignore/ }).click();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), next);
  const request = await ask();
  await show(page, request);
  await page.getByRole('button', { name: /^Ignore/ }).focus();
  await page.keyboard.press('Enter');
  await become(request, ({ state }) => state === 'answered');
  await page.waitForFunction(() => document.activeElement?.id === 'request-title');
});

test('on a phone, More closes with the next tap', async (t) => {
  const browser = await openBrowser(t, { viewport: { width: 390, height: 844 } });
  const page = await browser.signedIn(server, made.owners.ida);
  const more = page.getByRole('button', { name: 'More' });
  const sheet = page.locator('.rail nav.open');
  for (const tap of [() => page.locator('.tabs a', { hasText: 'Inbox' }).click(), () => page.locator('#main').click({ position: { x: 20, y: 700 } })]) {
    await more.click();
    await sheet.waitFor();
    await tap();
    await sheet.waitFor({ state: 'detached' });
  }
});

test('Invite takes the focus each time, and gives it back to its button', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.review);
  const button = page.getByRole('button', { name: 'Invite', exact: true });
  for (let n = 0; n < 2; n++) {
    await button.click();
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Whom to invite');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Invite');
  }
  await button.click();
  await page.keyboard.type('@nobody.runner');
  assert.equal(await page.getByLabel('Whom to invite').inputValue(), '@nobody.runner');
  assert.equal(await page.locator('dialog[open]').count(), 0, 'no letter ran a key of the page');
  assert.deepEqual(browser.troubles, []);
});

test('at 200 % the question and the messages scroll together with their controls', async (t) => {
  const choices = Array.from({ length: 12 }, (_, n) => `Number ${n}, which is a rather long choice that fills most of a line`);
  const request = await laptop.post('/requests', { kind: 'question', title: 'Which one?', choices, detail: { text: 'Read this first. '.repeat(40) } });
  const browser = await openBrowser(t, { viewport: { width: 720, height: 450 } });
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
  await page.locator('#request-title', { hasText: 'Which one?' }).waitFor();
  const seen = (selector) => page.evaluate((one) => {
    const [own, main] = [document.querySelector(one), document.getElementById('main')].map((node) => node.getBoundingClientRect());
    return Math.min(own.bottom, main.bottom) - Math.max(own.top, main.top);
  }, selector);
  assert.ok((await seen('.request-scroll')) > 250, 'the question is in view');
  await page.locator('.choices button').last().scrollIntoViewIfNeeded();
  assert.ok((await seen('.choices button:last-child')) > 20, 'every choice can be reached');
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), made.sessions.review);
  await page.locator('.compose').waitFor();
  await page.waitForFunction(() => {
    const node = document.querySelector('.talk');
    return node && node.scrollHeight - node.scrollTop - node.clientHeight < 2;
  });
  assert.ok((await seen('.compose')) > 80 && (await seen('.talk-scroll')) > 150, 'the newest messages are above the form');
  assert.deepEqual(await violations(page), []);
});

test('what was typed into a dialog or a post and not sent is there again', async (t) => {
  const { browser, page } = await open(t);
  const go = (hash) => page.evaluate((to) => (location.hash = to), hash);
  for (const [hash, label] of [['#/conversations', 'First message'], ['#/runs', 'What']]) {
    await go(hash);
    await page.locator('.list-row').first().waitFor();
    for (let round = 0; round < 2; round++) {
      await page.keyboard.press('n');
      const field = page.getByRole('dialog').getByRole('textbox', { name: label });
      assert.equal(await field.inputValue(), round ? 'Half a thought' : '');
      await field.fill('Half a thought');
      await page.keyboard.press('Escape');
      if (await page.getByRole('dialog').count()) await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  }
  await go('#/channels');
  await page.getByLabel('What to post').fill('Half a post');
  await go('#/now');
  await page.locator('.lane-row').first().waitFor();
  await go('#/channels');
  await page.getByLabel('What to post').waitFor();
  assert.equal(await page.getByLabel('What to post').inputValue(), 'Half a post');
  await page.getByLabel('What to post').fill('');
  assert.deepEqual(browser.troubles, []);
});
