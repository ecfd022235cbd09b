// Saves the response of an operation as a file, if needed in an agent's name.
// Must not know: the content of the file.

import { request } from '../core/api.js';
import { sayFailure } from './toast.js';

/** @param {Blob} blob @param {string} name */
export const save = (blob, name) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.@ -]+/g, '_').slice(0, 120) || 'file';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

/** @param {string} path @param {string} name @param {string} [as] */
export async function download(path, name, as) {
  try {
    const reply = await request('GET', path, { as, accept: '*/*' });
    save(new Blob([await reply.arrayBuffer()], { type: 'application/octet-stream' }), name);
  } catch (error) {
    sayFailure(error);
  }
}
