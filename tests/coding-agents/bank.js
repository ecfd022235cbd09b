// A server of the Model Context Protocol on a pipe, with one tool that asks the person of its client by a form.
// Must not know: Plenary, or who the client is.

import { createInterface } from 'node:readline';

const FORM = {
  type: 'object',
  properties: {
    account: { type: 'string', title: 'Account', description: 'From which it is paid.', enum: ['savings', 'household'] },
    amount: { type: 'integer', title: 'Amount', minimum: 1, maximum: 50 },
    receipt: { type: 'boolean', title: 'With a receipt' },
  },
  required: ['account', 'amount'],
};
/** Calls that wait for the person, by the id of what was asked. @type {Map<string, unknown>} */
const waiting = new Map();

/** @param {any} message */
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** @type {Record<string, (message: any) => void>} */
const METHODS = {
  initialize: ({ id, params }) => say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bank', version: '1' } } }),
  ping: ({ id }) => say({ id, result: {} }),
  'tools/list': ({ id }) => say({ id, result: { tools: [{ name: 'pay', description: 'Pays a bill', _meta: { 'anthropic/alwaysLoad': true }, inputSchema: { type: 'object', properties: {} } }] } }),
  'tools/call': ({ id }) => {
    const asks = `asks-${waiting.size}`;
    waiting.set(asks, id);
    say({ id: asks, method: 'elicitation/create', params: { message: 'Which account pays the bill?', requestedSchema: FORM } });
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const id = waiting.get(message.id);
    waiting.delete(message.id);
    if (id !== undefined) say({ id, result: { content: [{ type: 'text', text: `The person's answer: ${JSON.stringify(message.result ?? message.error)}` }] } });
  } else if (METHODS[message.method]) METHODS[message.method](message);
  else if (message.id !== undefined) say({ id: message.id, error: { code: -32601, message: 'There is no such method' } });
});
