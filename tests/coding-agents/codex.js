// Codex, driven as its editors drive it: JSON-RPC, one thread in one app server.
// Must not know: what a test is about.

import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED, Lines, once } from './house.js';

const MACHINE = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
export const PROGRAM = join(INSTALLED, `node_modules/@openai/codex-linux-${process.arch}/vendor/${MACHINE}-unknown-linux-musl/bin/codex`);

/** Writes the settings of a person who uses the scripted model and trusts a directory.
 *  @param {import('./house.js').House} house @param {{url: string}} model @param {string[]} directories */
export function settle(house, model, ...directories) {
  const home = join(house.home, '.codex');
  mkdirSync(home, { recursive: true });
  const trusted = directories.map((path) => `[projects.${JSON.stringify(path)}]\ntrust_level = "trusted"\n`).join('\n');
  appendFileSync(join(home, 'config.toml'), `model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false
cli_auth_credentials_store = "file"

[model_providers.scripted]
name = "scripted"
base_url = "${model.url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

${trusted}`);
}

/** Begins a thread. @param {import('./house.js').House} house @param {string} directory @param {{trust?: boolean, approval?: string, args?: string[], answer?: any}} [how] */
export async function codex(house, directory, how = {}) {
  const child = house.start(PROGRAM, ['app-server', ...(how.args ?? [])], { cwd: directory, env: { CODEX_HOME: join(house.home, '.codex'), RUST_LOG: 'warn' } });
  /** @type {any[]} */
  const asked = [];
  let id = 0;
  const lines = new Lines(child, (message) => {
    if (message.id === undefined || !message.method) return;
    asked.push({ method: message.method, ...message.params });
    const result = message.method === 'mcpServer/elicitation/request' ? (how.answer ?? { action: 'decline', content: null, _meta: null }) : { decision: 'decline' };
    lines.say({ jsonrpc: '2.0', id: message.id, result });
  });
  /** @param {string} method @param {any} params */
  const call = async (method, params) => {
    id += 1;
    const own = id;
    lines.say({ jsonrpc: '2.0', id: own, method, params });
    const answer = await lines.hears((message) => message.id === own && !message.method);
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  };
  await call('initialize', { clientInfo: { name: 'plenary-test', title: null, version: '1' }, capabilities: { experimentalApi: true } });
  lines.say({ jsonrpc: '2.0', method: 'initialized' });
  const hooks = async () => (await call('hooks/list', { cwds: [directory] })).data[0].hooks;
  if (how.trust ?? true) {
    const state = Object.fromEntries((await hooks()).map((/** @type {any} */ hook) => [hook.key, { trusted_hash: hook.currentHash }]));
    await call('config/batchWrite', { edits: [{ keyPath: 'hooks.state', value: state, mergeStrategy: 'upsert' }], reloadUserConfig: true });
  }
  const started = await call('thread/start', { cwd: directory, approvalPolicy: how.approval ?? 'on-request', sandbox: 'workspace-write' });
  const thread = started.thread.id;
  const ended = (/** @type {any} */ message) => message.method === 'turn/completed' && message.params.threadId === thread;
  return {
    lines, asked, call, hooks, thread, pid: child.pid,
    /** Says something and waits for the end of the turn. @param {string} text */
    async prompt(text) {
      const from = lines.seen.length;
      await call('turn/start', { threadId: thread, input: [{ type: 'text', text, text_elements: [] }] });
      return await lines.hears(ended, from);
    },
    /** Waits for the end of another turn. @param {number} from */
    turn: (from, ms = 45_000) => lines.hears(ended, from, ms),
    /** Ends it. */
    async close() {
      child.stdin?.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** A thread in a terminal. What it shows is in `shown`.
 *  @param {import('./house.js').House} house @param {string} directory @param {string} prompt @param {string[]} program @param {Record<string, string>} env */
export function terminal(house, directory, prompt, program = [PROGRAM], env = {}) {
  const line = [...program, '--no-alt-screen', prompt].map((word) => `'${word}'`).join(' ');
  const child = house.start('script', ['-qfec', `stty rows 50 cols 160; exec ${line}`, '/dev/null'], { cwd: directory, env: { CODEX_HOME: join(house.home, '.codex'), TERM: 'xterm-256color', ...env } });
  const told = { shown: '', child };
  child.stdout?.on('data', (chunk) => {
    told.shown += chunk;
    // What a terminal answers to those who ask where the cursor stands, and what it is.
    if (`${chunk}`.includes('\u001b[6n')) child.stdin?.write('\u001b[1;1R');
    if (`${chunk}`.includes('\u001b[c')) child.stdin?.write('\u001b[?62c');
  });
  return told;
}
