// A small client of the public API for seeding and for tests.
let serial = 0;

/** @param {string} url @param {string} token @param {Record<string, string>} [more] */
export const client = (url, token, more = {}) => {
  const call = async (method, path, body) => {
    const reply = await fetch(url + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(method === 'GET' ? {} : { 'Idempotency-Key': `seed-${process.pid}-${++serial}` }),
        ...more,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 400)}`);
    return text && (reply.headers.get('content-type') ?? '').includes('json') ? JSON.parse(text) : text;
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body = {}) => call('POST', path, body),
    put: (path, body = {}) => call('PUT', path, body),
    patch: (path, body) => call('PATCH', path, body),
    remove: (path) => call('DELETE', path),
  };
};

/** A link for a person to sign in with, as `plenary console` makes one. */
export const signInLink = async (url, token, body = {}) => (await client(url, token).post('/console/links', body)).url;
