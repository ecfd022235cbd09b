// Two thousand agents on the map: it stays fluid, chooses by a click, and says who may not write to whom, and why.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { frames, inWords, record } from '../figures.mjs';
import { startServer } from '../server.mjs';

const MANY = Number(process.env.PLENARY_TEST_AGENTS ?? 2_000);
const FEW = 20;
const AT_ONCE = 16;
const STEPS = 120;
const ELEMENTS_MAX = 2_500;
/** A frame in which the map moves may take so many times as long as one in which nothing happens. */
const FRAMES_MAX = 1.8;
let server;
let owners;

const each = async (count, run) => {
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let n = next++; n < count; n = next++) await run(n);
  }));
};

before(async () => {
  server = await startServer();
  const operator = client(server.url, server.operator);
  owners = {};
  for (const [owner, count] of [['few', FEW], ['many', MANY]]) {
    owners[owner] = (await operator.post('/_admin/owners', { owner })).token;
    const tokens = {};
    await each(count, async (n) => {
      // Every fifth admits nobody.
      const allowlist = n % 5 === 4 ? [] : [`@${owner}.*`];
      tokens[n] = (await operator.post('/_admin/agents', { handle: `@${owner}.agent-${n}`, policy: 'allowlist', allowlist })).token;
    });
    await operator.post(`/_admin/agents/@${owner}.agent-1/blocks`, { handle: `@${owner}.agent-0` });
    await each(count, (n) => n % 5 === 1 ? client(server.url, tokens[n]).post('/sessions', { invite: [`@${owner}.agent-${n + 1}`] }) : undefined);
  }
});
after(() => server?.stop());

/** Points, moves and enlarges, frame by frame; the times of such frames, and how many tasks took longer than 50 ms meanwhile. */
const play = async (page) => {
  await page.evaluate((steps) => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ entryTypes: ['longtask'] });
    const canvas = document.querySelector('.map-panel canvas');
    const { width, height } = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => {};
    const point = (type, x, y) => {
      const box = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerType: 'mouse', pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + y }));
    };
    const acts = {
      pointing: (n) => point('pointermove', (n / steps) * width, height / 2),
      moving: (n) => {
        if (n === 0) point('pointerdown', width / 2, height / 2);
        point('pointermove', width / 2 + 60 * Math.sin(n / 6), height / 2 + 40 * Math.cos(n / 6));
        if (n === steps - 1) point('pointerup', width / 2, height / 2);
      },
      enlarging: (n) => canvas.dispatchEvent(new WheelEvent('wheel', { ctrlKey: true, deltaY: n < steps / 2 ? -12 : 12, clientX: width / 2, clientY: height / 2, cancelable: true })),
    };
    Object.assign(globalThis, acts);
  }, STEPS);
  const times = {};
  for (const act of ['pointing', 'moving', 'enlarging']) times[act] = await frames(page, act, STEPS);
  return { times, long: await page.evaluate(() => globalThis.longTasks) };
};

const open = async (t, owner, count) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owners[owner]);
  // Until the conversations of all agents have been read.
  let asked = Date.now();
  page.on('request', () => (asked = Date.now()));
  await page.evaluate(() => (location.hash = '#/map'));
  await page.locator(`.map-panel canvas[data-nodes="${count}"]`).waitFor({ timeout: 120_000 });
  while (Date.now() - asked < 1_500) await new Promise((done) => setTimeout(done, 100));
  return { browser, page };
};

test(`${MANY} agents on the map are as fluid as ${FEW}`, async (t) => {
  const small = await open(t, 'few', FEW + 1);
  const { long: few } = await play(small.page);
  const { browser, page } = await open(t, 'many', MANY);
  const { times, long: many } = await play(page);
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  t.diagnostic(`of ${3 * STEPS} frames ${many.length} tasks took longer than 50 ms with ${MANY} agents (the longest ${Math.round(Math.max(0, ...many))} ms), ${few.length} with ${FEW}; ${elements} elements`);
  for (const [act, time] of Object.entries(times)) {
    t.diagnostic(`a frame of ${act} with ${MANY} agents: ${inWords(time)}`);
    assert.ok(time.median <= FRAMES_MAX * time.idle, `a frame of ${act} takes ${time.median} ms, one without ${time.idle} ms`);
  }
  record('a frame of moving 2,000 agents on the map', inWords(times.moving));
  // What else the machine does interrupts both alike.
  assert.ok(many.length <= few.length + (3 * STEPS) / 20, `${many.length} long tasks, ${few.length} with few`);
  assert.ok(elements <= ELEMENTS_MAX, `${elements} elements`);
  assert.deepEqual(browser.troubles, []);
});

test('a click chooses an agent, and says whom it may write to and why not to the others', async (t) => {
  const { browser, page } = await open(t, 'few', FEW + 1);
  await page.evaluate(() => (location.hash = '#/map?lines=reach'));
  const canvas = page.locator('.map-panel canvas');
  const { width, height } = await canvas.boundingBox();
  // Somewhere on the line through the middle stands an agent.
  for (let x = 0; x < width; x += 6) {
    await canvas.hover({ position: { x, y: height / 2 } });
    if (await page.locator('.map-panel canvas.at-node').count()) {
      await canvas.click({ position: { x, y: height / 2 } });
      break;
    }
  }
  await page.locator('.map-chosen h2').waitFor();
  await page.waitForFunction(() => /^#\/map\/@few\./.test(location.hash));
  await page.getByLabel('Choose an agent').fill('@few.agent-0');
  await page.locator('.map-chosen h2', { hasText: 'agent-0' }).waitFor();
  const why = (text) => page.locator('.why li', { hasText: text });
  // It admits everybody of its owner, as four of five do. One blocks it; the person has a list of its own.
  await why(/\b4 they do not admit it/).waitFor();
  await why(/\b1 they block it/).waitFor();
  await why(/they block it/).getByRole('button').click();
  await page.locator('.why-row', { hasText: '@few.agent-1 blocks @few.agent-0.' }).click();
  await page.locator('.verdict.no', { hasText: '@few.agent-1 blocks @few.agent-0' }).waitFor();
  await page.getByRole('button', { name: 'Lift the block' }).click();
  await page.locator('.verdict.yes').waitFor();
  await page.evaluate(() => (location.hash = '#/map/@few.agent-0?lines=reach'));
  await why(/may write to each other/).waitFor();
  await why(/they block it/).waitFor({ state: 'detached' });
  assert.deepEqual(browser.troubles, []);
});
