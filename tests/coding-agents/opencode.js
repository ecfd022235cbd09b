// OpenCode, and Kilo Code, which began as it, driven as their clients drive them: a server, one session in one process.
// Must not know: what a test is about.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { INSTALLED, once } from './house.js';

const MODULES = join(INSTALLED, 'node_modules');

/** What the two differ in: `settings`, below `.config`; `types`, of plugins; and the variables' first word. */
const BRANDS = {
  opencode: {
    program: join(MODULES, `opencode-linux-${process.arch}/bin/opencode`), settings: 'opencode/opencode.json',
    types: '@opencode-ai/plugin', version: '1.18.33', variables: 'OPENCODE',
  },
  kilo: {
    program: join(MODULES, `@kilocode/cli-linux-${process.arch}/bin/kilo`), settings: 'kilo/kilo.json',
    types: '@kilocode/plugin', version: '7.7.9', variables: 'KILO',
  },
};
/** They are not released for every machine. @param {string} name */
export const isInstalled = (name) => !(name in BRANDS) || existsSync(BRANDS[/** @type {keyof BRANDS} */ (name)].program);

/** @param {string} path @param {any} value */
function put(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value));
}

/** Begins a session. @param {keyof BRANDS} name @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory */
async function begin(name, house, model, directory) {
  const brand = BRANDS[name];
  const settings = join(house.home, '.config', brand.settings);
  const provider = { npm: '@ai-sdk/anthropic', name: 'scripted', options: { baseURL: `${model.url}/v1`, apiKey: 'none' } };
  const models = { m: { name: 'm', tool_call: true, limit: { context: 200_000, output: 8_000 } } };
  put(settings, { autoupdate: false, share: 'disabled', model: 'scripted/m', provider: { scripted: { ...provider, models } } });
  // Else it would install the types of plugins from the network before it begins.
  const types = { [brand.types]: brand.version };
  const own = dirname(settings);
  put(join(own, 'package.json'), { dependencies: types });
  put(join(own, 'package-lock.json'), { name, lockfileVersion: 3, packages: { '': { dependencies: types } } });
  put(join(own, 'node_modules', brand.types, 'package.json'), { name: brand.types, version: brand.version });
  const env = Object.fromEntries(['MODELS_FETCH', 'AUTOUPDATE', 'DEFAULT_PLUGINS'].map((what) => [`${brand.variables}_DISABLE_${what}`, '1']));
  const child = house.start(brand.program, ['serve', '--port', '0'], { cwd: directory, env });
  let said = '';
  const url = await new Promise((resolve, reject) => {
    const look = (/** @type {any} */ chunk) => {
      said += chunk;
      const found = /listening on (http:\/\/\S+)/.exec(said);
      if (found) resolve(found[1]);
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.on('exit', (code) => reject(new Error(`${name} ended with ${code}: ${said}`)));
    setTimeout(() => reject(new Error(`${name} did not begin: ${said}`)), 90_000).unref();
  });
  /** @param {string} path @param {any} body */
  const call = async (path, body) => {
    const answer = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return await answer.json();
  };
  const { id } = await call('/session', {});
  return {
    id, pid: child.pid, said: () => said,
    /** Says something and waits for the end of the turn. @param {string} text */
    prompt: (text) => call(`/session/${id}/message`, { model: { providerID: 'scripted', modelID: 'm' }, parts: [{ type: 'text', text }] }),
    async close() {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory */
export const opencode = (house, model, directory) => begin('opencode', house, model, directory);
/** @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory */
export const kilo = (house, model, directory) => begin('kilo', house, model, directory);
