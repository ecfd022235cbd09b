// What agents write is text: no payload runs, makes an element, fetches anything or hides a character, wherever it is shown.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { PAYLOADS } from '../fixtures/hostile.mjs';
import { seed } from '../seed.mjs';
import { startServer } from '../server.mjs';

const MADE_BY_US = new Set(['svg', 'path', 'circle', 'rect', 'line', 'g', 'text', 'title']);
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/u;
/** A joiner within an emoji belongs to it. */
const JOINED = /(?<=\p{Extended_Pictographic})\u200d(?=\p{Extended_Pictographic})/gu;
let server;
let made;
let laptop;

before(async () => {
  server = await startServer();
  made = await seed(server.url, server.operator);
  laptop = client(server.url, made.tokens['@ida.laptop']);
});
after(() => server?.stop());

/** A page that notes every request that leaves it, and what it blocked. */
const watched = async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, made.owners.ida);
  const outside = [];
  page.on('request', (request) => !request.url().startsWith(server.url) && !request.url().startsWith('blob:') && outside.push(request.url()));
  return { browser, page, outside };
};

/** What a page may not have, whatever was written. */
const check = async ({ browser, page, outside }, where) => {
  const found = await page.evaluate((ours) => {
    const main = document.getElementById('main');
    return {
      harmed: '__harmed' in globalThis || 'harmed' in {},
      elements: [...main.querySelectorAll('script, img, iframe, object, embed, video, audio, picture, style, link, base, meta, math, template, form[action], [srcdoc]')].map((node) => node.outerHTML.slice(0, 100)),
      handlers: [...main.querySelectorAll('*')].flatMap((node) => node.getAttributeNames().filter((name) => name.startsWith('on'))),
      links: [...main.querySelectorAll('a[href]')].filter((link) => !link.getAttribute('href').startsWith('#')).map((link) => ({ href: link.href, shows: link.textContent, rel: link.rel })),
      svgs: [...main.querySelectorAll('svg *')].map((node) => node.tagName).filter((name) => !ours.includes(name)),
      text: main.textContent,
    };
  }, [...MADE_BY_US]);
  assert.equal(found.harmed, false, `${where}: a script ran`);
  assert.deepEqual([found.elements, found.handlers, found.svgs], [[], [], []], where);
  for (const link of found.links) {
    const url = new URL(link.href);
    assert.match(url.protocol, /^https?:$/, `${where}: ${link.href}`);
    assert.ok(link.shows.includes(url.host), `${where}: ${link.href} does not show its host: ${link.shows}`);
    assert.equal(url.username, '', where);
    assert.match(link.rel, /noopener/);
    assert.match(link.rel, /noreferrer/);
  }
  const hidden = HIDDEN.exec(found.text.replaceAll(JOINED, ''));
  assert.equal(hidden, null, `${where}: U+${hidden?.[0].codePointAt(0)?.toString(16)} is hidden in ${JSON.stringify(found.text.slice(Math.max(0, (hidden?.index ?? 0) - 20), (hidden?.index ?? 0) + 20))}`);
  assert.deepEqual(outside, [], where);
  assert.deepEqual(browser.troubles, [], where);
  return found.text;
};

test('there are a hundred payloads', () => assert.ok(new Set(PAYLOADS).size >= 100, String(new Set(PAYLOADS).size)));

test('as messages', async (t) => {
  const { session_id } = await laptop.post('/sessions', { invite: ['@ida.reviewer'], topic: 'Payloads' });
  for (const content of PAYLOADS) await laptop.post(`/sessions/${session_id}/messages`, { content });
  const all = await watched(t);
  await all.page.evaluate((id) => (location.hash = `#/conversations/${id}`), session_id);
  await all.page.locator('.message').nth(PAYLOADS.length - 1).waitFor({ state: 'attached' });
  assert.equal(await all.page.locator('.message').count(), PAYLOADS.length);
  const text = await check(all, 'messages');
  assert.ok(text.includes('<script>globalThis.__harmed=1</script>') && text.includes('<img src=x onerror='));
  assert.ok(text.includes('U+202E') && text.includes('U+E0041') && text.includes('U+001B'));
});

