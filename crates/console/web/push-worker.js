// Shows push notifications, and opens the console at the one that a person taps.
// Must not know: the session; it sends no requests to the server.

const worker = /** @type {any} */ (self);

worker.addEventListener('push', (/** @type {any} */ event) => {
  /** @type {any} */
  let told = {};
  try {
    told = event.data?.json() ?? {};
  } catch {}
  const id = typeof told.request_id === 'string' ? told.request_id : '';
  event.waitUntil(worker.registration.showNotification(String(told.title ?? 'Plenary'), {
    body: String(told.body ?? ''),
    icon: new URL('./icon.svg', worker.location.href).href,
    // A new notification of a request replaces the previous one.
    tag: id || 'plenary',
    requireInteraction: told.urgency === 'high',
    data: { id },
  }));
});

worker.addEventListener('notificationclick', (/** @type {any} */ event) => {
  event.notification.close();
  const { id } = event.notification.data ?? {};
  // The page is one level above its files. Without a session it shows the sign-in.
  const page = new URL('../', worker.location.href);
  page.hash = id ? `/inbox/${encodeURIComponent(id)}` : '/inbox';
  event.waitUntil((async () => {
    const windows = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const open = windows.find((/** @type {any} */ one) => one.url.split('#')[0] === page.href.split('#')[0]);
    if (!open) return worker.clients.openWindow(page.href);
    open.postMessage({ go: page.hash });
    return open.focus();
  })());
});
