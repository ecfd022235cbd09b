// What people look up: an event by position and time and by the call that the page prints, and what changed between packages.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
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

/** Runs what the page says, as a person pastes it. */
const paste = (call) => execFileSync('sh', ['-c', call], { env: { PATH: process.env.PATH, PLENARY_TOKEN: made.owners.ida }, timeout: 20_000 }).toString();

test('the calls that the timeline prints read the event and the whole, for every room', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  for (const room of ['sessions', 'runs', 'requests', 'context', 'channels', 'accounts']) {
    await page.evaluate((to) => (location.hash = to), `#/timeline?rooms=${room}`);
    await page.locator('.event-row').first().waitFor();
    await page.waitForFunction((wanted) => document.querySelector(`.event-kind .r-${wanted}`), room);
    const at = await page.locator('.raw dd.num').first().innerText();
    const calls = await page.locator('.raw .call code').allInnerTexts();
    const event = JSON.parse(paste(calls[0]).replace(/^data: ?/, ''));
    assert.deepEqual([event.cursor, event.room], [at, room], calls[0]);
    assert.equal(await page.locator('.raw h2').innerText(), event.kind);
    if (calls[1]) assert.equal(JSON.parse(paste(calls[1])).error, undefined, calls[1]);
    else assert.ok(['channels', 'context', 'accounts'].includes(room), room);
  }
  assert.deepEqual(browser.troubles, []);
});

