// Long conversations and links into them: what is read, what is in view, and where Back leads.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { violations } from '../axe.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

/** More than one read gives, several times. */
const MANY = 1_000;
let server;
let made;
let laptop;
let long;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
  laptop = client(server.url, made.tokens['@ida.laptop']);
  long = (await laptop.post('/sessions', { invite: ['@ida.scribe'], topic: 'A long one' })).session_id;
  let next = 0;
  await Promise.all(Array.from({ length: 16 }, async () => {
    for (let n = next++; n < MANY; n = next++) await laptop.post(`/sessions/${long}/messages`, { content: `Number ${n}.` });
  }));
});
after(() => server?.stop());

const open = async (t, hash, options) => {
  const browser = await openBrowser(t, options);
  const page = await browser.signedIn(server, made.owners.ida);
  const reads = [];
  page.on('request', (request) => /\/events\?/.test(request.url()) && reads.push(request.url()));
  await page.evaluate((to) => (location.hash = to), hash);
  return { browser, page, reads };
};
/** Waits until a message is in view, wholly. */
const inView = (page, sequence) => page.waitForFunction((wanted) => {
  const node = document.querySelector(`[data-sequence="${wanted}"]`);
  const [own, box] = [node.getBoundingClientRect(), node.closest('.talk-scroll').getBoundingClientRect()];
  return own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
}, sequence);

test('a long conversation begins with its newest events, says what it leaves out, and reads it on request', async (t) => {
  const { browser, page, reads } = await open(t, `#/conversations/${long}`);
  await page.locator('.message', { hasText: `Number ${MANY - 1}.` }).waitFor();
  assert.ok(reads.length <= 14, `${reads.length} reads`);
  const note = page.locator('.event-line', { hasText: 'not shown' });
  const left = async () => Number(/^([\d,]+) earlier events are not shown/.exec(await note.innerText())?.[1].replace(',', ''));
  const first = async () => Number(await page.locator('[data-sequence]').first().getAttribute('data-sequence'));
  assert.equal(await left(), await first() - 1);
  const before = await first();
  await page.locator(`[data-sequence="${before}"]`).scrollIntoViewIfNeeded();
  await page.getByRole('button', { name: 'Earlier' }).click();
  await page.waitForFunction((was) => Number(document.querySelector('[data-sequence]').dataset.sequence) < was, before);
  assert.equal(await first(), before - 200);
  await page.waitForTimeout(300);
  await inView(page, before);
  assert.deepEqual(await violations(page), []);
  for (let n = 0; n < MANY / 200 && (await note.count()); n++) {
    const was = await first();
    await page.getByRole('button', { name: 'Earlier' }).click();
    await page.waitForFunction((before) => Number(document.querySelector('[data-sequence]').dataset.sequence) < before, was);
  }
  assert.equal(await first(), 1);
  const shown = await page.locator('[data-sequence]').evaluateAll((nodes) => nodes.map((node) => Number(node.dataset.sequence)));
  assert.deepEqual(shown, shown.map((_, n) => n + 1), 'each once, in order');
  assert.deepEqual(browser.troubles, []);
});

test('a link to one message shows it, and new messages do not pull the view back', async (t) => {
  const { page, reads } = await open(t, `#/conversations/${long}?at=700`);
  await page.locator('.message.named[data-sequence="700"]').waitFor();
  await inView(page, 700);
  assert.ok(reads.length <= 8, `${reads.length} reads`);
  // From this one to the newest.
  await page.evaluate((id) => (location.hash = `#/conversations/${id}?at=5`), long);
  await page.locator('.message.named[data-sequence="5"]').waitFor();
  await inView(page, 5);
  // Some are read on by themselves, the others by the button.
  const newest = page.locator('.message', { hasText: `Number ${MANY - 1}.` });
  for (let n = 0; n < 10 && !(await newest.count()); n++) await page.getByRole('button', { name: 'Later' }).click({ timeout: 2_000 }).catch(() => {});
  await newest.waitFor();
  await page.locator('.talk-scroll').evaluate((node) => (node.scrollTop = 2_000));
  await laptop.post(`/sessions/${long}/messages`, { content: 'A new one.' });
  await page.locator('.message', { hasText: 'A new one.' }).waitFor();
  assert.equal(await page.locator('.talk-scroll').evaluate((node) => Math.round(node.scrollTop)), 2_000);
});

test('who writes in the middle of a conversation sees what was written', async (t) => {
  const { page } = await open(t, `#/conversations/${long}?at=250`);
  await page.locator('.message.named').waitFor();
  await page.getByRole('button', { name: 'Later' }).waitFor();
  await page.locator('#compose').fill('Written from the middle.');
  await page.keyboard.press('Control+Enter');
  await page.locator('.message', { hasText: 'Written from the middle.' }).waitFor();
});

