// Converts bytes to and from base64url without padding, as the server writes it.
// Must not know: the meaning of the bytes.

/** @param {ArrayBuffer | Uint8Array} buffer */
export const text = (buffer) => {
  const bytes = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
};

/** @param {string} said */
export const bytes = (said) => Uint8Array.from(atob(said.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