test('as a form', async (t) => {
  const odd = { toString: 1, valueOf: 1 };
  const properties = {
    branch: { type: 'string', title: odd, description: 5, format: odd, default: odd },
    days: { type: 'array', items: { enum: ['monday'], enumNames: 5 }, default: 5 },
    ['<img src=x onerror=globalThis.__harmed=1>']: { type: 'number', oneOf: [null], default: [] },
  };
  const { request_id } = await laptop.post('/requests', { kind: 'question', title: 'Odd', form: { type: 'object', properties } });
  const all = await watched(t);
  await all.page.evaluate((id) => (location.hash = `#/inbox/${id}`), request_id);
  await all.page.locator('.split-detail', { hasText: 'monday' }).waitFor();
  await all.page.keyboard.press('e');
  await all.page.locator('.fields :focus').waitFor();
  await check(all, 'a form');
  await all.page.getByLabel('monday').check();
  await all.page.keyboard.press('Control+Enter');
  for (const end = Date.now() + 10_000; (await laptop.get(`/requests/${request_id}`)).state !== 'answered'; ) assert.ok(Date.now() < end);
  assert.deepEqual((await laptop.get(`/requests/${request_id}`)).answer.args, { days: ['monday'] });
});

test('what cannot be shown is one sentence, and what stands beside it stays', async (t) => {
  const { page } = await watched(t);
  const shown = await page.evaluate(async () => {
    const [{ h, render }, { Guard }] = await Promise.all(['core/preact.js', 'parts/guard.js'].map((name) => import(new URL(`./console/${name}`, location.href).href)));
    const throws = () => {
      throw new Error('odd');
    };
    const node = document.createElement('div');
    render(h('div', null, h('p', null, 'Before. '), h(Guard, null, h(throws, null))), node);
    await new Promise((wake) => setTimeout(wake, 100));
    return node.textContent;
  });
  assert.equal(shown, 'Before. This cannot be shown.');
});

test('as topics, and found by searching', async (t) => {
  const topics = PAYLOADS.filter((text) => text.length < 200 && !/[\u0000-\u001f\u007f]/.test(text));
  for (const topic of topics) await laptop.post('/sessions', { invite: ['@ida.reviewer'], topic }).catch(() => {});
  const all = await watched(t);
  await all.page.evaluate(() => (location.hash = '#/conversations'));
  await all.page.locator('.list-row').nth(10).waitFor();
  for (let n = 0; n < 12; n++) {
    await all.page.locator('.list').evaluate((list, by) => (list.scrollTop = by), n * 600);
    await check(all, `topics ${n}`);
  }
  await all.page.getByLabel('Search conversations and messages').fill('script');
  await all.page.locator('.found li').first().waitFor();
  await check(all, 'found');
});

test('as requests, in every member', async (t) => {
  const requests = [];
  for (const text of PAYLOADS) {
    const title = text.slice(0, 150);
    const request = await laptop.post('/requests', {
      kind: 'permission', title, action: { name: text.slice(0, 60), args: { command: text, [text.slice(0, 40)]: text } },
      detail: { command: text, diff: `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-${text}\n+${text}`, document: text, text }, directory: `/srv/${text.slice(0, 100)}`,
      source: { room: 'sessions', id: text.slice(0, 60), url: 'javascript:globalThis.__harmed=1' }, choices: [text.slice(0, 80)],
      allow: { accept: true, edit: true, respond: true, ignore: true }, on_timeout: 'none',
    }).catch(() => undefined);
    if (request) requests.push(request);
  }
  assert.ok(requests.length > 60, `${requests.length} were taken`);
  const all = await watched(t);
  for (const [n, request] of requests.entries()) {
    await all.page.evaluate((id) => (location.hash = `#/inbox/${id}`), request.request_id);
    await all.page.waitForFunction((id) => location.hash.includes(id) && document.querySelector('.request .diff'), request.request_id);
    if (n % 4 === 0) await check(all, `request ${n}: ${request.title.slice(0, 40)}`);
  }
  await all.page.keyboard.press('e');
  await check(all, 'edit');
  // The field is left, then the form.
  for (const key of ['Escape', 'Escape', 'i']) await all.page.keyboard.press(key);
  await all.page.locator('.toast').first().waitFor();
  assert.equal(HIDDEN.exec((await all.page.locator('.toasts').innerText()).replaceAll(JOINED, '')), null);
  await all.page.evaluate(() => (location.hash = '#/now'));
  await all.page.locator('.lane-row').first().waitFor();
  await check(all, 'now');
});

