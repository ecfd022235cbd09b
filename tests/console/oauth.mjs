// A client on the web that a person lets in: it registers, the person allows it on the server's page, and it gets its tokens.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

const form = async (url, members) => {
  const reply = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams(members) });
  return { status: reply.status, body: await reply.json() };
};

/** Lets a client in as an agent, in a page that is signed in; its tokens, and a way to renew them. */
export async function letIn(page, server, { name, agent, scope = 'read write' }) {
  let called;
  const back = new Promise((done) => (called = done));
  const listener = createServer((request, reply) => {
    reply.end('Back at the client.');
    called(new URL(request.url, 'http://127.0.0.1').searchParams);
  });
  await new Promise((done) => listener.listen(0, '127.0.0.1', () => done(undefined)));
  try {
    const redirect_uri = `http://127.0.0.1:${listener.address().port}/cb`;
    const registered = await fetch(`${server.url}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ client_name: name, redirect_uris: [redirect_uri] }) });
    assert.equal(registered.status, 201);
    const { client_id } = await registered.json();
    const verifier = randomBytes(32).toString('base64url');
    const asks = new URLSearchParams({ response_type: 'code', client_id, redirect_uri, scope, code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' });
    await page.goto(`${server.url}/oauth/authorize?${asks}`);
    await page.locator('select[name=agent]').selectOption(agent);
    await page.getByRole('button', { name: 'Allow' }).click();
    const code = (await back).get('code');
    const token = (members) => form(`${server.url}/oauth/token`, { client_id, ...members });
    const { status, body } = await token({ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier });
    assert.equal(status, 200, JSON.stringify(body));
    return { ...body, renew: () => token({ grant_type: 'refresh_token', refresh_token: body.refresh_token }) };
  } finally {
    listener.close();
  }
}
