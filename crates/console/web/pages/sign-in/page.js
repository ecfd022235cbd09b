// Sign-in with a passkey, at an external issuer, or with the link that `plenary console` prints. The page removes the link's
// secret from the fragment at once.
// Must not know: the other pages.

import { html, signal, useEffect } from '../../core/preact.js';
import { ApiError, ended, get, me, nameOf, other, post, tellTabs } from '../../core/api.js';
import { Dialog } from '../../parts/dialog.js';
import { plainly } from '../../parts/text.js';
import { say } from '../../parts/toast.js';
import { hasPasskeys, signInByPasskey, whyNot } from '../../core/passkeys.js';

const trouble = signal('');
/** @type {import('@preact/signals').Signal<{name: string, title: string}[]>} */
const issuers = signal(/** @type {any[]} */ ([]));

/** Why a browser returned from an issuer without a session. @type {Record<string, string>} */
const TROUBLES = {
  denied: 'You were not signed in there: it was cancelled, or refused.',
  not_admitted: 'You are signed in there, but nobody has let you in here. Ask whoever runs this server.',
  sign_in_failed: 'Signing in there failed, or took too long. Try again.',
  issuer_unavailable: 'It cannot be asked now. Try again, or use a link.',
  too_many_attempts: 'Too many attempts failed from your address. Try again in the next minute.',
};
const busy = signal(false);
/** The secret of a link that waits for the person's yes. */
const asked = signal('');

/** Exchanges the secret of a link, if the address has one. @returns {Promise<boolean>} whether a session is open now */
export async function signInByLink() {
  const sent = new URLSearchParams(location.hash.replace(/^#\/?/, ''));
  const failed = sent.get('trouble');
  if (failed) {
    trouble.value = TROUBLES[failed] ?? TROUBLES.sign_in_failed;
    history.replaceState(null, '', '#/now');
  }
  const secret = sent.get('link');
  if (!secret) return false;
  // A link may name only the page to open.
  history.replaceState(null, '', `#/${/^[a-z]+$/.exec(sent.get('page') ?? '')?.[0] ?? 'now'}`);
  // Anybody may send a link of their own account: it takes the place of an open session only if the person says so.
  const now = me.value ?? (await get('/console/session').catch(() => null));
  if (!now) return signIn(secret);
  asked.value = secret;
  me.value ??= now;
  return true;
}

/** @param {() => Promise<import('../../core/types.js').Me>} how @param {(error: any) => string} why */
async function begin(how, why) {
  busy.value = true;
  try {
    me.value = await how();
    tellTabs();
    trouble.value = '';
    ended.value = false;
    dispatchEvent(new HashChangeEvent('hashchange'));
    return true;
  } catch (error) {
    me.value ??= null;
    trouble.value = why(error);
    return false;
  } finally {
    busy.value = false;
  }
}

/** @param {string} secret */
const signIn = (secret) => begin(() => post('/console/sessions', { link: secret }), (error) =>
  error instanceof ApiError && error.status === 401
    ? 'This link is used, expired or unknown. A link works once, within five minutes.'
    : `The server did not answer: ${error instanceof Error ? error.message : error}`);

const byPasskey = () => begin(signInByPasskey, (error) => (error instanceof ApiError ? error.message : whyNot(error)));

/** @param {SubmitEvent} event */
const submit = (event) => {
  event.preventDefault();
  const field = /** @type {HTMLFormElement} */ (event.target).querySelector('input');
  const text = field?.value.trim() ?? '';
  const secret = /[#&]link=([^&\s]+)/.exec(text)?.[1] ?? text;
  if (field) field.value = '';
  if (secret) signIn(secret);
};

export function SignIn() {
  useEffect(() => {
    get('/console/issuers').then((found) => void (issuers.value = found.issuers), () => {});
  }, []);
  return html`<main class="sign-in">
  <section>
    <p class="wordmark"><${Mark} /> Plenary</p>
    <h1>A console for what your agents do.</h1>
    ${ended.value ? html`<p class="banner" role="status">Your session has ended. Somebody ended it, its token was replaced, nobody used it for seven days, or it was the one of 32 that was idle longest when another began.</p>` : null}
    ${hasPasskeys() ? html`<p><button class="primary" disabled=${busy.value} onClick=${byPasskey}>Sign in with a passkey</button></p>` : null}
    ${issuers.value.map(({ name, title }) => html`<p key=${name}><a class="button primary" href=${`/console/sign-in/${encodeURIComponent(name)}`}>Sign in with ${title}</a></p>`)}
    <p class="lead">${hasPasskeys() || issuers.value.length ? 'Or sign' : 'Sign'} in with a link. On the machine of the server, or where your owner’s token is saved, this prints one and opens it:</p>
    <pre class="code" tabindex="0" aria-label="The command"><code><span class="prompt" aria-hidden="true">$ </span>plenary console --open</code></pre>
    <form onSubmit=${submit}>
      <label for="link">Or paste the link here</label>
      <div class="field-row">
        <input id="link" name="link" type="password" autocomplete="off" spellcheck=${false} placeholder=${`${location.origin}/#link=…`} disabled=${busy.value} />
        <button class="primary" disabled=${busy.value}>Sign in</button>
      </div>
      <p class="trouble" role="alert">${trouble.value}</p>
    </form>
    <p class="small">The link works once, within five minutes, and its secret is sent to this server alone. The session ends after seven days without use.</p>
  </section>
</main>`;
}

/** Asks whether a link takes the place of the open session. */
export function AskLink() {
  if (!asked.value || !me.value) return null;
  const who = nameOf(me.value);
  const stay = () => {
    asked.value = '';
  };
  const use = async () => {
    const secret = asked.value;
    asked.value = '';
    if (!(await signIn(secret))) say(trouble.value, { bad: true });
  };
  return html`<${Dialog} title="Sign in by this link?" close=${stay}>
    <p>You are <b>${plainly(who)}</b> here (${me.value.role}). The link may be of another account, and then all pages of this browser belong to that account. Use only a link that you asked for.</p>
    <div class="answer-bar spaced"><button class="primary" onClick=${use}>Sign in by the link</button><button onClick=${stay}>Stay ${plainly(who)}</button></div>
  <//>`;
}

/** Says that the browser has the session of another account now. */
export function Changed() {
  const now = /** @type {import('../../core/types.js').Me} */ (other.value);
  const go = () => {
    other.value = undefined;
    me.value = now;
  };
  return html`<main class="sign-in"><section>
    <h1>You are ${plainly(nameOf(now))} in this browser now.</h1>
    <p class="lead">Another page of this browser signed in with another account (${now.role}). This page shows nothing more of the one before.</p>
    <p><button class="primary" onClick=${go}>Go on as ${plainly(nameOf(now))}</button></p>
  </section></main>`;
}

/** The logo: an assembly in a half circle, with one speaker. */
export const Mark = () => html`<svg class="logo" viewBox="0 0 32 24" width="32" height="24" aria-hidden="true">
  <circle cx="3.5" cy="18.5" r="2.4" /><circle cx="7" cy="9.5" r="2.4" /><circle cx="25" cy="9.5" r="2.4" /><circle cx="28.5" cy="18.5" r="2.4" />
  <circle cx="16" cy="5" r="2.4" class="floor" /><path d="M11.5 21a4.5 4.5 0 0 1 9 0z" />
</svg>`;