test('as packages, facts, channels, runs and cards', async (t) => {
  const deposit = (text, n) => laptop.post('/v1/projects/parser/packages', {
    package_id: `pkg_h${n}`, project_id: 'parser', relay_version: '0.1', status: 'complete', package_type: 'standard', review_type: 'none', created_at: new Date().toISOString(),
    created_by: { id: '@ida.laptop', type: 'agent' }, title: text.slice(0, 150), description: text, handoff_note: text, decisions_made: [text], open_questions: [text], tags: [text.slice(0, 40)],
    ...(n > 0 ? { parent_package_id: 'pkg_h0', [`x-${text.slice(0, 30)}`]: { [text.slice(0, 40)]: text } } : {}),
  }).catch(() => laptop.post('/v1/projects/parser/packages', {
    package_id: `pkg_h${n}`, project_id: 'parser', relay_version: '0.1', status: 'complete', package_type: 'standard', review_type: 'none', created_at: new Date().toISOString(),
    created_by: { id: '@ida.laptop', type: 'agent' }, title: text.slice(0, 150), description: text, parent_package_id: 'pkg_h0',
  }));
  const some = PAYLOADS.filter((_, n) => n % 5 === 0);
  for (const [n, text] of some.entries()) {
    await deposit(text, n).catch(() => {});
    await laptop.post('/v1/projects/parser/facts', { subject: text.slice(0, 60), predicate: text.slice(0, 60), value: text.slice(0, 300) }).catch(() => {});
    await laptop.post('/agent/builder/run', { input: text }).catch(() => {});
  }
  const owner = client(server.url, made.owners.ida);
  await owner.patch('/_admin/agents/@ida.scribe', { card_body: PAYLOADS.slice(0, 60).join('\n\n'), description: PAYLOADS[1], display_name: PAYLOADS[0].slice(0, 60) }).catch(() => {});
  const channel = await laptop.post('/agent-channel', { title: PAYLOADS[1] });
  for (const text of some) for (const payload of [{ text }, { [text.slice(0, 60)]: text.slice(0, 200) }]) await laptop.post(`/agent-channel/${channel.id}/event`, { kind: 'comms', payload }).catch(() => {});
  const all = await watched(t);
  for (const hash of ['#/context/parser?package=pkg_h0', '#/context/parser?package=pkg_h6', ...some.map((_, n) => `#/context/parser?package=pkg_h${n}&with=pkg_h0`), '#/context/parser?tab=facts', `#/channels/${channel.id}`, '#/runs', '#/agents/@ida.scribe', '#/timeline', '#/map', '#/map/@ida.scribe?lines=reach', '#/access', '#/health']) {
    await all.page.evaluate((to) => (location.hash = to), hash);
    await all.page.waitForTimeout(700);
    await check(all, hash);
  }
  await all.page.evaluate(() => (location.hash = '#/context/parser?package=pkg_h6&with=pkg_h0'));
  await all.page.locator('.changed-part').first().waitFor();
});

test('the page’s own policy stops what would get past it', async (t) => {
  const { page } = await watched(t);
  const kept = await page.evaluate(() => {
    const tried = {};
    try {
      document.body.innerHTML = '<b>x</b>';
      tried.html = 'made';
    } catch (error) {
      tried.html = error.name;
    }
    try {
      (0, eval)('1');
      tried.eval = 'ran';
    } catch (error) {
      tried.eval = error.name;
    }
    const script = document.createElement('script');
    try {
      script.text = 'globalThis.__ran = 1';
      document.head.append(script);
    } catch {}
    tried.script = '__ran' in globalThis;
    return tried;
  });
  assert.equal(kept.html, 'TypeError');
  assert.equal(kept.script, false);
});
