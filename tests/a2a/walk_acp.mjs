// The SDK of the Agent Client Protocol as an editor that starts `plenary acp`: PLENARY_BIN, PLENARY_URL, PLENARY_TOKEN, ACP_SDK,
// and PEER_TOKEN, the token of @ann.helper. A word on standard output has the server killed or started.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { exports } = JSON.parse(readFileSync(`${process.env.ACP_SDK}/package.json`));
const sdk = await import(pathToFileURL(`${process.env.ACP_SDK}/${exports["."].import}`));
const { PLENARY_URL, PEER_TOKEN } = process.env;

const done = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Has the server killed or started. */
const server = async (word) => {
    console.log(word);
    await done.next();
};
const until = async (what, found) => {
    for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((wake) => setTimeout(wake, 20))) {
        const is = await found();
        if (is) return is;
    }
    assert.fail(`${what} did not come`);
};

/** An editor with one agent. `answers` are the answers to what the agent asks, by method. */
class Editor {
    constructor(agent, answers = {}, capabilities = {}) {
        this.updates = [];
        this.asked = [];
        this.child = spawn(process.env.PLENARY_BIN, ["acp", agent], { stdio: ["pipe", "pipe", "inherit"] });
        const stream = sdk.ndJsonStream(Writable.toWeb(this.child.stdin), Readable.toWeb(this.child.stdout));
        const asked = (method) => ({ params }) => {
            this.asked.push({ method, params });
            return answers[method](params);
        };
        this.connection = sdk.client({ name: "walk" })
            .onNotification("session/update", ({ params }) => void this.updates.push(params))
            .onRequest("session/request_permission", asked("session/request_permission"))
            .onRequest("elicitation/create", asked("elicitation/create"))
            .connect(stream);
        this.agent = this.connection.agent;
        this.capabilities = capabilities;
    }

    async begin() {
        const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, ...this.capabilities };
        const met = await this.agent.request("initialize", { protocolVersion: 1, clientCapabilities });
        assert.equal(met.protocolVersion, 1);
        assert.equal(met.agentCapabilities.loadSession, true);
        return this;
    }

    async open() {
        const { sessionId } = await this.agent.request("session/new", { cwd: "/tmp", mcpServers: [] });
        return sessionId;
    }

    prompt(sessionId, text) {
        return this.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    }

    /** A prompt that ends, and what was said to it. */
    async say(sessionId, text) {
        const before = this.updates.length;
        assert.equal((await this.prompt(sessionId, text)).stopReason, "end_turn");
        return this.text("agent_message_chunk", before);
    }

    text(kind, from = 0) {
        const chunks = this.updates.slice(from).filter(({ update }) => update.sessionUpdate === kind);
        return chunks.map(({ update }) => update.content.text).join("");
    }

    async end() {
        this.child.stdin.end();
        if (this.child.exitCode === null) await once(this.child, "exit");
        assert.equal(this.child.exitCode, 0);
    }
}

const permission = (optionId) => () => ({ outcome: { outcome: "selected", optionId } });
const failsWith = (code, words) => (error) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    return true;
};

// An agent that the server runs: a coding agent behind the same protocol.
const editor = await new Editor("@nick.coder", { "session/request_permission": permission("no") }).begin();
const session = await editor.open();
assert.equal(await editor.say(session, "hello"), "turn 1, hello");
assert.equal(await editor.say(session, "tool list"), "turn 2, tool list");
const calls = editor.updates.map(({ update }) => update).filter(({ toolCallId }) => toolCallId);
assert.deepEqual(calls.map(({ sessionUpdate, status }) => [sessionUpdate, status]), [
    ["tool_call", "in_progress"], ["tool_call_update", "completed"],
]);
assert.deepEqual([calls[0].title, calls[0].rawInput], ["list", { of: 1 }]);
assert.equal(calls[1].content[0].content.text, "all of it");
assert.equal(await editor.say(session, "permission please"), "chosen: no");
const [{ params: asked }] = editor.asked;
assert.deepEqual(asked.options.map(({ optionId, kind }) => [optionId, kind]), [["yes", "allow_once"], ["no", "reject_once"]]);
assert.match(asked.toolCall.title, /^Remove it\?/);

// Canceled while it works, and asked again.
const waits = editor.prompt(session, "wait here");
await until("the first word", () => editor.text("agent_message_chunk").endsWith("waiting"));
await assert.rejects(editor.prompt(session, "meanwhile"), failsWith(-32600, /not answered yet/));
await editor.agent.notify("session/cancel", { sessionId: session });
assert.equal((await waits).stopReason, "cancelled");
assert.match(await editor.say(session, "again"), /turn \d, again/);

// Sessions are on the server: another editor lists and loads them.
const other = await new Editor("@nick.coder").begin();
const { sessions } = await other.agent.request("session/list", { cwd: "/tmp" });
assert.deepEqual(sessions.map(({ sessionId, title, cwd }) => [sessionId, title, cwd]), [[session, "hello", "/tmp"]]);
await other.agent.request("session/load", { sessionId: session, cwd: "/tmp", mcpServers: [] });
assert.equal(other.text("user_message_chunk"), "hellotool listpermission pleasewait hereagain");
assert.match(other.text("agent_message_chunk"), /^turn 1, helloturn 2, tool list.*chosen: no.*waiting.*again$/s);
assert.match(await other.say(session, "from the other"), /from the other$/);
const before = other.updates.length;
await other.agent.request("session/resume", { sessionId: session, cwd: "/tmp" });
assert.equal(other.updates.length, before, "nothing is shown again");

