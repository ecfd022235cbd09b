// Saves what an operation answers as a file, in an agent's name where that is needed.
// Must not know: what is in it.

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
