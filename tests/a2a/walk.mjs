// The TypeScript SDK of Agent2Agent against a server that runs: PLENARY_URL, PLENARY_TOKEN, and PLENARY_A2A_SDK, its directory.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PLENARY_A2A_SDK}/package.json`);
const { Role, TaskState, verifyAgentCardSignature } = require("@a2a-js/sdk");
const sdk = require("@a2a-js/sdk/client");

const authorized = (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${process.env.PLENARY_TOKEN}`);
    return fetch(url, { ...init, headers });
};

const message = (text, more = {}) => ({
    tenant: "",
    message: {
        messageId: randomUUID(), role: Role.ROLE_USER, contextId: "", taskId: "", extensions: [], referenceTaskIds: [],
        metadata: undefined, parts: [{ content: { $case: "text", value: text }, mediaType: "", filename: "", metadata: undefined }],
        ...more,
    },
    configuration: undefined,
    metadata: undefined,
});

for (const [name, transport] of [
    ["JSON-RPC", new sdk.JsonRpcTransportFactory({ fetchImpl: authorized })],
    ["HTTP+JSON", new sdk.RestTransportFactory({ fetchImpl: authorized })],
]) {
    const factory = new sdk.ClientFactory({
        transports: [transport],
        cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl: authorized }),
    });
    const client = await factory.createFromUrl(`${process.env.PLENARY_URL}/a2a/plenary.echo/`);
    const sent = await client.sendMessage(message("Hello"));
    const task = sent.payload?.$case === "task" ? sent.payload.value : sent;
    assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED, name);
    assert.equal(task.artifacts[0].parts[0].content.value, "Hello", name);
    const got = await client.getTask({ tenant: "", id: task.id });
    assert.equal(got.id, task.id, name);
    const events = [];
    for await (const event of client.sendMessageStream(message("a b", { metadata: { demo: ["deltas"] } }))) {
        events.push(event);
    }
    const kinds = events.map((event) => event.payload?.$case ?? event.kind);
    assert.equal(kinds[0], "task", `${name}: ${kinds}`);
    assert.equal(kinds.at(-1), "statusUpdate", `${name}: ${kinds}`);
    await assert.rejects(client.getTask({ tenant: "", id: "run_00000000000000000000000000" }), name);
}
// Section 8.4: the key that a card names has signed it.
const shown = await (await authorized(`${process.env.PLENARY_URL}/a2a/plenary.echo/.well-known/agent-card.json`)).json();
const verify = verifyAgentCardSignature(async (kid, jku) => {
    assert.equal(new URL(jku).origin, new URL(process.env.PLENARY_URL).origin);
    const { keys } = await (await fetch(jku)).json();
    return keys.find((key) => key.kid === kid);
});
await verify(shown);
await assert.rejects(verify({ ...shown, description: "Another" }));
console.log("@a2a-js/sdk: passed");
