// An OpenID provider on this machine, by the certified `oidc-provider`: people sign in at it, and programs get access tokens.
// It prints one line of JSON: its URL, and the key that it signs with, so that a test can also sign what no issuer would.
// Below /test/ it does what a test asks: who is signed in next, new keys, how often its keys were fetched.

import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import Provider from 'oidc-provider';

// Nobody reads the output past its first line.
console.info = console.error;

let person = 'ida';
let fetched = 0;
let provider;

const PEOPLE = {
  ida: { groups: ['admins', 'dev'] },
  vera: { groups: ['dev'] },
  olga: { groups: ['operators'] },
  mallory: { groups: ['admins'], email: 'ida@acme.example', email_verified: false },
};

const claimsOf = (id) => ({
  sub: id,
  name: id,
  preferred_username: id,
  email: `${id}@acme.example`,
  email_verified: true,
  ...PEOPLE[id],
});

function made(issuer, nth) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = `key-${nth}`;
  const key = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' };
  const scope = 'openid email profile read write sessions:read sessions:write';
  const client = (more) => ({ client_secret: 'a secret/with+signs', id_token_signed_response_alg: 'ES256', ...more });
  provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
      client({
        client_id: 'plenary',
        application_type: 'native',
        redirect_uris: ['acme', 'other'].map((name) => `http://127.0.0.1/console/signed-in/${name}`),
        grant_types: ['authorization_code'],
        response_types: ['code'],
      }),
      client({ client_id: 'ci', redirect_uris: [], grant_types: ['client_credentials'], response_types: [] }),
    ],
    cookies: { keys: ['only for tests'] },
    conformIdTokenClaims: false,
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'preferred_username', 'groups'],
    },
    scopes: scope.split(' '),
    findAccount: (_, id) => ({ accountId: id, claims: () => claimsOf(id) }),
    extraTokenClaims: () => ({ repository: 'acme/app' }),
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'read write sessions:read sessions:write',
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  return {
    kid,
    pkcs8: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    public: publicKey.export({ format: 'pem', type: 'spki' }),
  };
}

/** What a test asks. */
function asked(path, answer) {
  const [, , what, value] = path.split('/');
  let body = {};
  if (what === 'as') person = value;
  if (what === 'fetched') body = { fetched };
  if (what === 'rotate') body = made(issuer, value);
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify(body));
}

/** A person signs in, or gives up. */
async function interact(request, answer) {
  const { prompt } = await provider.interactionDetails(request, answer);
  // An app on a device is asked for consent each time, whatever was granted before.
  const agreed = prompt.name === 'consent' ? { consent: {} } : { login: { accountId: person, remember: false } };
  const result = person === 'nobody' ? { error: 'access_denied', error_description: 'the person gave up' } : agreed;
  await provider.interactionFinished(request, answer, result, { mergeWithLastSubmission: true });
}

const server = http.createServer((request, answer) => {
  const { pathname } = new URL(request.url, issuer);
  if (pathname.startsWith('/test/')) return asked(pathname, answer);
  if (pathname === '/jwks') fetched += 1;
  if (pathname.startsWith('/interaction/')) {
    return interact(request, answer).catch((error) => {
      answer.statusCode = 500;
      answer.end(String(error));
    });
  }
  return provider.callback()(request, answer);
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
const key = made(issuer, '1');
console.log(JSON.stringify({ url: issuer, ...key }));
// It ends with the test, however that ends.
process.stdin.on('end', () => process.exit(0)).resume();