// What is wrong is said.
const nothing = "00000000-0000-4000-8000-000000000000";
await assert.rejects(editor.prompt(nothing, "x"), failsWith(-32002, /no session/));
await assert.rejects(
    editor.agent.request("session/load", { sessionId: nothing, cwd: "/", mcpServers: [] }), failsWith(-32002, /no session/));
const image = [{ type: "image", data: "", mimeType: "image/png" }];
await assert.rejects(
    editor.agent.request("session/prompt", { sessionId: session, prompt: image }), failsWith(-32602, /no image/));
await assert.rejects(editor.agent.request("session/set_mode", { sessionId: session, modeId: "x" }), failsWith(-32601, /no method/));
const stranger = await new Editor("@nobody.here").begin();
await assert.rejects(stranger.open(), failsWith(-32602, /no agent @nobody\.here/));
await Promise.all([other.end(), stranger.end()]);
console.log("@agentclientprotocol/sdk: an agent that the server runs");

// A question in words is answered by the next prompt, or in a form; a failure is an error with its reason.
const demo = (...steps) => JSON.stringify({ demo: steps });
const name = { wait_for_input: { name: "Your name?" } };
const words = await new Editor("@plenary.echo").begin();
const talk = await words.open();
assert.match(await words.say(talk, demo(name)), /Your name\?$/);
assert.match(await words.say(talk, "Ann"), /Ann/);
await assert.rejects(words.prompt(talk, demo({ fail: "out of paper" })), failsWith(-32603, /out of paper/));
const form = await new Editor(
    "@plenary.echo",
    { "elicitation/create": () => ({ action: "accept", content: { name: "Eve" } }) },
    { elicitation: { form: {} } },
).begin();
assert.match(await form.say(await form.open(), demo(name)), /Eve/);
const [{ params: filled }] = form.asked;
assert.deepEqual([filled.mode, filled.requestedSchema.required], ["form", ["name"]]);
const papers = await words.open();
await words.say(papers, demo("artifact"));
const paper = words.updates.map(({ update }) => update.content).find((content) => content?.type === "resource");
assert.equal(paper.resource.mimeType.split(";")[0], "text/plain");
await form.end();
console.log("@agentclientprotocol/sdk: questions and documents");

// The server is killed: what it did ends with a reason, what is asked meanwhile waits for it, and the thread goes on.
const slow = words.prompt(talk, demo("slow"));
slow.catch(() => {});
await until("the run", async () => (await editor.say(session, "knock")) !== "");
await server("kill");
await server("start");
await assert.rejects(slow, failsWith(-32603, /stopped/));
await server("kill");
const patient = words.say(talk, "still there?");
await new Promise((wake) => setTimeout(wake, 700));
await server("start");
assert.equal(await patient, "still there?");
await Promise.all([editor.end(), words.end()]);
console.log("@agentclientprotocol/sdk: a server that is killed");

// An agent that runs elsewhere is asked in a session; its next message is the answer.
const peer = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${PEER_TOKEN}`, "Content-Type": "application/json" };
    const response = await fetch(PLENARY_URL + path, { method, headers, body: body && JSON.stringify(body) });
    assert(response.ok, `${path}: ${response.status}`);
    return response.json();
};
const helped = await new Editor("@ann.helper").begin();
const conversation = await helped.open();
const question = helped.say(conversation, "What is new?");
await until("the invitation", async () => (await peer("GET", "/sessions")).sessions.some(({ id }) => id === conversation));
await peer("POST", `/sessions/${conversation}/join`);
await peer("POST", `/sessions/${conversation}/messages`, { content: "The schema." });
assert.equal(await question, "The schema.");
const late = helped.say(conversation, "And else?");
await until("the message", async () => {
    const { events } = await peer("GET", `/sessions/${conversation}/events`);
    return events.some(({ payload }) => payload.content === "And else?");
});
await server("kill");
await server("start");
await peer("POST", `/sessions/${conversation}/messages`, { content: "Nothing." });
assert.equal(await late, "Nothing.");
const reader = await new Editor("@ann.helper").begin();
await reader.agent.request("session/load", { sessionId: conversation, cwd: "/tmp", mcpServers: [] });
const shown = reader.updates.map(({ update }) => `${update.sessionUpdate.split("_")[0]}: ${update.content.text}`);
assert.deepEqual(shown, ["user: What is new?", "agent: The schema.", "user: And else?", "agent: Nothing."]);
const stopped = reader.prompt(conversation, "Never mind");
await until("the message", async () => {
    const { events } = await peer("GET", `/sessions/${conversation}/events`);
    return events.some(({ payload }) => payload.content === "Never mind");
});
await reader.agent.notify("session/cancel", { sessionId: conversation });
assert.equal((await stopped).stopReason, "cancelled");
await peer("POST", `/sessions/${conversation}/leave`);
await assert.rejects(reader.prompt(conversation, "Hello?"), failsWith(-32603, /has left/));
await Promise.all([helped.end(), reader.end()]);
console.log("@agentclientprotocol/sdk: an agent that runs elsewhere");
process.exit(0);
