// Runs: asking again, the forms that runs ask with, and runs of long ago.
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

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
  laptop = client(server.url, made.tokens['@ida.laptop']);
});
after(() => server?.stop());

/** Asks an agent for a run, and gives the ids of it and of its thread. */
const run = async (agent, body, wait = true) => {
  const reply = await fetch(`${server.url}/agent/${agent}/run${wait ? '?wait=result' : ''}`, {
    method: 'POST', headers: { Authorization: `Bearer ${made.tokens['@ida.laptop']}`, 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  await reply.text();
  assert.ok(reply.ok, reply.status);
  return { run_id: reply.headers.get('x-run-id'), thread_id: reply.headers.get('x-thread-id') };
};
const open = async (page, id) => {
  await page.evaluate((to) => (location.hash = `#/runs/${to}`), id);
  await page.locator('.run', { hasText: id }).waitFor();
};

test('asking again sends what the run was asked, whole, also of a later run of a thread', async (t) => {
  const long = `release 9.9\n${'A line about what should be done.\n'.repeat(40)}`;
  const first = await run('builder', { input: long });
  const second = await run('builder', { input: 'release 9.10\nwith its notes', thread_id: first.thread_id });
  assert.equal(second.thread_id, first.thread_id);
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  for (const [{ run_id }, title, input] of [[first, 'release 9.9', long], [second, 'release 9.10', 'release 9.10\nwith its notes']]) {
    await open(page, run_id);
    await page.locator('#run-title').getByText(title, { exact: true }).waitFor();
    await page.locator('.list-row.chosen .row-title').getByText(title, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Ask again' }).click();
    assert.equal(await page.getByRole('dialog').getByRole('textbox', { name: 'What' }).inputValue(), input);
    await page.getByRole('dialog').getByRole('button', { name: 'Ask' }).click();
    await page.waitForFunction((was) => location.hash.startsWith('#/runs/') && !location.hash.includes(was), run_id);
    const id = await page.evaluate(() => location.hash.split('/').pop());
    assert.equal((await laptop.get(`/agent/builder/runs/${id}`).catch(() => client(server.url, made.owners.ida).get(`/agent/builder/runs/${id}`))).request.input, input);
  }
  assert.deepEqual(browser.troubles, []);
});

test('a run that asks with a form gets values of its types, or is declined', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const asked = await run('builder', { input: 'release with a form' });
  await open(page, asked.run_id);
  await page.locator('.answer').getByText('Where is it released from?').waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByLabel('Branch').selectOption('next');
  await page.getByLabel('Copies').fill('9');
  await page.getByRole('button', { name: /^Answer/ }).click();
  assert.equal(await page.locator('.step', { hasText: 'Told' }).count(), 0, 'nine are too many');
  await page.getByLabel('Copies').fill('2');
  await page.getByLabel('Public').check();
  await page.getByRole('button', { name: /^Answer/ }).click();
  await page.locator('.step.text', { hasText: 'Told: {"branch":"next","copies":2,"public":true}' }).waitFor();
  const other = await run('builder', { input: 'release with a form' });
  await open(page, other.run_id);
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.locator('.step.text', { hasText: 'Told: {"elicitation":"decline"}' }).waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('a run of long ago is in the list when it is read on, and a link to it shows it at once', async (t) => {
  const old = await run('builder', { input: 'release 0.1' });
  let left = 110;
  await Promise.all(Array.from({ length: 4 }, async () => {
    while (left-- > 0) await run('builder', { input: `fail ${left}` });
  }));
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await open(page, old.run_id);
  await page.locator('#run-title').getByText('release 0.1', { exact: true }).waitFor();
  await page.locator('.step.end.success').waitFor();
  await page.evaluate(() => (location.hash = '#/runs?q=0.1'));
  await page.getByText('No run fits.').waitFor();
  await page.getByRole('button', { name: 'Older runs' }).click();
  await page.locator('.list-row', { hasText: 'release 0.1' }).waitFor();
  await page.evaluate(() => (location.hash = '#/runs/01a20945-3b63-7f25-bd0f-487a05a5345d'));
  await page.getByText('There is no such run, or it is not yours.').waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('what an agent asked of an agent of another owner is among the runs, and is read in its name', async (t) => {
  const asked = await run('echo', { input: 'Say this' });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/runs?agent=echo'));
  await page.locator('.list-row', { hasText: 'Say this' }).click();
  await page.locator('.run', { hasText: asked.run_id }).locator('.step.end.success').waitFor();
  assert.deepEqual(browser.troubles, []);
});

test('a run that was canceled is called so, also before its report says it', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const { run_id } = await run('builder', { input: 'slow verification of all shards' }, false);
  await page.route(new RegExp(`/runs/${run_id}$`), async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), status: 'running' } });
  });
  await open(page, run_id);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.locator('.step.end').waitFor();
  assert.equal(await page.locator('.run .people b').innerText(), 'canceled');
});
