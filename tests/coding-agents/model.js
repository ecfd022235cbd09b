// A model that does what a test wrote down, over the three protocols that the coding agents speak: Anthropic Messages,
// OpenAI Responses and Gemini generateContent. It keeps every request, so that a test sees what a real model would have.
// Must not know: what Plenary is.

import { createServer } from 'node:http';

/**
 * @typedef {{ say?: string, call?: string, held?: string, with?: object, before?: () => Promise<unknown> }} Step
 * @typedef {{ client: string, main: boolean, tools: string[], text: string, body: any, at: number }} Request
 */

/** Starts it. `requests` has everything that was asked; `plans` adds steps that the next requests with tools take. */
export async function startModel() {
  /** @type {Step[]} */
  const steps = [];
  /** @type {Request[]} */
  const requests = [];
  /** @type {Set<() => void>} */
  const listeners = new Set();
  /** @type {string[]} */
  const errors = [];
  let number = 0;

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const path = (request.url ?? '').split('?')[0];
    const protocol = PROTOCOLS.find((protocol) => request.method === 'POST' && protocol.matches(path));
    if (!protocol) {
      const known = path.endsWith('/models') ? { data: [], models: [] } : { input_tokens: 10, totalTokens: 10 };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(known));
      return;
    }
    const body = JSON.parse(text || '{}');
    const tools = protocol.tools(body);
    const main = tools.length > 0;
    requests.push({ client: protocol.client, main, tools: tools.map(([name]) => name), text: texts(protocol.context(body)), body, at: Date.now() });
    const step = main ? (steps.shift() ?? {}) : {};
    for (const listener of listeners) listener();
    if (step.before) await step.before();
    number += 1;
    const named = (/** @type {string} */ name) => name === step.call || name.endsWith(`__${step.call}`) || /^(mcp_)?plenary[-_]/.test(name) && name.replace(/^(mcp_)?plenary[-_]/, '') === step.call;
    const offered = step.call ? tools.find(([name]) => name === step.call) ?? tools.find(([name]) => named(name)) : undefined;
    const tool = offered ?? (step.held ? [step.held, { name: step.held }] : undefined);
    if (step.call && !tool) errors.push(`${protocol.client} offers no tool ${step.call}: ${tools.map(([name]) => name)}`);
    protocol.answer(response, body, path, { number, say: step.say ?? 'Done.', tool: tool?.[1], args: step.with ?? {} });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;

  return {
    url,
    requests,
    /** What a test wrote down and could not be done. */
    errors,
    /** @param {Step[]} more */
    plans(...more) { steps.push(...more); },
    /** Steps that nobody has taken yet. */
    left: () => steps.length,
    /** The requests that have tools: those of the conversation itself. */
    conversation: () => requests.filter((request) => request.main),
    /** Waits until a request of the conversation fulfils something. @param {(request: Request) => boolean} wanted @param {number} ms */
    async asked(wanted, ms = 30_000) {
      const found = () => requests.find((request) => request.main && wanted(request));
      const at = found();
      if (at) return at;
      return await new Promise((resolve, reject) => {
        const timer = setTimeout(() => { listeners.delete(look); reject(new Error(`the model was not asked so within ${ms} ms`)); }, ms);
        const look = () => {
          const at = found();
          if (at) { clearTimeout(timer); listeners.delete(look); resolve(at); }
        };
        listeners.add(look);
      });
    },
    close() { server.closeAllConnections(); server.close(); },
  };
}

/** Every text in a value, one behind the other. @param {any} value @returns {string} */
export function texts(value) {
  if (typeof value === 'string') return `${value}\n`;
  if (Array.isArray(value)) return value.map(texts).join('');
  if (value && typeof value === 'object') return Object.values(value).map(texts).join('');
  return '';
}

/** How often a word stands in a text. @param {string} text @param {string} word */
export const times = (text, word) => text.split(word).length - 1;

/** @param {import('node:http').ServerResponse} response */
function stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  /** @param {any} data @param {string} [event] */
  return (data, event) => response.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
}

