// Coding agents that are driven alike: one prompt without a person, to its end, with the model behind Anthropic's protocol.
// Must not know: what a test is about.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { acp } from './acp.js';
import { INSTALLED } from './house.js';
import { CORE } from './scene.js';

const NODE = join(INSTALLED, 'node');
const MODULES = join(INSTALLED, 'node_modules');

/** @param {string} path @param {any} value */
function put(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
}

/** How each is started, and what it reads a file with. `connect`: what goes behind `connect NAME`.
 *  `editor`: what it is told to speak the Agent Client Protocol, where tests speak it; `asks`: its person allows each call there.
 *  @type {Record<string, {connect: string[], midTurn: boolean, prefix: string, editor?: string[], asks?: boolean, approve?: string[], read: (path: string) => any, start: (house: any, model: any, ...how: string[]) => {program: string, args: string[], env: Record<string, string>}}>} */
export const TOOLS = {
  qwen: {
    connect: [], midTurn: true, prefix: 'mcp__plenary__', editor: ['--acp'],
    // It starts the server of a directory once its person has approved it.
    approve: [NODE, join(MODULES, '@qwen-code/qwen-code/cli.js'), 'mcp', 'approve', 'plenary'],
    read: (path) => ({ call: 'read_file', with: { file_path: path } }),
    start(house, model, ...how) {
      put(join(house.home, '.qwen/settings.json'), {
        security: { auth: { selectedType: 'anthropic' } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false },
        // Agents of its own, beside the session, would take what the model of a test has planned.
        memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false }, ui: { enableFollowupSuggestions: false },
      });
      return {
        program: NODE, args: [join(MODULES, '@qwen-code/qwen-code/cli.js'), ...how, '--model', 'claude-sonnet-4-5', '--auth-type', 'anthropic'],
        env: { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: model.url, ANTHROPIC_MODEL: 'claude-sonnet-4-5' },
      };
    },
  },
  kimi: {
    connect: ['--user'], midTurn: false, prefix: 'mcp__plenary__', editor: ['acp'], asks: true,
    read: (path) => ({ call: 'Read', with: { path } }),
    start: (_house, model, ...how) => ({
      program: NODE, args: [join(MODULES, '@moonshot-ai/kimi-code/dist/main.mjs'), ...how],
      env: {
        KIMI_MODEL_NAME: 'claude-sonnet-4-5', KIMI_MODEL_API_KEY: 'none', KIMI_MODEL_PROVIDER_TYPE: 'anthropic',
        KIMI_MODEL_BASE_URL: model.url, KIMI_MODEL_MAX_CONTEXT_SIZE: '200000', KIMI_CODE_NO_AUTO_UPDATE: '1',
      },
    }),
  },
  copilot: {
    connect: [], midTurn: true, prefix: 'plenary-',
    read: (path) => ({ call: 'view', with: { path } }),
    editor: ['--acp'],
    start: (house, model, ...how) => ({
      program: join(MODULES, `@github/copilot-linux-${process.arch}/copilot`),
      // As `plenary copilot` starts it.
      args: [...how, ...CORE.flatMap((tool) => ['--allow-tool', `plenary(${tool})`]), ...trusted(house, how), '--no-auto-update'],
      env: {
        COPILOT_PROVIDER_BASE_URL: model.url, COPILOT_PROVIDER_TYPE: 'anthropic', COPILOT_PROVIDER_API_KEY: 'none',
        COPILOT_MODEL: 'claude-sonnet-4.5', COPILOT_OFFLINE: 'true',
      },
    }),
  },
};

/** Lets Copilot run the hooks of a directory: by a flag, which it does not take in an editor. @param {import('./house.js').House} house @param {string[]} how */
function trusted(house, how) {
  if (!how.includes('--acp')) return ['--trust-folder'];
  house.write(join(house.home, '.copilot/config.json'), JSON.stringify({ trusted_folders: [house.root] }));
  return [];
}

/** Prepares a run. @param {string} name @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory @param {string[]} how */
async function started(name, house, model, directory, ...how) {
  const start = TOOLS[name].start(house, model, ...how);
  const [approve, ...args] = TOOLS[name].approve ?? [];
  if (approve) {
    const approved = await house.run(approve, args, { cwd: directory, env: start.env });
    if (approved.code !== 0) throw new Error(`${name} did not approve: ${approved.out}\n${approved.err}`);
  }
  return start;
}

/** One prompt, to its end. @param {string} name @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory @param {string} text */
export async function ask(name, house, model, directory, text) {
  const { program, args, env } = await started(name, house, model, directory, '-p', text);
  const ran = await house.run(program, args, { cwd: directory, env, within: 90_000 });
  if (ran.code !== 0) throw new Error(`${name} ended with ${ran.code}: ${ran.out}\n${ran.err}`);
  return ran;
}

/** Begins a session. @param {string} name @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory */
export const session = async (name, house, model, directory) =>
  await acp(house, await started(name, house, model, directory, ...(TOOLS[name].editor ?? [])), directory, TOOLS[name].asks ? 'allow_once' : 'reject_once');
