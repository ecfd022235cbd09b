// What people save: a conversation as JSON lines and as Markdown, the audit as JSON lines and as CSV. All of it, and as text.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

const MESSAGES = 450;
let server;
let made;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
});
after(() => server?.stop());

/** What a button saves. */
const saved = async (page, name) => {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name, exact: true }).click();
  const file = await download;
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
};

test('a conversation is saved whole, and no message can look like another one’s', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const { session_id } = await laptop.post('/sessions', { invite: ['@ida.reviewer'], topic: 'Many <b>words</b>' });
  const forged = 'Hello\n\n## 2. @ida.reviewer, 2026-01-01 00:00:00 UTC\n\n> I approve\r\n# Title\u202e';
  await laptop.post(`/sessions/${session_id}/messages`, { content: forged });
  for (let n = 0; n < MESSAGES; n++) await laptop.post(`/sessions/${session_id}/messages`, { content: `Message ${n}` });
  const browser = await openBrowser(t, { acceptDownloads: true });
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), session_id);
  await page.locator('.message', { hasText: `Message ${MESSAGES - 1}` }).waitFor();

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const lines = await saved(page, 'JSON lines');
  assert.equal(lines.name, 'Many _b_words_b_.jsonl');
  const [head, ...events] = lines.text.trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual([head.type, head.id, head.topic], ['session', session_id, 'Many <b>words</b>']);
  const all = [];
  for (let last = 0; ;) {
    const { events: more } = await laptop.get(`/sessions/${session_id}/events?after_sequence=${last}&limit=200`);
    if (!more.length) break;
    all.push(...more);
    last = more.at(-1).sequence;
  }
  assert.equal(all.filter(({ type }) => type === 'session.message').length, MESSAGES + 1);
  assert.deepEqual(events.map(({ sequence, content }) => [sequence, content]), all.map(({ sequence, content }) => [sequence, content]), 'each event once, in order, byte for byte');

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const { name, text } = await saved(page, 'Markdown');
  assert.equal(name, 'Many _b_words_b_.md');
  const headings = text.split('\n').filter((line) => line.startsWith('#'));
  assert.equal(headings[0], '# Many \\<b\\>words\\</b\\>');
  assert.equal(headings.length, MESSAGES + 2, 'one for the topic, one for each message');
  assert.ok(text.includes('> ## 2. @ida.reviewer') && text.includes('> > I approve') && text.includes('> # TitleU+202E'), text.slice(0, 800));
  assert.deepEqual(browser.troubles, []);
});

test('a file is named by a topic of any script', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const { session_id } = await laptop.post('/sessions', { invite: ['@ida.reviewer'], topic: 'Отчёт: 報告書?' });
  await client(server.url, made.tokens['@ida.reviewer']).post(`/sessions/${session_id}/join`);
  await laptop.post(`/sessions/${session_id}/end`);
  const browser = await openBrowser(t, { acceptDownloads: true });
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate((id) => (location.hash = `#/conversations/${id}`), session_id);
  await page.locator('.event-line', { hasText: 'ended by @ida.laptop' }).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const { name, text } = await saved(page, 'Markdown');
  assert.equal(name, 'Отчёт_ 報告書_.md');
  assert.ok(text.includes('ended by @ida.laptop, '), text);
});

test('the audit is saved whole, also what is not shown, and no cell is a formula', async (t) => {
  const browser = await openBrowser(t, { acceptDownloads: true });
  const page = await browser.signedIn(server, made.owners.ida);
  const { session_id } = await client(server.url, made.tokens['@ida.laptop']).post('/sessions', { invite: ['@ida.reviewer'], topic: 'Audited' });
  const writes = 130;
  const statuses = await page.evaluate(async ([id, count]) => {
    const { csrf } = await (await fetch('/console/session')).json();
    const done = [];
    for (let n = 0; n < count; n++) {
      const reply = await fetch(`/sessions/${id}/messages`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Plenary-CSRF': csrf, 'X-ASP-Agent': '@ida.laptop', 'Idempotency-Key': `audited-${n}` }, body: JSON.stringify({ content: `Written ${n}` }) });
      done.push(reply.status);
    }
    return done;
  }, [session_id, writes]);
  assert.ok(statuses.every((status) => status === 201), String(statuses));
  await page.evaluate(() => (location.hash = '#/audit'));
  await page.getByRole('button', { name: 'Older' }).waitFor();
  assert.ok((await page.locator('tbody tr').count()) < writes, 'a page has fewer');
  const lines = await saved(page, 'Save as JSON lines');
  const entries = lines.text.trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.equal(entries.filter(({ path }) => path.includes(session_id)).length, writes);
  const { text } = await saved(page, 'Save as CSV');
  const [names, ...rows] = text.trimEnd().split('\r\n').map((line) => line.split(','));
  assert.deepEqual(names, ['at', 'person', 'session_id', 'as', 'operation', 'path', 'status']);
  assert.equal(rows.length, entries.length);
  assert.deepEqual(rows.map((row) => row[5]), entries.map(({ path }) => path));
  assert.ok(rows.every((row) => row.length === names.length && row[3] === "'@ida.laptop" && row.every((cell) => !/^[=+\-@]/.test(cell))));
  assert.deepEqual(browser.troubles, []);
});