test('the timeline seeks by position and by time, and says what it does not understand', async (t) => {
  const browser = await openBrowser(t, { timezoneId: 'Asia/Kathmandu' });
  const page = await browser.signedIn(server, made.owners.ida);
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  await page.evaluate(() => (location.hash = '#/timeline'));
  await page.locator('.event-row').first().waitFor();
  const newest = Number(await page.locator('.event-row .num').first().innerText());
  // The clock of the page has whole seconds: the next one separates what follows.
  const second = Math.floor(Date.now() / 1000) + 1;
  while (Date.now() < (second + 1) * 1000) await new Promise((done) => setTimeout(done, 50));
  await laptop.post(`/sessions/${made.sessions.review}/messages`, { content: 'Said after the pause' });
  const seek = async (text) => {
    await page.getByLabel('From').fill(text);
    await page.keyboard.press('Enter');
  };
  await seek(String(newest - 3));
  await page.waitForFunction((wanted) => location.hash.includes(`from=${wanted}`), newest - 3);
  const shown = async () => Number(await page.locator('.event-row .num.aside').last().innerText());
  assert.ok((await shown()) >= newest - 3);
  // As the person's own clock shows it, five hours and three quarters ahead.
  const local = new Date(second * 1000 + (5 * 60 + 45) * 60_000).toISOString();
  for (const text of [local.slice(11, 19), local.slice(0, 19).replace('T', ' '), new Date(second * 1000).toISOString().slice(0, 19) + 'Z']) {
    await seek(String(newest - 3));
    await page.waitForFunction((wanted) => document.getElementById('seek').value === String(wanted), newest - 3);
    await seek(text);
    await page.waitForFunction((wanted) => Number(/from=(\d+)/.exec(location.hash)?.[1] ?? 0) > wanted, newest, { timeout: 15_000 }).catch(async () => { throw new Error(`${text}: ${page.url()} after ${newest}; the field has ${await page.getByLabel('From').inputValue()}; ${await page.locator('.seek').innerText()}`); });
    // The rows of the place before stay until the new ones are read.
    await page.waitForFunction((was) => {
      const rows = [...document.querySelectorAll('.event-row')];
      return rows.some((row) => row.textContent.includes('session.message')) && rows.every((row) => Number(row.querySelector('.num.aside').textContent) > was);
    }, newest);
  }
  await seek('yesterday');
  await page.getByText('Write a position, 14:02').waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('the timeline finds what is old, seeks to a place in the address, reads on in both directions, and goes on live', async (t) => {
  const scribe = client(server.url, made.tokens['@ida.scribe']);
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const { session_id: session } = await scribe.post('/sessions', { topic: 'The old grammar', initial_message: { content: 'A needle in the hay' } });
  const { session_id: hay } = await laptop.post('/sessions', { topic: 'Hay' });
  let left = 1_300;
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (left-- > 0) await laptop.post(`/sessions/${hay}/messages`, { content: `Straw ${left}` });
  }));
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const open = async (hash) => {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator('.event-row').first().waitFor();
  };
  const positions = async () => (await page.locator('.event-row .num.aside').allInnerTexts()).map(Number);
  const settled = () => page.locator('.reach-back [role=status]', { hasText: '–' }).waitFor();
  // Each is more than a thousand events back.
  for (const [hash, text] of [['#/timeline?agent=@acme.support', '@acme.support'], ['#/timeline?rooms=context', 'context'], ['#/timeline?q=needle', 'needle'], [`#/timeline?session=${session}&at=1`, session]]) {
    await open(hash);
    await page.locator('.raw', { hasText: text }).waitFor();
  }
  // An event that the address names is shown, with what is around it.
  await open('#/timeline?rooms=context');
  await settled();
  const [place] = (await positions()).slice(-1);
  const link = await browser.context.newPage();
  await link.goto(`${server.url}/#/timeline/${place}`);
  await link.locator('.raw dd.num', { hasText: String(place) }).first().waitFor();
  await link.locator('.list-row.chosen', { hasText: String(place) }).waitFor();
  await link.waitForFunction((at) => {
    const all = [...document.querySelectorAll('.event-row .num.aside')].map((row) => Number(row.textContent));
    return all.some((one) => one < at) && all.some((one) => one > at);
  }, place);
  await link.close();
  // From a place: on to the newest, then what happens; and back to the beginning.
  await open('#/timeline?from=20');
  const older = page.getByRole('button', { name: 'Older' });
  const newer = page.getByRole('button', { name: 'Newer' });
  const ends = page.locator('.reach-back [role=status]');
  await ends.getByText(/^20 – \d+$/).waitFor();
  for (let n = 0; n < 5 && await newer.isEnabled(); n++) {
    await newer.click();
    await settled();
  }
  await ends.getByText('20 – now').waitFor();
  const [before] = await positions();
  await laptop.post(`/sessions/${hay}/messages`, { content: 'The last straw' });
  await page.waitForFunction((was) => Number(document.querySelector('.event-row .num.aside')?.textContent) > was, before);
  await older.click();
  await ends.getByText('1 – now').waitFor();
  await page.keyboard.press('End');
  await page.waitForFunction(() => [...document.querySelectorAll('.event-row .num.aside')].some((at) => Number(at.textContent) < 20));
  assert.deepEqual(browser.troubles, []);
});

