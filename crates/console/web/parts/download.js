// Saves the response of an operation as a file, if needed in an agent's name.
// Must not know: the content of the file.

import { request } from '../core/api.js';
import { sayFailure } from './toast.js';

const STEM_MAX = 100;
/** A name with letters and digits of any script; what is too long is cut before its extension. @param {string} name */
export const fileName = (name) => {
  const [, stem, extension = ''] = /** @type {RegExpExecArray} */ (/^(.*?)(\.\w{1,8})?$/s.exec(name));
  return ([...stem.replace(/[^\p{L}\p{M}\p{N}.@ _-]+/gu, '_')].slice(0, STEM_MAX).join('') || 'file') + extension;
};

/** @param {Blob} blob @param {string} name */
export const save = (blob, name) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = fileName(name);
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