test('the conversation with the latest event is first, also after a reload', async (t) => {
  const old = await laptop.post('/sessions', { invite: ['@ida.scribe'], topic: 'An old one' });
  for (let n = 0; n < 3; n++) await laptop.post('/sessions', { invite: ['@ida.scribe'], topic: `A newer one ${n}` });
  await laptop.post(`/sessions/${old.session_id}/messages`, { content: 'Something new.' });
  const { page } = await open(t, '#/conversations');
  const first = page.locator('.list-row[aria-posinset="1"]', { hasText: 'An old one' });
  await first.waitFor();
  await page.reload();
  await first.waitFor();
});

test('each day has its date', async (t) => {
  const { page } = await open(t, `#/conversations/${made.sessions.review}`);
  await page.locator('.message', { hasText: 'I read it' }).waitFor();
  const today = await page.evaluate(() => new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' }).format());
  assert.deepEqual(await page.locator('.event-line.day').allInnerTexts(), [today]);
});

test('Back returns from an item to its list', async (t) => {
  const { page } = await open(t, '#/inbox', { viewport: { width: 390, height: 844 } });
  const hash = () => page.evaluate(() => location.hash);
  const title = page.locator('#request-title');
  await page.locator('.list-row').first().click();
  await title.waitFor();
  await page.goBack();
  await page.locator('.list-row').first().waitFor();
  assert.equal(await hash(), '#/inbox');
  // The button of the page leads to the same place, and leaves no second entry.
  await page.locator('.list-row').first().click();
  await title.waitFor();
  await page.getByRole('button', { name: '‹ All requests' }).click();
  await page.locator('.list-row').first().waitFor();
  await page.goBack();
  await page.locator('.statement').waitFor();
});

test('lists within lists, tables, directions and emoji are shown as written', async (t) => {
  const { session_id } = await laptop.post('/sessions', { invite: ['@ida.scribe'], topic: 'Shapes' });
  const content = '- outer\n  - inner\n    1. innermost\n- last\n\n| Step | Time |\n|---|---:|\n| lex | 57 ms |\n| a \\| b |\n\nHello.\n\nשלום לכולם\n\n\u{1f468}\u200d\u{1f469}\u200d\u{1f467} می\u200cخواهم a\u200db';
  await laptop.post(`/sessions/${session_id}/messages`, { content });
  const { browser, page } = await open(t, `#/conversations/${session_id}`);
  const said = page.locator('.message .said');
  await said.locator('ul > li > ul > li > ol > li', { hasText: 'innermost' }).waitFor();
  assert.equal(await said.locator(':scope > ul > li').count(), 2);
  assert.deepEqual(await said.locator('td').allInnerTexts(), ['lex', '57 ms', 'a | b']);
  const direction = (text) => said.locator('p', { hasText: text }).evaluate((node) => getComputedStyle(node).direction);
  assert.deepEqual([await direction('Hello.'), await direction('שלום')], ['ltr', 'rtl']);
  const last = await said.locator('p').last().textContent();
  assert.ok(last.includes('\u{1f468}\u200d\u{1f469}') && last.includes('می\u200cخواهم') && last.includes('aU+200Db'), last);
  assert.deepEqual(await violations(page), []);
  // Several tables, a code without text, and many numbers close to each other on a phone.
  for (let n = 0; n < 8; n++) await laptop.post(`/sessions/${session_id}/messages`, { content: `| a |\n|---|\n| ${n} |\n\n\`\`\`\n\`\`\`` });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator('td', { hasText: '7' }).last().waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(browser.troubles, []);
});

test('a link to a conversation shows all who take part, though the first of the agents is only invited', async (t) => {
  const scribe = client(server.url, made.tokens['@ida.scribe']);
  const { session_id } = await scribe.post('/sessions', { invite: ['@ida.laptop', '@ida.reviewer'], topic: 'Seen by each in part', initial_message: { content: 'The first word.' } });
  await client(server.url, made.tokens['@ida.reviewer']).post(`/sessions/${session_id}/join`);
  const browser = await openBrowser(t);
  await browser.signedIn(server, made.owners.ida);
  const page = await browser.context.newPage();
  const reads = [];
  page.on('request', (request) => /\/_admin\/agents\/[^/]+\/sessions\/[^/]+$/.test(request.url()) && reads.push(request.url()));
  await page.goto(`${server.url}/#/conversations/${session_id}`);
  await page.locator('.message', { hasText: 'The first word.' }).waitFor();
  assert.equal(await page.locator('.people li').count(), 3);
  assert.deepEqual(reads, []);
  await scribe.post(`/sessions/${session_id}/messages`, { content: 'The second word.' });
  await page.locator('.message', { hasText: 'The second word.' }).waitFor();
  await page.waitForTimeout(500);
  assert.equal(await page.locator('.people li').count(), 3);
  assert.equal(reads.length, 1);
  assert.deepEqual(browser.troubles, []);
});
