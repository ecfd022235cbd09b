// A coding agent, driven as editors drive it: the Agent Client Protocol, one session in one process.
// Must not know: any one coding agent; what a test is about.

import { Lines, once } from './house.js';

/** Begins a session. Every permission that it asks for gets `answer`, and is kept in `asked`.
 *  @param {import('./house.js').House} house @param {{program: string, args: string[], env: Record<string, string>}} start @param {string} directory @param {string} answer */
export async function acp(house, { program, args, env }, directory, answer = 'reject_once') {
  const child = house.start(program, args, { cwd: directory, env });
  /** @type {any[]} */
  const asked = [];
  let id = 0;
  const lines = new Lines(child, (message) => {
    if (message.id === undefined || !message.method) return;
    if (message.method !== 'session/request_permission') {
      lines.say({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } });
      return;
    }
    asked.push({ method: message.method, ...message.params });
    const option = message.params?.options?.find((/** @type {any} */ option) => option.kind === answer);
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
