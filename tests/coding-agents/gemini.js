// Gemini CLI, driven as editors drive it: the Agent Client Protocol, one session in one process.
// Must not know: what a test is about.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED, Lines, once } from './house.js';

const PROGRAM = join(INSTALLED, 'node_modules/@google/gemini-cli/bundle/gemini.js');

/** Writes the settings of a person; the environment of a run. @param {import('./house.js').House} house @param {{url: string}} model */
function settle(house, model) {
  const settings = join(house.home, '.gemini');
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, 'settings.json'), JSON.stringify({
    security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false },
    general: { disableAutoUpdate: true, enableAutoUpdate: false }, telemetry: { enabled: false },
  }));
  return { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true', NO_BROWSER: '1' };
}

/** One prompt without a person, to its end. @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory @param {string} text @param {string[]} more */
export async function ask(house, model, directory, text, ...more) {
  const ran = await house.run(join(INSTALLED, 'node'), [PROGRAM, '-p', text, '--model', 'gemini-2.5-flash', ...more], { cwd: directory, env: settle(house, model), within: 90_000 });
  if (ran.code !== 0) throw new Error(`gemini ended with ${ran.code}: ${ran.err}`);
  return ran;
}

/** Begins a session. @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory
 *  @param {{args?: string[], env?: Record<string, string>}} [how] */
export async function gemini(house, model, directory, how = {}) {
  const child = house.start(join(INSTALLED, 'node'), [PROGRAM, '--acp', '--model', 'gemini-2.5-flash', ...(how.args ?? [])], { cwd: directory, env: { ...settle(house, model), ...how.env } });
  /** @type {any[]} */
  const asked = [];
  let id = 0;
  const lines = new Lines(child, (message) => {
    if (message.id === undefined || !message.method) return;
    asked.push({ method: message.method, ...message.params });
    const option = message.params?.options?.find((/** @type {any} */ option) => option.kind === 'reject_once');
    lines.say({ jsonrpc: '2.0', id: message.id, result: { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } } });
  });
  /** @param {string} method @param {any} params */
  const call = async (method, params) => {
    id += 1;
    const own = id;
    lines.say({ jsonrpc: '2.0', id: own, method, params });
    const answer = await lines.hears((message) => message.id === own && !message.method);
    if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer.result;
  };
  await call('initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } } });
  const session = (await call('session/new', { cwd: directory, mcpServers: [] })).sessionId;
  return {
    lines, asked, call, session, pid: child.pid,
    /** Says something and waits for the end of the turn. @param {string} text */
    prompt: (text) => call('session/prompt', { sessionId: session, prompt: [{ type: 'text', text }] }),
    /** Ends it. */
    async close() {
      // It does not end with its input.
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
