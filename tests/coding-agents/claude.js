// Claude Code, driven as programs drive it: lines of JSON, one session in one process.
// Must not know: what a test is about.

import { join } from 'node:path';
import { INSTALLED, Lines, once } from './house.js';

const PROGRAM = join(INSTALLED, `node_modules/@anthropic-ai/claude-code-linux-${process.arch}/claude`);

/** Begins a session. @param {import('./house.js').House} house @param {{url: string}} model @param {string} directory
 *  @param {{args?: string[], env?: Record<string, string>, away?: boolean}} [how] `away`: nobody sits at its window */
export function claude(house, model, directory, how = {}) {
  const child = house.start(PROGRAM, [
    '-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', '--include-hook-events',
    '--permission-prompt-tool', 'stdio', '--model', 'claude-sonnet-4-5', ...(how.args ?? []),
  ], { cwd: directory, env: {
    ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-ant-none', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', ...how.env,
  } });
  /** @type {any[]} */
  const asked = [];
  /** @type {(() => void)[]} */
  const refusals = [];
  const lines = new Lines(child, (message) => {
    if (message.type !== 'control_request' || message.request?.subtype !== 'can_use_tool') return;
    asked.push(message.request.tool_name);
    const refuse = () => lines.say({ type: 'control_response', response: { subtype: 'success', request_id: message.request_id, response: { behavior: 'deny', message: 'The person says no.' } } });
    if (how.away) refusals.push(refuse);
    else refuse();
  });
  return {
    lines,
    /** Tools that it asked its person about. */
    asked,
    /** Comes back to the window and says no to what waits there. */
    refuse: () => refusals.splice(0).forEach((refuse) => refuse()),
    pid: child.pid,
    /** What it calls the session. */
    id: () => lines.seen.find((message) => message.session_id)?.session_id,
    /** Says something and waits for the end of the turn. @param {string} text */
    async prompt(text) {
      const from = lines.seen.length;
      lines.say({ type: 'user', message: { role: 'user', content: text } });
      return await lines.hears((message) => message.type === 'result', from);
    },
    /** Waits for the end of another turn. @param {number} from */
    turn: (from, ms = 45_000) => lines.hears((message) => message.type === 'result', from, ms),
    /** Ends it as a person does. */
    async close() {
      child.stdin?.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
