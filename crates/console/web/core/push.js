// Notifications in this browser: the worker that shows them, and the browser's subscription at the server.
// Must not know: pages.

import { get, me, post, remove } from './api.js';
import { bytes, text } from './bytes.js';

const WORKER = new URL('../push-worker.js', import.meta.url).href;
const SCOPE = new URL('../', import.meta.url).pathname;

/** Whether this browser supports notifications, in a secure context. */
export const canNotify = () => isSecureContext && 'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis;

/** The key in local storage under which this browser keeps the id of its subscription, per owner. */
const place = () => `plenary-push-${me.value?.owner}`;

/** The worker's URL as a trusted one: the server's policy permits only this file as a worker. */
const allowed = () => {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return WORKER;
  policy ??= types.createPolicy('plenary-worker', {
    createScriptURL: (/** @type {string} */ url) => {
      if (url !== WORKER) throw new TypeError('This is not the worker.');
      return url;
    },
  });
  return policy.createScriptURL(WORKER);
};
/** @type {any} */
let policy;

/** The id of this browser's subscription, if the server still has it. @returns {Promise<string | undefined>} */
export async function ownSubscription() {
  const id = localStorage.getItem(place());
  if (!id) return undefined;
  const { subscriptions } = await get('/notifications');
  const own = subscriptions.find((/** @type {any} */ one) => one.subscription_id === id && !one.gone);
  if (!own) localStorage.removeItem(place());
  return own?.subscription_id;
}

/** Gets the person's permission, then subscribes at the browser's push service and at the server. @param {string} name */
export async function subscribe(name) {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('This browser does not allow notifications of this page.');
  const registration = await navigator.serviceWorker.register(/** @type {any} */ (allowed()), { scope: SCOPE });
  await active(registration);
  const { public_key: key } = await get('/notifications/push-key');
  const made = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  const part = (/** @type {PushEncryptionKeyName} */ which) => text(made.getKey(which) ?? new ArrayBuffer(0));
  const target = { kind: 'web_push', endpoint: made.endpoint, p256dh: part('p256dh'), auth: part('auth') };
  const { subscription } = await post('/notifications', { target, name, ...(me.value?.person ? { person: me.value.person } : {}) });
  localStorage.setItem(place(), subscription.subscription_id);
}

/** @param {ServiceWorkerRegistration} registration */
const active = (registration) => new Promise((done) => {
  const worker = registration.installing ?? registration.waiting;
  if (registration.active || !worker) return done(undefined);
  worker.addEventListener('statechange', () => worker.state === 'activated' && done(undefined));
});

/** Ends the subscription, here and at the server. @param {string} id */
export async function unsubscribe(id) {
  await remove(`/notifications/${encodeURIComponent(id)}`);
  localStorage.removeItem(place());
  // Another owner's console in this browser may still use the same push subscription.
  if (Object.keys(localStorage).some((key) => key.startsWith('plenary-push-'))) return;
  const registration = await navigator.serviceWorker.getRegistration(SCOPE);
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
}

/** Sends a test notification. @param {string} id @returns {Promise<{delivered: boolean, error?: string}>} */
export const sample = (id) => post(`/notifications/${encodeURIComponent(id)}/test`);
