// Every page at three widths and in both themes: it opens, says what it should, breaks nothing, and is accessible; with a picture of each
// in `target/console-shots`. `PLENARY_TEST_DOCS=yes` puts those of the documentation into `docs/images`.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
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

const SHOTS = new URL('../../../target/console-shots/', import.meta.url).pathname;
const DOCS = new URL('../../../docs/images/', import.meta.url).pathname;
const SIZES = { wide: [1440, 900], middle: [1024, 768], phone: [390, 844] };
/** The pictures that the documentation has, at the first width and in the light theme, by the name that they have there. */
const DOCUMENTED = { now: 'now', request: 'inbox', conversation: 'conversation', access: 'access' };

/** Each page by the name of its picture, and a text that is there once it is read. */
const PAGES = () => [
  ['now', '#/now', 'Needs you'],
  ['inbox', '#/inbox', 'Run a command that deletes files'],
  ['request', `#/inbox/${made.requests[1]}`, 'The writer closes before the last flush'],
  ['rules', '#/inbox?state=rules', 'No rules'],
  ['conversations', '#/conversations', 'Widget export drops the last row'],
  ['conversation', `#/conversations/${made.sessions.review}`, 'I read it. Two remarks'],
  ['agents', '#/agents/@ida.laptop', 'Who may write to whom'],
  ['timeline', '#/timeline', 'The call that reads it'],
  ['runs', '#/runs', 'release 2.4 and fail'],
  ['context', '#/context', 'Ported the lexer'],
  ['facts', '#/context/parser?tab=facts', '@ida.laptop'],
  ['compare', '#/context/parser?package=pkg_drop&with=pkg_lexer', 'The same in both'],
  ['channels', '#/channels', 'The lexer is done'],
  ['map', '#/map', 'The same as a table'],
  ['map-reach', '#/map?lines=reach', 'May they?'],
  ['reach', '#/map/@ida.scribe?lines=reach', 'may write to each other'],
  ['health', '#/health', 'How far agents are'],
  ['access', '#/access', 'Signed in'],
  ['audit', '#/audit', 'Audit'],
  ['unknown', '#/nonsense', 'The console has no page of this name.'],
];

/** Whether nothing on the page is being read. */
const isReady = () => ![...document.querySelectorAll('.loading, .list-empty, .quiet-note')].some((node) => node.matches('.loading') || /^(Looking|Reading) …$/.test(node.textContent));

for (const [size, [width, height]] of Object.entries(SIZES)) {
  for (const theme of ['light', 'dark']) {
    test(`all pages at ${width} px, ${theme}: they open, and axe finds nothing`, async (t) => {
      mkdirSync(SHOTS, { recursive: true });
      const browser = await openBrowser(t, { viewport: { width, height }, colorScheme: theme });
      const page = await browser.signedIn(server, made.owners.ida);
      for (const [name, hash, text] of PAGES()) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.getByText(text).first().waitFor({ state: 'attached' });
        await page.waitForFunction(isReady);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${hash} is ${wide} px wider than the screen`);
        assert.deepEqual(await violations(page), [], hash);
        await page.screenshot({ path: `${SHOTS}${name}-${size}-${theme}.png` });
        if (process.env.PLENARY_TEST_DOCS && DOCUMENTED[name] && size === 'wide' && theme === 'light') await page.screenshot({ path: `${DOCS}console-${DOCUMENTED[name]}.png` });
      }
      assert.deepEqual(browser.troubles, []);
    });
  }
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

test('a page that is not there says so, and what is not read yet is not shown as nothing', async (t) => {
  const browser = await openBrowser(t);
  let go = () => {};
  const held = new Promise((done) => (go = () => done()));
  await browser.context.route(/\/messages\/\d+\/status$/, async (route) => {
    await held;
    await route.continue();
  });
  const page = await browser.signedIn(server, made.owners.ida);
  const delivery = page.locator('section', { has: page.locator('#delivery') });
  await page.locator('.lane-row').first().waitFor();
  await delivery.getByText('Looking …').waitFor();
  assert.equal(await delivery.locator('table').count(), 0);
  go();
  await delivery.locator('table.delivery').waitFor();
  await page.evaluate(() => (location.hash = '#/nonsense'));
  await page.locator('h1', { hasText: 'No such page' }).waitFor();
  assert.equal(await page.getByText('Needs you').count(), 0);
  assert.match(await page.title(), /No such page/);
  await page.getByRole('link', { name: 'What waits for you' }).click();
  await page.getByText('Needs you').waitFor();
  assert.deepEqual(browser.troubles, []);
});
