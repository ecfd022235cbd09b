// Passkeys: converts between the browser's interface and the server's forms.
// Must not know: pages.

import { post } from './api.js';
import { bytes, text } from './bytes.js';

/** Whether this browser supports passkeys here: in a secure context, at a host with a name. */
export const hasPasskeys = () => isSecureContext && 'PublicKeyCredential' in globalThis && !/^[\d.]+$|:/.test(location.hostname);

/** The text of a failure. @param {any} error */
export const whyNot = (error) =>
  error?.name === 'NotAllowedError' || error?.name === 'AbortError' ? 'It was cancelled, or took too long.'
  : error?.name === 'InvalidStateError' ? 'This device has a passkey for this console already.'
  : `${error?.message ?? error}`;

/**
 * Creates a passkey and registers it.
 * @param {string} name
 * @param {string} who
 * @param {string[]} known the ids of existing passkeys
 */
export async function addPasskey(name, who, known) {
  const { challenge, rp_id: id } = await post('/console/passkeys/challenges');
  const made = /** @type {PublicKeyCredential} */ (await navigator.credentials.create({
    publicKey: {
      challenge: bytes(challenge),
      rp: { id, name: 'Plenary' },
      // A random user id for each passkey, so that none replaces another; the server knows its person.
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name: who, displayName: who },
      pubKeyCredParams: [{ type: 'public-key', alg: -8 }, { type: 'public-key', alg: -7 }],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: known.map((one) => ({ type: 'public-key', id: bytes(one) })),
      attestation: 'none',
    },
  }));
  const answer = /** @type {AuthenticatorAttestationResponse} */ (made.response);
  return post('/console/passkeys', { name, client_data: text(answer.clientDataJSON), authenticator_data: text(answer.getAuthenticatorData()) });
}

/** Signs in with a passkey that the person chooses. @returns {Promise<import('./types.js').Me>} */
export async function signInByPasskey() {
  const { challenge, rp_id: rpId } = await post('/console/passkeys/challenges');
  const given = /** @type {PublicKeyCredential} */ (await navigator.credentials.get({
    publicKey: { challenge: bytes(challenge), rpId, userVerification: 'required' },
  }));
  const answer = /** @type {AuthenticatorAssertionResponse} */ (given.response);
  return post('/console/sessions', {
    passkey: {
      credential_id: text(given.rawId), client_data: text(answer.clientDataJSON),
      authenticator_data: text(answer.authenticatorData), signature: text(answer.signature),
    },
  });
}
