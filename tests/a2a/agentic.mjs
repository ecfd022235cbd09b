// The proxy and the API client of agentic-framework's Next.js dashboard, as they are in the package, against the server
// that listens where they ask. What a browser does is done here: it keeps what is stored, and asks for a password.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";

const [app, modules, token, other] = process.argv.slice(2);
const place = mkdtempSync(join(tmpdir(), "plenary-agentic-"));
process.on("exit", () => rmSync(place, { recursive: true, force: true }));
symlinkSync(modules, join(place, "node_modules"));

/** A file of the dashboard as a module; only the places of its imports change. */
function build(file, name) {
  const source = readFileSync(join(app, file), "utf8")
    .replace("import { NextRequest } from 'next/server';", "")
    .replaceAll(/'@\/lib\/(\w+)'/g, "'./$1.mjs'");
  writeFileSync(join(place, `${name}.mjs`), stripTypeScriptTypes(source, { mode: "transform" }));
  return pathToFileURL(join(place, `${name}.mjs`)).href;
}

const route = await import(build("api/[...path]/route.ts", "route"));
build("lib/utils.ts", "utils");

// The dashboard's server: it hands everything below /api on.
const server = createServer(async (request, response) => {
  const chunks = await request.toArray();
  const url = new URL(request.url, "http://localhost");
  const body = chunks.length ? Buffer.concat(chunks) : undefined;
  const passed = new Request(url, { method: request.method, headers: request.headers, body });
  const params = { path: url.pathname.split("/").slice(2) };
  const answer = await route[request.method](passed, { params });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body) Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
  else response.end();
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const home = `http://127.0.0.1:${server.address().port}/`;

// The browser: a person answers its question for a password with a token.
const stored = new Map();
Object.defineProperty(globalThis, "localStorage", {
  value: { getItem: (name) => stored.get(name) ?? null, setItem: (name, value) => stored.set(name, value) },
});
let password = token;
const plain = globalThis.fetch;
globalThis.fetch = async (url, options = {}) => {
  const whole = new URL(url, home);
  if (whole.origin !== new URL(home).origin) return plain(url, options);
  const answer = await plain(whole, options);
  if (answer.status !== 401 || !/\bBasic realm=/.test(answer.headers.get("www-authenticate") ?? "")) return answer;
  const basic = `Basic ${Buffer.from(`me:${password}`).toString("base64")}`;
  return plain(whole, { ...options, headers: { ...options.headers, Authorization: basic } });
};

const { agenticApi } = await import(build("lib/api.ts", "api"));

/** The events of a request, up to the end of the turn. */
function turn(path, name, request) {
  return new Promise((done) => {
    const events = [];
    agenticApi.streamEvents(path, name, request, (event) => {
      events.push(event);
      if (["turn_end", "turn_cancelled", "wait_for_input"].includes(event.type)) done(events);
    });
  });
}

const types = (events) => events.map((event) => event.type);
const content = (events) => events.filter((event) => event.type === "chat_output").map((event) => event.payload.content).join("");

const paths = await agenticApi.getAvailableAgents();
assert.equal(stored.get("auth_token"), token, "the login gave the token");
const path = paths.find((path) => path.endsWith("/echo"));
const info = await agenticApi.getAgentInfo(path);
assert.equal(info.name, "echo");
assert.ok(info.purpose);

// A prompt in a new thread, and one more in it.
const first = await agenticApi.sendPrompt(path, "Hello");
const events = await turn(path, info.name, first.request_id);
assert.equal(events[0].type, "prompt_started");
assert.equal(events[0].payload.content, "Hello");
assert.equal(content(events), "Hello");
assert.equal(types(events).at(-1), "turn_end");
assert.ok(events.every((event) => event.agent === info.name));
const tools = '{"demo": ["tool_call", "tool_text", "tool_error", "completion_call", "artifact", "deltas"]}';
const second = await agenticApi.sendPrompt(path, tools, first.thread_id);
assert.equal(second.thread_id, first.thread_id);
const more = await turn(path, info.name, second.request_id);
for (const type of ["tool_call", "tool_result", "tool_error", "completion_start", "completion_end", "output"])
  assert.ok(types(more).includes(type), `${type}: ${types(more)}`);

// A question, and its answer.
const asks = await agenticApi.sendPrompt(path, '{"demo": [{"wait_for_input": {"name": "Your name"}}]}', first.thread_id);
const question = await turn(path, info.name, asks.request_id);
assert.deepEqual(question.at(-1), { type: "wait_for_input", agent: "echo", depth: 0, payload: { name: "Your name" } });
const resumed = await agenticApi.resumeWithInput(path, { name: "Nick" }, first.thread_id);
const answered = await turn(path, info.name, resumed.request_id);
assert.deepEqual(types(answered)[0], "resume_with_input");
assert.deepEqual(answered[0].payload, { name: "Nick" });
assert.ok(content(answered).includes("Nick"), JSON.stringify(answered));
assert.equal(types(answered).at(-1), "turn_end");
await assert.rejects(agenticApi.resumeWithInput(path, { name: "Nick" }, first.thread_id), /status: 409/);

// What it lists, and what it shows of a thread afterwards.
const threads = await agenticApi.getThreads(path);
const thread = threads.find((thread) => thread.id === first.thread_id);
assert.equal(thread.initial_prompt, "Hello");
assert.equal(thread.agent_id, "echo");
assert.equal(thread.user_id, "@nick.laptop");
const logs = await agenticApi.getThreadLogs(path, first.thread_id);
const names = logs.map((log) => log.event_name);
assert.equal(names.filter((name) => name === "prompt_started").length, 3);
assert.ok(names.includes("wait_for_input") && names.includes("resume_with_input"));
assert.equal(logs[0].event.content, "Hello");
assert.ok(logs.every((log) => log.thread_id === first.thread_id && log.agent_id === "echo" && log.created_at));

// Others see nothing of it, and no agent that is not there.
await assert.rejects(agenticApi.getAgentInfo("/agent/nobody"), /status: 404/);
await assert.rejects(agenticApi.sendPrompt(path, "x", "018f2b0c-0000-7000-8000-000000000001"), /status: 404/);
stored.set("auth_token", other);
await assert.rejects(agenticApi.getThreadLogs(path, first.thread_id), /status: 404/);
assert.ok(!(await agenticApi.getThreads(path)).some((thread) => thread.id === first.thread_id));
stored.clear();
password = "pla_wrong";
await assert.rejects(agenticApi.getAvailableAgents(), /status: 401/);
process.exit(0);