const anthropic = {
  client: 'claude',
  matches: (/** @type {string} */ path) => path.endsWith('/v1/messages'),
  context: (/** @type {any} */ body) => body.messages,
  tools: (/** @type {any} */ body) => (body.tools ?? []).map((/** @type {any} */ tool) => [tool.name, tool]),
  answer(/** @type {any} */ response, /** @type {any} */ body, /** @type {string} */ _path, /** @type {any} */ turn) {
    const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const block = turn.tool ? { type: 'tool_use', id: `toolu_${turn.number}`, name: turn.tool.name, input: turn.args } : { type: 'text', text: turn.say };
    const reason = turn.tool ? 'tool_use' : 'end_turn';
    const message = { id: `msg_${turn.number}`, type: 'message', role: 'assistant', model: body.model, stop_sequence: null, usage };
    if (!body.stream) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...message, content: [block], stop_reason: reason }));
      return;
    }
    const send = stream(response);
    send({ type: 'message_start', message: { ...message, content: [], stop_reason: null } }, 'message_start');
    const empty = turn.tool ? { ...block, input: {} } : { ...block, text: '' };
    send({ type: 'content_block_start', index: 0, content_block: empty }, 'content_block_start');
    const delta = turn.tool ? { type: 'input_json_delta', partial_json: JSON.stringify(turn.args) } : { type: 'text_delta', text: turn.say };
    send({ type: 'content_block_delta', index: 0, delta }, 'content_block_delta');
    send({ type: 'content_block_stop', index: 0 }, 'content_block_stop');
    send({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage }, 'message_delta');
    send({ type: 'message_stop' }, 'message_stop');
    response.end();
  },
};

const responses = {
  client: 'codex',
  matches: (/** @type {string} */ path) => path.endsWith('/responses'),
  context: (/** @type {any} */ body) => body.input,
  // A namespace has tools of its own.
  tools: (/** @type {any} */ body) => (body.tools ?? []).flatMap((/** @type {any} */ tool) =>
    tool.type === 'namespace'
      ? tool.tools.map((/** @type {any} */ inner) => [`${tool.name.replace(/_*$/, '')}__${inner.name}`, { name: inner.name, namespace: tool.name }])
      : [[tool.name ?? tool.type, tool]]),
  answer(/** @type {any} */ response, /** @type {any} */ _body, /** @type {string} */ _path, /** @type {any} */ turn) {
    const send = stream(response);
    const id = `resp_${turn.number}`;
    const item = turn.tool
      ? { type: 'function_call', id: `fc_${turn.number}`, call_id: `call_${turn.number}`, name: turn.tool.name, arguments: JSON.stringify(turn.args), ...(turn.tool.namespace ? { namespace: turn.tool.namespace } : {}) }
      : { type: 'message', id: `item_${turn.number}`, role: 'assistant', content: [{ type: 'output_text', text: turn.say }] };
    send({ type: 'response.created', response: { id } }, 'response.created');
    send({ type: 'response.output_item.done', output_index: 0, item }, 'response.output_item.done');
    const usage = { input_tokens: 10, input_tokens_details: null, output_tokens: 5, output_tokens_details: null, total_tokens: 15 };
    send({ type: 'response.completed', response: { id, usage } }, 'response.completed');
    response.end();
  },
};

const gemini = {
  client: 'gemini',
  matches: (/** @type {string} */ path) => /:(stream)?[gG]enerateContent$/.test(path),
  context: (/** @type {any} */ body) => body.contents,
  tools: (/** @type {any} */ body) => (body.tools ?? []).flatMap((/** @type {any} */ tool) => tool.functionDeclarations ?? []).map((/** @type {any} */ tool) => [tool.name, tool]),
  answer(/** @type {any} */ response, /** @type {any} */ _body, /** @type {string} */ path, /** @type {any} */ turn) {
    const part = turn.tool ? { functionCall: { name: turn.tool.name, args: turn.args } } : { text: turn.say };
    const answer = { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }], usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }, modelVersion: 'scripted' };
    if (path.endsWith(':generateContent')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    stream(response)(answer);
    response.end();
  },
};

const PROTOCOLS = [anthropic, responses, gemini];
