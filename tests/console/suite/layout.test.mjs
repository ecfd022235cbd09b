// What does not fit: many participants, long texts, low screens, forced colours, paper, and lists that end before the data do.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { violations } from '../axe.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

const MANY = 27;
const LONG_NAME = `@ida.${'a'.repeat(50)}`;
let server;
let made;
let crowd;
let cut;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
  const operator = client(server.url, server.operator);
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const handles = [...Array.from({ length: MANY - 1 }, (_, n) => `@ida.worker-${String(n).padStart(2, '0')}`), LONG_NAME];
  const made_ = [];
  for (const handle of handles) made_.push([handle, (await operator.post('/_admin/agents', { handle, policy: 'open' })).token]);
  crowd = (await laptop.post('/sessions', { invite: handles, topic: 'All hands' })).session_id;
  for (const [, token] of made_) await client(server.url, token).post(`/sessions/${crowd}/join`);
  for (let n = 0; n < 60; n++) await laptop.post(`/sessions/${crowd}/messages`, { content: `Line ${n}: the quick brown fox jumps over the lazy dog. Then it does so once more.` });
  cut = (await laptop.post('/sessions', { invite: ['@ida.reviewer'], topic: 'Much', initial_message: { content: 'x'.repeat(100_014) } })).session_id;
  await laptop.post('/v1/projects', { project_id: 'long', name: 'Long', description: 'It is described at length. '.repeat(600) });
  await laptop.post('/v1/projects/long/packages', { package_id: 'pkg_long', project_id: 'long', relay_version: '0.1', status: 'complete', package_type: 'standard', review_type: 'none', created_at: new Date().toISOString(), created_by: { id: '@ida.laptop', type: 'agent' }, title: 'A package' });
});
after(() => server?.stop());

const open = async (t, hash, viewport, options = {}) => {
  const browser = await openBrowser(t, { viewport, ...options });
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((to) => (location.hash = to), hash);
  return page;
};
const heightOf = async (page, selector) => (await page.locator(selector).first().boundingBox()).height;
const picture = (page, name) => (process.env.PLENARY_TEST_PICTURES ? page.screenshot({ path: `${process.env.PLENARY_TEST_PICTURES}/${name}.png` }) : undefined);

test('many participants leave room for what is said, and are all shown on request', async (t) => {
  for (const viewport of [{ width: 360, height: 740 }, { width: 768, height: 900 }]) {
    const page = await open(t, `#/conversations/${crowd}`, viewport);
    await page.locator('.message', { hasText: 'Line 59' }).waitFor();
    await picture(page, `crowd-${viewport.width}`);
    assert.ok(await heightOf(page, '.talk-scroll') > viewport.height / 3, `${await heightOf(page, '.talk-scroll')} px`);
    const [send, tabs] = [await page.getByRole('button', { name: /^Send/ }).boundingBox(), await page.locator('.tabs').boundingBox()];
    assert.ok(!tabs || send.y + send.height <= tabs.y + 1, 'the button is above the tabs');
    await page.getByRole('button', { name: `${MANY + 1 - 6} more` }).click();
    assert.equal(await page.locator('.people li:visible').count(), MANY + 2);
    await picture(page, `crowd-all-${viewport.width}`);
    assert.deepEqual(await violations(page), []);
  }
});

test('a message that is cut says so', async (t) => {
  const page = await open(t, `#/conversations/${cut}`, { width: 1280, height: 800 });
  await page.getByText('14 more characters are not shown').waitFor();
});

test('a long description leaves room for the packages', async (t) => {
  const page = await open(t, '#/context/long', { width: 1280, height: 800 });
  await page.locator('.list-row').first().waitFor();
  await picture(page, 'description');
  assert.ok(await heightOf(page, '.column-list .list') > 300);
  await page.getByRole('button', { name: 'More', exact: true }).first().click();
  assert.ok((await page.locator('.lead').innerText()).length > 10_000);
  assert.ok(await heightOf(page, '.lead') <= 330);
});

test('at 200 % the lists of all pages have room for rows', async (t) => {
  const page = await open(t, '#/timeline', { width: 640, height: 400 });
  for (const [hash, box] of [['#/timeline', '.timeline-body .list'], ['#/context/long', '.column-list .list'], ['#/context/parser?tab=facts', '.facts-page'], ['#/inbox', '.list'], ['#/conversations', '.list'], ['#/agents', '.list']]) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator(`${box} >> visible=true`).first().waitFor();
    await page.waitForTimeout(400);
    await picture(page, `zoom-${hash.replace(/\W/g, '')}`);
    assert.ok(await heightOf(page, box) >= 190, `${hash}: ${await heightOf(page, box)} px`);
    const row = page.locator(`${box} .list-row`).first();
    if (await row.count()) {
      await row.scrollIntoViewIfNeeded();
      const { y, height } = await row.boundingBox();
      assert.ok(y >= 0 && y + height <= 400, `${hash}: a row can be seen`);
    }
  }
});

test('at 320 px nothing of a channel is cut, and the times of the timeline are on one line', async (t) => {
  const [channel] = await client(server.url, made.owners.ida).get('/agent-channel');
  const page = await open(t, `#/channels/${channel.id}`, { width: 320, height: 640 });
  await page.locator('.posts li').first().waitFor();
  await picture(page, 'channel-320');
  for (const part of await page.locator('.posts .message-foot, .block .field-row button').all()) {
    const { x, width } = await part.boundingBox();
    assert.ok(x + width <= 320, `${await part.innerText()}: ${x}, ${width} px wide`);
  }
  await page.evaluate(() => (location.hash = '#/timeline'));
  await page.locator('.strip-axis span').first().waitFor();
  await picture(page, 'timeline-320');
  const times = page.locator('.strip-axis span:visible');
  assert.equal(await times.count(), 3);
  for (const time of await times.all()) assert.ok((await time.boundingBox()).height < 22);
});

