// What joins the rooms on the timeline: traces, and frames, which are in no log.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };

let collector;
let server;
let made;

before(async () => {
  // Spans have somewhere to go: without that no trace is known.
  collector = createServer((asked, reply) => asked.resume().on('end', () => reply.writeHead(200).end()));
  await new Promise((done) => collector.listen(0, '127.0.0.1', done));
  server = await startServer({ more: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.address().port}` } });
  made = await seed(server.url, server.operator);
});
after(async () => {
  await server?.stop();
  collector?.closeAllConnections();
  collector?.close();
});

test('a mark on a row shows its trace alone, over the rooms, with its rows joined', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  const traced = client(server.url, made.tokens['@ida.laptop'], CALLER);
  const messages = `/sessions/${made.sessions.review}/messages`;
  await traced.post(messages, { content: 'The trace begins' });
  await laptop.post(messages, { content: 'Not of the trace' });
  const { id: channel } = await laptop.post('/agent-channel', { title: 'Traced' });
  await traced.post(`/agent-channel/${channel}/event`, { kind: 'comms', payload: { text: 'In the channel' } });
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/timeline'));
  const row = page.locator('.event-row', { hasText: 'The trace begins' });
  await row.click();
  await page.locator('.raw dd code', { hasText: TRACE }).waitFor();
  // From the channel's event to the message the line runs through what is between them.
  await page.locator('.event-row', { has: page.locator('.trace-mark.first') }).filter({ hasText: 'channel.event' }).waitFor();
  await page.locator('.event-row', { has: page.locator('.trace-mark.last') }).filter({ hasText: 'The trace begins' }).waitFor();
  await page.locator('.event-row', { has: page.locator('.trace-mark.past') }).filter({ hasText: 'Not of the trace' }).waitFor();
  await row.locator('.trace-mark i').click();
  await page.waitForFunction((id) => location.hash.includes(`trace=${id}`), TRACE);
  await page.locator('.event-row', { hasText: 'Not of the trace' }).waitFor({ state: 'detached' });
  // The rows that are there already fit first; then they are read anew.
  const kinds = () => page.locator('.event-row .event-kind').allInnerTexts();
  for (let n = 0; String(await kinds()) !== 'channel.event,session.message'; n++) {
    assert.ok(n < 200, String(await kinds()));
    await page.waitForTimeout(50);
  }
  // What happens joins it, and the address alone shows the same.
  await traced.post(messages, { content: 'The trace goes on' });
  await page.locator('.event-row', { hasText: 'The trace goes on' }).waitFor();
  const link = await browser.context.newPage();
  await link.goto(`${server.url}/#/timeline?trace=${TRACE}`);
  await link.locator('.event-row', { hasText: 'The trace goes on' }).waitFor();
  assert.equal(await link.locator('.event-row').count(), 3);
  await link.close();
  await page.locator('.only-trace').click();
  await page.locator('.event-row', { hasText: 'Not of the trace' }).waitFor();
  assert.deepEqual(browser.troubles, []);
});

const frame = (text, to = '~ida') => ({
  envelope_version: '1.0', frame_id: crypto.randomUUID(), created_at: new Date().toISOString().replace(/\.\d+Z$/, 'Z'), kind: 'agent_advisory',
  sender_handle: '~ida', recipient_handle: to, acted_by: '~ida', drafted_with: '~ida', payload: { advisory_text: text },
  provenance_compute_location: 'local-only', provenance_method: ['written by hand'], provenance_context_check: 'passed', provenance_basis: 'a test',
});

test('frames stand on the timeline while they are kept, marked as in no log', async (t) => {
  const laptop = client(server.url, made.tokens['@ida.laptop']);
  await laptop.post('/frames', frame('Sent before the page opened'));
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  await page.evaluate(() => (location.hash = '#/timeline'));
  await page.locator('.event-row', { hasText: 'Sent before the page opened' }).waitFor();
  await laptop.post('/frames', frame('Sent while it is open'));
  const row = page.locator('.event-row', { hasText: 'Sent while it is open' });
  await row.click();
  await page.locator('.raw h2', { hasText: 'frame.agent_advisory' }).waitFor();
  await page.locator('.raw', { hasText: 'Frames are in no log' }).waitFor();
  assert.equal(await row.locator('.num.aside').innerText(), '', 'it has no position');
  const call = await page.locator('.raw .call code').innerText();
  const told = execFileSync('sh', ['-c', call], { env: { PATH: process.env.PATH, PLENARY_TOKEN: made.owners.ida }, timeout: 20_000 }).toString();
  assert.match(told, /Sent while it is open/);
  // Alone, and left out.
  await page.evaluate(() => (location.hash = '#/timeline?rooms=frames'));
  await page.waitForFunction(() => [...document.querySelectorAll('.event-row')].length === 2);
  await page.evaluate(() => (location.hash = '#/timeline?rooms=sessions,channels'));
  await page.locator('.event-row', { hasText: 'Sent while it is open' }).waitFor({ state: 'detached' });
  assert.deepEqual(browser.troubles, []);
  const stranger = await openBrowser(t);
  const other = await stranger.signedIn(server, made.owners.acme);
  await other.evaluate(() => (location.hash = '#/timeline'));
  await other.locator('.event-row').first().waitFor();
  assert.equal(await other.locator('.event-row', { hasText: 'frame.' }).count(), 0);
  // What is sent to another owner is shown to both.
  await page.evaluate(() => (location.hash = '#/timeline?rooms=frames'));
  await laptop.post('/frames', frame('Sent to Acme', '~acme'));
  for (const one of [page, other]) await one.locator('.event-row', { hasText: 'Sent to Acme' }).waitFor();
});
