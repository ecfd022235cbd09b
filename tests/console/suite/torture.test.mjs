// Decisions under kill -9: the server and the programs that wait for an answer are killed at random, again and again.
// No answer is lost, none counts twice, every deadline is decided. With the 20 of the suite's own crash test (crash.rs) the
// full command takes 200 decisions; the median of the time from a tap until the agent goes on, and the lateness of deadlines
// while the server is up, have limits.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { BIN, startServer } from '../server.mjs';

const MANY = Number(process.env.PLENARY_TEST_DECISIONS ?? 180);
const SEED = Number(process.env.PLENARY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const AT_ONCE = 8;
const AGAIN_MS = 40;
const MEDIAN_MS_MAX = 1_000;
const LATE_MS_MAX = 1_000;
const HOW = ['person', 'link', 'two people', 'deadline', 'person at the deadline'];
const TYPES = ['accept', 'ignore', 'respond'];
const TIMEOUTS = ['accept', 'ignore', 'none'];

/** Numbers that a seed decides (mulberry32). */
let state = SEED;
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};
const upTo = (most) => Math.floor(random() * most);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

let server;
let home;
let owner;
let agent;
const waiters = new Map();

before(async () => {
  server = await startServer();
  home = mkdtempSync(join(tmpdir(), 'plenary-waiters-'));
  const operator = client(server.url, server.operator);
  owner = (await operator.post('/_admin/owners', { owner: 'ida' })).token;
  agent = (await operator.post('/_admin/agents', { handle: '@ida.laptop' })).token;
});
after(async () => {
  for (const child of waiters.values()) child.kill('SIGKILL');
  await server?.stop();
  if (home) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

/** Asks until the server answers. A refusal is an answer; a server that is starting is none. */
const insist = async (method, path, token, body, { key, form } = {}) => {
  for (;;) {
    try {
      const reply = await fetch(server.url + path, {
        method,
        headers: {
          ...(token ? { Authorization: `Bearer ${token}` } : {}),
          ...(key ? { 'Idempotency-Key': key } : {}),
          ...(form ? { 'Content-Type': 'application/x-www-form-urlencoded' } : { 'Content-Type': 'application/json' }),
        },
        body: form ? String(new URLSearchParams(form)) : body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(20_000),
      });
      const text = await reply.text();
      if (reply.status < 500) return { status: reply.status, body: text.startsWith('{') ? JSON.parse(text) : text };
    } catch {}
    await pause(AGAIN_MS);
  }
};

/** A program of the agent that waits for the answer, and is started again when it is killed: what it was told at last. */
const resumed = async (id) => {
  for (;;) {
    const child = spawn(BIN, ['requests', 'show', id, '--wait', '30', '--json'], {
      env: { PATH: process.env.PATH, HOME: home, PLENARY_DATA: join(home, 'data'), PLENARY_URL: server.url, PLENARY_AS: '@ida.laptop', PLENARY_TOKEN: agent },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    waiters.set(id, child);
    let said = '';
    child.stdout.on('data', (chunk) => (said += chunk));
    const code = await new Promise((done) => child.once('close', done));
    waiters.delete(id);
    const told = code === 0 ? JSON.parse(said) : undefined;
    if (told && told.state !== 'open') return { told, at: Date.now() };
    await pause(AGAIN_MS);
  }
};

/** One answer of a person, until the server has said what became of it: the answer that was acknowledged, if it was. */
const tap = async (one, type, device) => {
  const answer = { type, ...(type === 'respond' ? { text: `Words ${one.n} ${device}` } : {}) };
  const reply = one.how === 'link'
    ? await insist('POST', one.link, undefined, undefined, { form: { answer: type, text: answer.text ?? '' } })
    : await insist('POST', `/requests/${one.id}/answer`, owner, { ...answer, version: one.version }, { key: `tap-${one.n}-${device}` });
  // The acknowledgement of a link may be lost with the server; the repetition finds the answer there.
  assert.ok([200, 409].includes(reply.status), JSON.stringify(reply));
  if (reply.status === 200) one.taken.push(answer);
};

const decide = async (n) => {
  const how = HOW[n % HOW.length];
  const one = { n, how, taken: [], sent: [] };
  const isTimed = how === 'deadline' || how === 'person at the deadline';
  const deadline = isTimed ? Date.now() + 1_500 + upTo(1_500) : undefined;
  one.onTimeout = TIMEOUTS[upTo(TIMEOUTS.length)];
  const asked = {
    kind: 'permission', title: `Decision ${n}`, action: { name: 'Bash', args: { command: `make ${n}` } },
    allow: { accept: true, edit: false, respond: true, ignore: true }, on_timeout: isTimed ? one.onTimeout : 'none', ...(deadline ? { deadline_at: deadline } : {}),
  };
  const made = await insist('POST', '/requests', agent, asked, { key: `decision-${n}` });
  if (isTimed && made.status === 400) return { ...one, skipped: true };
  assert.equal(made.status, 201, JSON.stringify(made));
  [one.id, one.version] = [made.body.request_id, made.body.version];
  const waits = resumed(one.id);
  if (how === 'link') {
    const link = await insist('POST', `/requests/${one.id}/link`, owner, {}, { key: `link-${n}` });
    one.link = new URL(link.body.url).pathname;
    one.version = (await insist('GET', `/requests/${one.id}`, owner)).body.version;
  }
  await pause(how === 'person at the deadline' ? Math.max(0, deadline - Date.now() - 20 + upTo(40)) : upTo(400));
  const began = Date.now();
  if (how !== 'deadline') {
    one.sent = how === 'two people' ? ['accept', 'ignore'] : [TYPES[upTo(TYPES.length)]];
    await Promise.all(one.sent.map((type, device) => tap(one, type, device)));
  }
  const { told, at } = await waits;
  return { ...one, told, began, ms: isTimed ? undefined : at - began };
};

test(`${MANY} decisions while the server and those who wait are killed`, async (t) => {
  t.diagnostic(`PLENARY_TEST_SEED=${SEED}`);
  const kills = { server: 0, waiters: 0 };
  /** @type {{from: number, to: number}[]} */
  const outages = [];
  let over = false;
  const chaos = (async () => {
    while (!over) {
      await pause(100 + upTo(500));
      const waiting = [...waiters.values()];
      if (random() < 0.4) {
        const from = Date.now();
        await server.kill();
        await server.restart();
        outages.push({ from, to: Date.now() });
        kills.server++;
      } else if (waiting.length) {
        waiting[upTo(waiting.length)].kill('SIGKILL');
        kills.waiters++;
      }
    }
  })();
  let next = 0;
  const decisions = [];
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let n = next++; n < MANY; n = next++) decisions.push(await decide(n));
    }));
  } finally {
    over = true;
    await chaos;
  }

  const made = decisions.filter(({ skipped }) => !skipped);
  assert.ok(made.length >= MANY * 0.9, `${MANY - made.length} deadlines had passed before the server was back`);
  const late = [];
  for (const one of made) {
    const { body: stands } = await insist('GET', `/requests/${one.id}`, owner);
    const of = `${one.how} ${one.n}: ${JSON.stringify([one.taken, stands.state, stands.answer, one.told.answer])}`;
    assert.notEqual(stands.state, 'open', of);
    assert.deepEqual([one.told.state, one.told.answer?.type, one.told.answer?.text], [stands.state, stands.answer?.type, stands.answer?.text], `it heard another answer than stands: ${of}`);
    // What is repeated with its key is one answer, and is acknowledged again; of two people one is first.
    if (one.how === 'person' || one.how === 'two people') assert.equal(one.taken.length, 1, of);
    else assert.ok(one.taken.length <= 1, of);
    if (one.how === 'person' || one.how === 'link') assert.equal(stands.answer.type, one.sent[0], of);
    for (const answer of one.taken) assert.deepEqual([stands.answer.type, stands.answer.text], [answer.type, answer.text], `an acknowledged answer is lost: ${of}`);
    if (!one.how.includes('deadline')) assert.equal(stands.state, 'answered', of);
    else if (stands.answer?.by === 'deadline') {
      assert.equal(stands.answer.type, one.onTimeout, of);
      const due = stands.deadline_at;
      const wasUp = !outages.some(({ from, to }) => from <= due + LATE_MS_MAX && to >= due);
      if (wasUp) late.push(stands.answer.at - due);
    }
    else if (stands.state === 'expired') assert.equal(one.onTimeout, 'none', of);
    else assert.ok(one.sent.includes(stands.answer.type), of);
  }
  // Nothing was asked twice, and the agent is told of each answer once.
  const all = [];
  for (const state of ['open', 'snoozed', 'answered', 'expired', 'withdrawn']) {
    for (let cursor = ''; cursor !== null;) {
      const { body } = await insist('GET', `/requests?state=${state}&limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, owner);
      all.push(...body.requests);
      cursor = body.next_cursor ?? null;
    }
  }
  assert.deepEqual(all.map(({ title }) => title).sort(), made.map(({ n }) => `Decision ${n}`).sort());
  const told = new Map();
  for (let cursor = ''; cursor !== null;) {
    const { body } = await insist('GET', `/inbox?limit=100${cursor ? `&after=${encodeURIComponent(cursor)}` : ''}`, agent);
    for (const { kind, ref } of body.items) if (kind === 'request.answered') told.set(ref.request_id, (told.get(ref.request_id) ?? 0) + 1);
    assert.notEqual(body.cursor, cursor, 'the inbox goes on');
    cursor = body.more ? body.cursor : null;
  }
  const answered = made.filter((one) => one.told.state === 'answered');
  assert.deepEqual(answered.filter(({ id }) => told.get(id) !== 1).map(({ n, id, how }) => [n, how, told.get(id)]), []);
  const times = made.flatMap(({ ms }) => (ms === undefined ? [] : [ms])).sort((a, b) => a - b);
  const byDeadline = made.filter(({ told: heard }) => heard.answer?.by === 'deadline' || heard.state === 'expired').length;
  t.diagnostic(`${made.length} decisions, ${kills.server} kills of the server, ${kills.waiters} of those who wait; ${byDeadline} decided by their deadline`);
  // What a restart of the server takes is the machine's.
  const calm = made.filter(({ began, ms }) => ms !== undefined && !outages.some(({ from, to }) => from <= began + ms && to >= began));
  const undisturbed = calm.map(({ ms }) => ms).sort((a, b) => a - b);
  t.diagnostic(`${undisturbed.length} of them while the server was up: median ${Math.round(undisturbed[undisturbed.length >> 1])} ms`);
  t.diagnostic(`from the tap until the agent goes on, outages and all: median ${Math.round(times[times.length >> 1])} ms, 95 % within ${Math.round(times[Math.floor(times.length * 0.95)])} ms; 0 lost, 0 doubled`);
  t.diagnostic(`${late.length} deadlines passed while the server was up, the latest ${Math.max(0, ...late)} ms late`);
  assert.ok(kills.server > 0 && kills.waiters > 0);
  assert.ok(MANY < 100 || undisturbed[undisturbed.length >> 1] < MEDIAN_MS_MAX, 'the median from the tap until the agent goes on');
  assert.deepEqual(late.filter((ms) => ms < 0 || ms > LATE_MS_MAX), []);
});

test('a deadline is decided within a second while the server is up', async (t) => {
  const late = await Promise.all(Array.from({ length: 20 }, async (_, n) => {
    const due = Date.now() + 1_000 + upTo(1_500);
    const asked = { kind: 'permission', title: `Deadline ${n}`, deadline_at: due, on_timeout: 'ignore' };
    const { body: made } = await insist('POST', '/requests', agent, asked, { key: `deadline-${n}` });
    const { body: over } = await insist('GET', `/requests/${made.request_id}?wait=30`, agent);
    assert.deepEqual([over.state, over.answer.by, over.deadline_at], ['expired', 'deadline', due]);
    return over.answer.at - due;
  }));
  t.diagnostic(`20 deadlines, the latest ${Math.max(...late)} ms late`);
  assert.deepEqual(late.filter((ms) => ms < 0 || ms > LATE_MS_MAX), []);
});
