// The Inspector of the Model Context Protocol in the browser: a person lets it in, and it calls a tool as their agent.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { client } from '../api.mjs';
import { openBrowser } from '../browser.mjs';
import { seed } from '../seed.mjs';
import { freePort, startServer } from '../server.mjs';

const CLIENTS = process.env.PLENARY_TEST_MCP_NODE ?? new URL('../../../target/mcp-clients', import.meta.url).pathname;
const TOKEN = 'a-token-of-the-inspector';

/** Starts the Inspector with one server in its list; its page. */
async function startInspector(t, url) {
  const directory = mkdtempSync(join(tmpdir(), 'plenary-inspector-'));
  const catalog = join(directory, 'mcp.json');
  writeFileSync(catalog, JSON.stringify({ mcpServers: { plenary: { type: 'streamable-http', url: `${url}/mcp` } } }));
  const port = await freePort();
  const launcher = join(CLIENTS, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const child = spawn(join(CLIENTS, 'node'), [launcher, '--web'], {
    env: { ...process.env, HOME: directory, MCP_CATALOG_PATH: catalog, MCP_INSPECTOR_API_TOKEN: TOKEN, CLIENT_PORT: `${port}`, MCP_SANDBOX_PORT: '0', MCP_AUTO_OPEN_ENABLED: 'false' },
    stdio: 'ignore',
    detached: true,
  });
  t.after(() => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {}
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  const page = `http://127.0.0.1:${port}/?MCP_INSPECTOR_API_TOKEN=${TOKEN}`;
  for (let n = 0; ; n++) {
    const answer = await fetch(page).catch(() => undefined);
    if (answer?.ok) return page;
    assert.ok(n < 600, 'the Inspector does not answer');
    await new Promise((done) => setTimeout(done, 50));
  }
}

test('the Inspector is let in by a person and reaches the tools of their agent', async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const made = await seed(server.url, server.operator);
  const browser = await openBrowser(t);
  await browser.signedIn(server, made.owners.ida);
  const inspector = await browser.context.newPage();
  await inspector.goto(await startInspector(t, server.url));
  // It registers, and leads to the server's page, in the same tab or a new one.
  const asked = new Promise((done) => {
    const look = (page) => page.on('framenavigated', () => page.url().includes('/oauth/authorize') && done(page));
    browser.context.on('page', look);
    browser.context.pages().forEach(look);
  });
  await inspector.getByRole('switch').first().click({ force: true });
  const consent = await asked;
  await consent.locator('select[name=agent]').selectOption('@ida.laptop');
  await consent.getByRole('button', { name: 'Allow' }).click();
  await consent.getByText('Connected', { exact: true }).waitFor();
  await consent.getByText('Tools', { exact: true }).first().click();
  await consent.getByText('whoami').first().waitFor();
  // Its tokens are the agent's, under the client's name, and end with the grant.
  const { tokens } = await client(server.url, made.owners.ida).get('/_admin/agents/@ida.laptop/tokens');
  assert.ok(tokens.some((token) => token.name === 'MCP Inspector' && token.parent), JSON.stringify(tokens));
});
