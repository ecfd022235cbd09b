// The TypeScript SDK of the Model Context Protocol and its OAuth flow against a server: arguments are the base URL and the
// link with which a person signs in. The person is played with plain requests, as a browser sends them. It prints what it
// saw as one JSON object.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { browser } from "./browser.mjs";

const [base, link] = process.argv.slice(2);
const redirect = "http://127.0.0.1:3118/callback";
const kept = { asked: [] };
const person = browser(base, link);

const provider = {
  get redirectUrl() { return redirect; },
  get clientMetadata() {
    return { client_name: "SDK <b>test</b>", redirect_uris: [redirect], token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  },
  state: () => "a state & more",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (url) => { kept.asked.push(url); },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};

const transport = () => new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: provider });
async function connect() {
  const client = new Client({ name: "plenary-tests", version: "1.0.0" });
  const first = transport();
  try {
    await client.connect(first);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const back = await person.consent(kept.asked.at(-1), "@nick.bot", "read");
  if (back.searchParams.get("iss") !== base || back.searchParams.get("state") !== "a state & more") {
    throw new Error(`not ours: ${back}`);
  }
  await first.finishAuth(back.searchParams.get("code"));
  const again = new Client({ name: "plenary-tests", version: "1.0.0" });
  await again.connect(transport());
  return again;
}

const client = await connect();
const { page, policy } = person.seen;
const escaped = !page.includes("<b>test</b>") && page.includes("&lt;b&gt;test&lt;/b&gt;");
const me = JSON.parse((await client.readResource({ uri: "plenary://me" })).contents[0].text).handle;
const scope = kept.tokens.scope;

// A token that the server does not take any more: the SDK renews it by itself.
const before = kept.tokens.refresh_token;
kept.tokens = { ...kept.tokens, access_token: "pls_gone" };
const renewed = await client.listTools();
kept.rotated = kept.tokens.refresh_token !== before;

// What the scope does not admit: the SDK asks the person for more.
let stepped;
// With a refresh token it would only renew what it has.
delete kept.tokens.refresh_token;
try {
  await client.callTool({ name: "send", arguments: { to: ["@nick.other"], text: "hi" } });
  stepped = "not asked";
} catch (error) {
  stepped = kept.asked.at(-1).searchParams.get("scope") ?? String(error);
}

const seen = JSON.stringify({ me, scope, escaped, policy, stepped,
  rotated: kept.rotated, tools: renewed.tools.length > 0,
  resource: kept.asked[0].searchParams.get("resource") });
// The clients keep their streams open.
process.stdout.write(`${seen}\n`, () => process.exit(0));
