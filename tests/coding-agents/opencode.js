// OpenCode, driven as its clients drive it: its server, one session in one process.
// Must not know: what a test is about.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { INSTALLED, once } from './house.js';

const PROGRAM = join(INSTALLED, `node_modules/opencode-linux-${process.arch}/bin/opencode`);
/** It is not released for every machine. */
export const IS_INSTALLED = existsSync(PROGRAM);
const VERSION = '1.18.33';

/** @param {string} path @param {any} value */
function put(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value));
}

/** Begins a session. @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory */
export async function opencode(house, model, directory) {
  const own = join(house.home, '.config/opencode');
  const provider = { npm: '@ai-sdk/anthropic', name: 'scripted', options: { baseURL: `${model.url}/v1`, apiKey: 'none' } };
  const models = { m: { name: 'm', tool_call: true, limit: { context: 200_000, output: 8_000 } } };
  put(join(own, 'opencode.json'), { autoupdate: false, share: 'disabled', model: 'scripted/m', provider: { scripted: { ...provider, models } } });
  // Else it would install the types of plugins from the network before it begins.
  const types = { '@opencode-ai/plugin': VERSION };
  put(join(own, 'package.json'), { dependencies: types });
  put(join(own, 'package-lock.json'), { name: 'opencode', lockfileVersion: 3, packages: { '': { dependencies: types } } });
  put(join(own, 'node_modules/@opencode-ai/plugin/package.json'), { name: '@opencode-ai/plugin', version: VERSION });
  const env = { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1' };
  const child = house.start(PROGRAM, ['serve', '--port', '0'], { cwd: directory, env });
  let said = '';
  const url = await new Promise((resolve, reject) => {
    const look = (/** @type {any} */ chunk) => {
      said += chunk;
      const found = /listening on (http:\/\/\S+)/.exec(said);
      if (found) resolve(found[1]);
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.on('exit', (code) => reject(new Error(`opencode ended with ${code}: ${said}`)));
    setTimeout(() => reject(new Error(`opencode did not begin: ${said}`)), 90_000).unref();
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
