// What the first page costs: bytes, requests, and the time to the first paint, compared with a bare page of the same server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser } from '../browser.mjs';
import { record } from '../figures.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

const BYTES_MAX = 150 * 1024;
const REQUESTS_MAX = 60;
const ROUNDS = 7;
/** The page may take so many times as long as a file that is all there is. */
const RATIO_MAX = 5;
let server;
let made;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
});
after(() => server?.stop());

/** Loads a page with an empty cache, until its first paint with content and the last file that it names in advance. */
const load = async (page, url, ready) => {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.clearBrowserCache');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.goto('about:blank');
  await page.goto(url);
  if (ready) await page.locator(ready).first().waitFor();
  const measured = await page.evaluate(async () => {
    const paint = await new Promise((done) => new PerformanceObserver((list) => {
      const found = list.getEntriesByName('first-contentful-paint')[0];
      if (found) done(found.startTime);
    }).observe({ type: 'paint', buffered: true }));
    const [whole] = performance.getEntriesByType('navigation');
    const resources = performance.getEntriesByType('resource').map(({ name, startTime, transferSize, initiatorType }) => ({ name: new URL(name).pathname, startTime, transferSize, initiatorType }));
    return { paint, resources, bytes: whole.transferSize };
  });
  await session.detach();
  return measured;
};

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

test('the first page loads at most 150 KiB and few files, and paints soon after a bare file would', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const first = await load(page, `${server.url}/`, '.lane-row');
  const files = first.resources.filter(({ name }) => name.startsWith('/console/') && name !== '/console/session');
  const bytes = first.bytes + files.reduce((sum, { transferSize }) => sum + transferSize, 0);
  const before = first.resources.filter(({ startTime }) => startTime <= first.paint).length + 1;
  t.diagnostic(`${files.length + 1} files, ${(bytes / 1024).toFixed(1)} KiB with their headers; ${before} requests begun before the first paint`);
  record('the first page, compressed', `${(bytes / 1024).toFixed(1)} KiB in ${files.length + 1} files`);
  assert.ok(bytes > 20_000 && bytes <= BYTES_MAX, `${bytes} bytes`);
  assert.ok(before <= REQUESTS_MAX, `${before} requests`);
  assert.ok(files.every(({ transferSize }) => transferSize > 0), 'nothing came from a cache');
  // In turns, so that whatever else the machine does meets both.
  const times = { page: [], bare: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.bare.push((await load(page, `${server.url}/console/vendor/licences/preact.txt`)).paint);
    times.page.push((await load(page, `${server.url}/`, '.shell')).paint);
  }
  const [whole, bare] = [median(times.page), median(times.bare)];
  t.diagnostic(`first contentful paint after ${Math.round(whole)} ms, of a bare file after ${Math.round(bare)} ms: ${(whole / bare).toFixed(1)} times`);
  record('the first paint', `${Math.round(whole)} ms, ${(whole / bare).toFixed(1)} times a bare file (${Math.round(bare)} ms)`);
  assert.ok(whole / bare <= RATIO_MAX, `${whole} ms, ${bare} ms`);
});
