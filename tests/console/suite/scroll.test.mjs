// Ten thousand conversations: all are reached, and the page has only the rows that can be seen.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { frames, inWords, record } from '../figures.mjs';
import { startServer } from '../server.mjs';

const MANY = Number(process.env.PLENARY_TEST_CONVERSATIONS ?? 10_000);
const AT_ONCE = 32;
const ROWS_MAX = 60;
/** Agents without conversations: the list costs no request for each agent. */
const OTHERS = 20;
const PAGE = 1000;
/** A frame of scrolling may take so many times as long as one in which nothing happens: it misses none. */
const FRAMES_MAX = 1.8;
const STEPS = 180;
let server;
let owner;

before(async () => {
  server = await startServer();
  const operator = client(server.url, server.operator);
  owner = (await operator.post('/_admin/owners', { owner: 'ida' })).token;
  const { token } = await operator.post('/_admin/agents', { handle: '@ida.laptop', allowlist: ['@ida.*'] });
  const laptop = client(server.url, token);
  await operator.post('/_admin/agents', { handle: '@ida.desk', allowlist: ['@ida.*'] });
  for (let n = 0; n < OTHERS; n++) await operator.post('/_admin/agents', { handle: `@ida.other-${n}`, allowlist: ['@ida.*'] });
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let n = next++; n < MANY; n = next++) await laptop.post('/sessions', { topic: `Topic ${n}`, ...(n % 10 ? {} : { invite: ['@ida.desk'] }) });
  }));
});
after(() => server?.stop());

test(`${MANY} conversations scroll`, async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  const lists = [];
  page.on('request', (request) => /^\/_admin\/(agents\/[^/]+\/)?sessions$/.test(new URL(request.url()).pathname) && lists.push(request.url()));
  await page.evaluate(() => (location.hash = '#/conversations'));
  await page.getByText(`${MANY.toLocaleString('en')} conversations`, { exact: true }).waitFor({ timeout: 120_000 });
  await page.evaluate(() => {
    globalThis.rowsSeen = 0;
    globalThis.scrollOn = () => {
      const list = document.querySelector('.list');
      globalThis.rowsSeen = Math.max(globalThis.rowsSeen, list.querySelectorAll('.list-row').length);
      list.scrollTop += 900;
    };
  });
  const times = await frames(page, 'scrollOn', STEPS);
  const measured = await page.evaluate(() => ({ rows: globalThis.rowsSeen, empty: document.querySelectorAll('.list .list-row').length === 0 }));
  t.diagnostic(`a frame of scrolling: ${inWords(times)}; at most ${measured.rows} rows`);
  record('a frame of scrolling 10,000 conversations', inWords(times));
  assert.ok(times.median <= FRAMES_MAX * times.idle, `a frame of scrolling takes ${times.median} ms, one without ${times.idle} ms`);
  assert.ok(measured.rows > 0 && measured.rows <= ROWS_MAX, `${measured.rows} rows`);
  assert.equal(measured.empty, false);
  await page.locator('.list').focus();
  await page.keyboard.press('End');
  await page.locator('.list-row', { hasText: /^Topic 0|Topic \d+/ }).last().waitFor();
  const place = await page.locator('.list-row.chosen').getAttribute('aria-posinset');
  assert.equal(place, String(MANY));
  t.diagnostic(`${lists.length} requests brought the list`);
  assert.ok(lists.length > 1 && lists.length <= Math.ceil(MANY / PAGE) + 2, `${lists.length} requests`);
  await page.getByRole('combobox', { name: 'Agent' }).selectOption('@ida.desk');
  await page.getByText(`${Math.ceil(MANY / 10).toLocaleString('en')} conversations`, { exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Agent' }).selectOption('');
  await page.locator('[data-search]').fill(`Topic ${MANY - 1}`);
  await page.locator('.list-row', { hasText: `Topic ${MANY - 1}` }).first().waitFor();
  assert.deepEqual(browser.troubles, []);
});
