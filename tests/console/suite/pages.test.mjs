// Every page: it opens, says what it should, breaks nothing, and is accessible in both themes and on a phone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { violations } from '../axe.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

let server;
let made;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
});
after(() => server?.stop());

/** Each page, and a text that is there once it is read. */
const PAGES = () => [
  ['#/now', 'Needs you'],
  ['#/inbox', 'Run a command that deletes files'],
  ['#/inbox?state=rules', 'No rules'],
  ['#/conversations', 'Widget export drops the last row'],
  [`#/conversations/${made.sessions.review}`, 'I read it. Two remarks'],
  ['#/agents/@ida.laptop', 'Who may write to whom'],
  ['#/timeline', 'The call that reads it'],
  ['#/runs', 'release 2.4 and fail'],
  ['#/context', 'Ported the lexer'],
  ['#/context/parser?tab=facts', '@ida.laptop'],
  ['#/context/parser?package=pkg_drop&with=pkg_lexer', 'The same in both'],
  ['#/channels', 'The lexer is done'],
  ['#/map', 'The same as a table'],
  ['#/map?lines=reach', 'May they?'],
  ['#/map/@ida.scribe?lines=reach', 'may write to each other'],
  ['#/health', 'Who lags'],
  ['#/access', 'Signed in'],
  ['#/audit', 'Audit'],
];

for (const [width, height, theme] of [[1440, 900, 'light'], [1440, 900, 'dark'], [1024, 768, 'light'], [390, 844, 'dark']]) {
  test(`all pages at ${width} px, ${theme}: they open, and axe finds nothing`, async (t) => {
    const browser = await openBrowser(t, { viewport: { width, height }, colorScheme: theme });
    const page = await browser.signedIn(server, made.owners.ida);
    for (const [hash, text] of PAGES()) {
      await page.evaluate((to) => (location.hash = to), hash);
      await page.getByText(text).first().waitFor({ state: 'attached' });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${hash} is ${wide} px wider than the screen`);
      assert.deepEqual(await violations(page), [], hash);
    }
    assert.deepEqual(browser.troubles, []);
  });
}

test('the sign-in page is accessible, and says why a link does not work', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.context.newPage();
  await page.goto(`${server.url}/#link=nothing-of-the-kind`);
  await page.getByText('This link is used, expired or unknown').waitFor();
  assert.equal(new URL(page.url()).hash, '#/now');
  assert.deepEqual(await violations(page), []);
});

test('the keyboard alone goes to every page, and says which keys there are', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  for (const [keys, title] of [['i', 'Inbox'], ['c', 'Conversations'], ['a', 'Agents'], ['t', 'Timeline'], ['r', 'Runs'], ['x', 'Context'], ['h', 'Channels'], ['m', 'Map'], ['e', 'Health'], ['s', 'Access'], ['u', 'Audit'], ['n', 'wait']]) {
    await page.keyboard.press('g');
    await page.keyboard.press(keys);
    await page.locator('h1', { hasText: title }).waitFor();
  }
  await page.keyboard.press('Control+k');
  await page.getByLabel('Where to').fill('agent scribe');
  await page.keyboard.press('Enter');
  await page.locator('#agent-title', { hasText: 'scribe' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.deepEqual(browser.troubles, []);
});