test('what changed between two packages of a lineage is shown line by line, the older on the left', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const deposit = (id, more) => laptop.post('/v1/projects/parser/packages', {
    package_id: id, project_id: 'parser', relay_version: '0.1', status: 'complete', package_type: 'standard', review_type: 'none',
    created_at: new Date().toISOString(), created_by: { id: '@ida.laptop', type: 'agent' }, ...more,
  });
  const first = { title: 'Plan', description: 'One\nTwo\nThree', decisions_made: ['Keep tabs', 'Keep names'] };
  await deposit('pkg_plan_1', first);
  await deposit('pkg_plan_2', { ...first, description: 'One\n2 <script>\nThree', decisions_made: ['Keep names', 'Use spaces'], parent_package_id: 'pkg_plan_1' });
  await deposit('pkg_plan_3', { ...first, title: 'The plan', parent_package_id: 'pkg_plan_2' });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const lines = async (title, kind) => page.getByRole('region', { name: `What changed in ${title}` }).locator(`.diff-line.${kind} code`).allInnerTexts();
  for (const [one, other] of [['pkg_plan_2', 'pkg_plan_1'], ['pkg_plan_1', 'pkg_plan_2']]) {
    await page.evaluate((to) => (location.hash = to), `#/context/parser?package=${one}`);
    await page.getByLabel('Compare with another').selectOption(other);
    await page.getByText('The same in both: title').waitFor();
    assert.deepEqual([await lines('Description', 'cut'), await lines('Description', 'add')], [['Two'], ['2 <script>']]);
    assert.deepEqual([await lines('Decisions', 'cut'), await lines('Decisions', 'add')], [['- Keep tabs'], ['- Use spaces']]);
  }
  // Grandparents are of the lineage, others are not.
  await page.evaluate(() => (location.hash = '#/context/parser?package=pkg_plan_3&with=pkg_plan_1'));
  await page.getByRole('region', { name: 'What changed in Title' }).waitFor();
  assert.deepEqual(await page.locator('.changed-part h4').allInnerTexts(), ['Title']);
  await page.getByLabel('Compare with another').locator('option').nth(2).waitFor({ state: 'attached' });
  assert.equal(await page.getByLabel('Compare with another').locator('option').count(), 3);
  await page.evaluate(() => (location.hash = '#/context/parser?package=pkg_review'));
  await page.locator('.hash.done').waitFor();
  assert.equal(await page.locator('.compare').count(), 0);
  assert.deepEqual(browser.troubles, []);
});

test('a channel shows what was posted long ago', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const { id } = await laptop.post('/agent-channel', { title: 'Many posts' });
  for (let n = 0; n < 130; n++) await laptop.post(`/agent-channel/${id}/event`, { kind: 'comms', payload: { text: `Post ${n}.` } });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((to) => (location.hash = `#/channels/${to}`), id);
  await page.locator('.posts li', { hasText: 'Post 129.' }).waitFor();
  assert.equal(await page.locator('.posts li').count(), 100);
  await page.getByRole('button', { name: 'Older posts' }).click();
  await page.locator('.posts li', { hasText: 'Post 0.' }).first().waitFor();
  await page.getByRole('button', { name: 'Older posts' }).waitFor({ state: 'detached' });
  // What comes joins, and nothing is lost or twice.
  await laptop.post(`/agent-channel/${id}/event`, { kind: 'comms', payload: { text: 'Post 130.' } });
  await page.locator('.posts li', { hasText: 'Post 130.' }).waitFor();
  const texts = (await page.locator('.posts li').allInnerTexts()).map((text) => Number(/Post (\d+)\./.exec(text)?.[1]));
  assert.deepEqual(texts, Array.from({ length: 131 }, (_, n) => 130 - n));
  assert.deepEqual(browser.troubles, []);
});

test('the map says whom an agent blocks, also of another owner', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/map/@ida.scribe?lines=reach'));
  await page.locator('.why-row', { hasText: '@ida.scribe blocks @acme.support' }).waitFor();
  await page.locator('.why', { hasText: 'it blocks them' }).waitFor();
  await page.evaluate(() => (location.hash = '#/map/@ida.laptop?lines=reach'));
  await page.locator('.why-row', { hasText: 'What @acme.support allows, only its owner knows.' }).waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('the search of Context is that of the address, and what is not there is named', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const go = (hash) => page.evaluate((to) => (location.hash = to), hash);
  const shows = (value) => page.waitForFunction((wanted) => document.querySelector('[aria-label="Search packages"]')?.value === wanted, value);
  await go('#/context/parser');
  await page.getByLabel('Search packages').fill('lexer');
  await page.waitForFunction(() => location.hash.includes('q=lexer'));
  for (const q of ['benchmarks', '']) {
    await go(`#/context/parser${q ? `?q=${q}` : ''}`);
    await shows(q);
  }
  await go('#/context/parser?tab=facts&q=nothing-of-this');
  await page.getByText('No fact has these words.').waitFor();
  await go('#/context/absent');
  await page.getByText('There is no such project').first().waitFor();
  assert.equal(await page.getByLabel('Project').inputValue(), 'absent');
});
