// Computes the hash of a package: SHA-256 of its canonical form (RFC 8785, without null members, names sorted by UTF-8 bytes).
// Must not know: the content of a package.

const encoder = new TextEncoder();

/** @param {string} a @param {string} b */
const byBytes = (a, b) => {
  const [left, right] = [encoder.encode(a), encoder.encode(b)];
  for (let n = 0; n < Math.min(left.length, right.length); n++) if (left[n] !== right[n]) return left[n] - right[n];
  return left.length - right.length;
};

/** @param {any} value @returns {string} */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value && typeof value === 'object') {
    const names = Object.keys(value).filter((name) => value[name] !== null && value[name] !== undefined).sort(byBytes);
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

/** `sha256:<hex>`; undefined without a secure context, such as plain HTTP from another machine. @param {any} whole */
export async function hashOf(whole) {
  if (!crypto.subtle) return undefined;
  const { content_hash: _, ...body } = whole;
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(canonical(body)));
  return 'sha256:' + Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
