// Gemini CLI, driven as editors drive it: the Agent Client Protocol, one session in one process.
// Must not know: what a test is about.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { acp } from './acp.js';
import { INSTALLED } from './house.js';

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
  const args = [PROGRAM, '--acp', '--model', 'gemini-2.5-flash', ...(how.args ?? [])];
  return await acp(house, { program: join(INSTALLED, 'node'), args, env: { ...settle(house, model), ...how.env } }, directory);
}