test('with forced colours the selected row and the pressed button can be told', async (t) => {
  const page = await open(t, '#/inbox', { width: 1280, height: 800 }, { forcedColors: 'active' });
  await page.locator('.list-row.chosen').waitFor();
  await picture(page, 'forced-inbox');
  assert.equal(await page.locator('.list-row.chosen').evaluate((node) => getComputedStyle(node).outlineStyle), 'solid');
  const colour = (selector) => page.locator(selector).first().evaluate((node) => getComputedStyle(node).backgroundColor);
  assert.notEqual(await colour('.segments button[aria-pressed="true"]'), await colour('.segments button[aria-pressed="false"]'));
  await page.evaluate(() => (location.hash = '#/now'));
  await page.locator('.lane-row.chosen').waitFor();
  await picture(page, 'forced-now');
});

test('a note lies over nothing of a request', async (t) => {
  const page = await open(t, '#/inbox', { width: 1280, height: 800 });
  await page.locator('#request-title').waitFor();
  await page.keyboard.press('z');
  const note = await page.locator('.toast', { hasText: 'Snoozed' }).boundingBox();
  await picture(page, 'note');
  const list = await page.locator('.split-list').boundingBox();
  assert.ok(note.x + note.width <= list.x, `${JSON.stringify(note)} ${JSON.stringify(list)}`);
});

test('on paper is all that is shown, not one screen of it', async (t) => {
  for (const [hash, mark, least] of [[`#/conversations/${crowd}`, '.message', 3], ['#/audit', 'h1', 1], ['#/inbox', '#request-title', 1]]) {
    const page = await open(t, hash, { width: 1280, height: 800 });
    await page.locator(mark).first().waitFor();
    await page.waitForTimeout(500);
    await page.emulateMedia({ media: 'print' });
    const hidden = await page.locator('.rail').isVisible();
    assert.equal(hidden, false, hash);
    if (mark === '.message') assert.equal(await page.locator('.people li:visible').count(), MANY + 1);
    const cut = await page.evaluate(() => [...document.querySelectorAll('.talk-scroll, .request-scroll, .page')].filter((node) => node.scrollHeight > node.clientHeight + 2 && getComputedStyle(node).overflowY !== 'visible').map(({ className }) => className));
    assert.deepEqual(cut, [], hash);
    const pages = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type\s*\/Page\b/g).length;
    assert.ok(pages >= least, `${hash}: ${pages} pages`);
    if (process.env.PLENARY_TEST_PICTURES) await page.screenshot({ path: `${process.env.PLENARY_TEST_PICTURES}/print-${hash.replace(/\W/g, '').slice(0, 6)}.png` });
  }
});

test('a long name leaves the other columns of Health in view', async (t) => {
  const page = await open(t, '#/health', { width: 768, height: 900 });
  const row = page.locator('tr', { hasText: LONG_NAME.slice(5) }).first();
  await row.waitFor();
  await row.scrollIntoViewIfNeeded();
  await picture(page, 'health-768');
  const { x, width } = await row.locator('td').last().boundingBox();
  assert.ok(x + width <= 768 && width > 40, `${x}, ${width} px wide`);
  assert.ok((await heightOf(page, 'tr:has(td)')) < 60);
});

test('more agents than the overview tells are not said to be idle', async (t) => {
  const browser = await openBrowser(t);
  await browser.context.route(/\/overview$/, async (route) => {
    const reply = await route.fetch();
    const all = await reply.json();
    return route.fulfill({ response: reply, json: { ...all, agents: all.agents.slice(0, 3), more: true } });
  });
  const page = await browser.signedIn(server, made.owners.ida);
  await page.getByText('The states of 3 agents are read. There are more agents.').waitFor();
  await page.evaluate(() => (location.hash = '#/agents'));
  await page.getByText('There are more agents.').waitFor();
  assert.equal(await page.locator('.list-row').last().locator('svg.mark').count(), 0);
});

test('a project’s list says that it is cut, and is read again for its own events alone', async (t) => {
  const browser = await openBrowser(t);
  await browser.context.route(/\/v1\/projects\/long\/packages\?/, async (route) => {
    const reply = await route.fetch({ url: `${server.url}/v1/projects/long/packages` });
    const { packages } = await reply.json();
    const many = Array.from({ length: 500 }, (_, n) => ({ ...packages[0], package_id: `${packages[0].package_id}_${new URL(route.request().url()).searchParams.get('cursor') ?? ''}${n}` }));
    return route.fulfill({ response: reply, json: { packages: many, next_cursor: `c${Math.random()}` } });
  });
  const page = await browser.signedIn(server, made.owners.ida);
  let reads = 0;
  page.on('request', (request) => (reads += Number(/projects\/long\/packages\?/.test(request.url()))));
  await page.evaluate(() => (location.hash = '#/context/long'));
  await page.getByText('The newest 1,000 packages are listed.').waitFor();
  assert.equal(reads, 2);
  await client(server.url, made.tokens['@ida.laptop']).post('/v1/projects/parser/facts', { subject: 'x', predicate: 'is', value: 'y' });
  await page.waitForTimeout(2_500);
  assert.equal(reads, 2);
});
