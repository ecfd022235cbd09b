// "Notify me in this browser": a switch, and a test.
// Must not know: how push works.

import { html, useEffect, useState } from '../../core/preact.js';
import { me, mayWrite } from '../../core/api.js';
import { canNotify, ownSubscription, sample, subscribe, unsubscribe } from '../../core/push.js';
import { say, sayFailure } from '../../parts/toast.js';

export function Notify() {
  const [own, setOwn] = useState(/** @type {string | undefined} */ (undefined));
  const [busy, setBusy] = useState(true);
  const look = async () => {
    try {
      setOwn(await ownSubscription());
    } catch (error) {
      sayFailure(error);
    }
    setBusy(false);
  };
  const can = canNotify() && Boolean(me.value?.owner);
  useEffect(() => void (can && look()), []);
  const run = (/** @type {() => Promise<any>} */ what, /** @type {string} */ said) => async () => {
    setBusy(true);
    try {
      await what();
      say(said);
    } catch (error) {
      sayFailure(error);
    }
    await look();
  };
  const attempt = async () => {
    const { delivered, error } = await sample(own ?? '');
    if (!delivered) throw new Error(`The sample did not arrive: ${error}`);
  };
  const off = busy || !mayWrite();
  return html`<section class="panel spaced" aria-labelledby="notify"><h2 id="notify">Notifications in this browser</h2>
    ${!can ? html`<p class="aside">${me.value?.owner ? 'This browser cannot be notified here: it needs the console over https or at localhost, and push notifications.' : 'Requests belong to an owner: sign in with a link of an owner.'}</p>`
    : own ? html`<p>This browser tells you when a request waits, also while the console is closed.</p>
      <div class="field-row spaced"><button disabled=${off} onClick=${run(attempt, 'A sample is on its way.')}>Send a sample</button><button disabled=${off} onClick=${run(() => unsubscribe(own), 'This browser is no longer notified.')}>Stop</button></div>`
    : html`<p class="aside">A request that waits for you shows as a notification, also while the console is closed.</p>
      <div class="field-row spaced"><button disabled=${off} onClick=${run(() => subscribe(browser()), 'This browser is notified from now on.')}>Notify me in this browser</button></div>`}
  </section>`;
}

const browser = () => (/(Firefox|Edg|Chrome|Safari)\/\d+/.exec(navigator.userAgent)?.[0] ?? 'A browser').replace('/', ' ').replace('Edg', 'Edge');
