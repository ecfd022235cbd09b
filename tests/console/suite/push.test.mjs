// "Notify me in this browser". The browser of the tests has no push service: what that gives is made up, and what it brings is
// handed to the worker by the browser's own tools. All else is real: the policy, the worker, the server's subscription.
import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { startServer } from '../server.mjs';

let server;
let owner;

before(async () => {
  server = await startServer({ host: 'localhost' });
  const operator = client(server.url, server.operator);
  owner = (await operator.post('/_admin/owners', { owner: 'ida' })).token;
});
after(() => server?.stop());

const subscriptions = async () => (await client(server.url, owner).get('/notifications')).subscriptions;

test('this browser is subscribed, shows what it is pushed, and is unsubscribed', async (t) => {
  const browser = await openBrowser(t);
  await browser.context.grantPermissions(['notifications'], { origin: server.url });
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  await browser.context.addInitScript(({ p256dh, auth }) => {
    const buffer = (numbers) => new Uint8Array(numbers).buffer;
    const made = { endpoint: 'https://push.example/send/1', getKey: (which) => buffer(which === 'p256dh' ? p256dh : auth), unsubscribe: async () => (globalThis.ended = true) };
    PushManager.prototype.subscribe = async function (options) {
      globalThis.asked = { visible: options.userVisibleOnly, key: options.applicationServerKey.length };
      return made;
    };
    PushManager.prototype.getSubscription = async () => made;
    Notification.requestPermission = async () => 'granted';
  }, { p256dh: [...keys.getPublicKey()], auth: [...randomBytes(16)] });
  const page = await browser.signedIn(server, owner);
  const session = await browser.context.newCDPSession(page);
  const workers = new Map();
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => registrations.forEach((one) => workers.set(one.scopeURL, one.registrationId)));
  await session.send('ServiceWorker.enable');
  await page.evaluate(() => (location.hash = '#/access'));
  await page.getByRole('button', { name: 'Notify me in this browser' }).click();
  await page.getByRole('button', { name: 'Send a sample' }).waitFor();
  assert.deepEqual(await page.evaluate(() => globalThis.asked), { visible: true, key: 65 });
  const [made] = await subscriptions();
  assert.deepEqual([made.kind, made.to, made.enabled], ['web_push', 'https://push.example', true]);

  // A page that is loaded again knows its subscription.
  await page.reload();
  await page.getByRole('button', { name: 'Send a sample' }).waitFor();

  const scope = `${server.url}/console/`;
  assert.deepEqual([...workers.keys()], [scope]);
  const shown = () => page.evaluate(async (at) => (await (await navigator.serviceWorker.getRegistration(at)).getNotifications()).map(({ title, body, tag }) => ({ title, body, tag })), scope);
  const become = async (wanted, again = async () => {}) => {
    for (let n = 0; n < 200; n++) {
      const now = await shown();
      if (wanted(now)) return now;
      await new Promise((done) => setTimeout(done, 50));
      if (n % 20 === 19) await again();
    }
    throw new Error(JSON.stringify(await shown()));
  };
  // A busy browser loses messages of its tools at times; the same notification again replaces the first.
  const push = async (data, wanted) => {
    const send = () => session.send('ServiceWorker.deliverPushMessage', { origin: server.url, registrationId: workers.get(scope), data });
    await send();
    return become(wanted, send);
  };
  const first = await push(JSON.stringify({ title: 'Permission', body: '<b>make</b>', urgency: 'normal', request_id: 'ask_1' }), (list) => list.length === 1);
  assert.deepEqual(first, [{ title: 'Permission', body: '<b>make</b>', tag: 'ask_1' }]);
  await push(JSON.stringify({ title: 'Answered', body: '', urgency: 'low', request_id: 'ask_1' }), (list) => list.length === 1 && list[0].title === 'Answered');
  await push('no json', (list) => list.some(({ title, tag }) => title === 'Plenary' && tag === 'plenary'));

  // A tap takes the open page to the request.
  const [worker] = browser.context.serviceWorkers();
  await worker.evaluate(async () => {
    const [notification] = await self.registration.getNotifications({ tag: 'ask_1' });
    self.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
  });
  await page.waitForFunction(() => location.hash === '#/inbox/ask_1');
  await become((list) => list.every(({ tag }) => tag !== 'ask_1'));
  await page.evaluate(() => (location.hash = '#/access'));

  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Notify me in this browser' }).waitFor();
  assert.deepEqual(await subscriptions(), []);
  assert.equal(await page.evaluate(() => globalThis.ended), true);
  assert.deepEqual(browser.troubles, []);
});

test('no other file becomes a worker', async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.signedIn(server, owner);
  const refused = await page.evaluate(async () => {
    const tried = [];
    for (const attempt of [() => navigator.serviceWorker.register('/console/app.js'), () => globalThis.trustedTypes.createPolicy('mine', {}), () => globalThis.trustedTypes.createPolicy('default', {})]) {
      try {
        await attempt();
        tried.push('done');
      } catch (error) {
        tried.push(error.name);
      }
    }
    return tried;
  });
  assert.deepEqual(refused, ['TypeError', 'TypeError', 'TypeError']);
});
