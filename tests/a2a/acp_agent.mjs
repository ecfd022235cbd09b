// A coding agent by the SDK of the Agent Client Protocol, for the server to host: ACP_SDK is the directory of the SDK. What it
// does follows from the prompt's first word.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { exports } = JSON.parse(readFileSync(`${process.env.ACP_SDK}/package.json`));
const sdk = await import(pathToFileURL(`${process.env.ACP_SDK}/${exports["."].import}`));
const turns = new Map();
const canceled = new Map();

const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
];

sdk.agent({ name: "coder" })
    .onRequest("initialize", () => ({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] }))
    .onRequest("session/new", () => {
        const sessionId = `s-${turns.size}`;
        turns.set(sessionId, 0);
        return { sessionId };
    })
    .onNotification("session/cancel", ({ params }) => canceled.get(params.sessionId)?.())
    .onRequest("session/prompt", async ({ params, client }) => {
        const { sessionId } = params;
        const turn = turns.get(sessionId) + 1;
        turns.set(sessionId, turn);
        const update = (members) => client.notify("session/update", { sessionId, update: members });
        const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
        const [verb] = params.prompt[0].text.split(" ");
        if (verb === "wait") {
            await say("waiting");
            await new Promise((resolve) => canceled.set(sessionId, resolve));
            return { stopReason: "cancelled" };
        }
        if (verb === "tool") {
            await update({ sessionUpdate: "tool_call", toolCallId: "c", title: "list", rawInput: { of: 1 }, status: "in_progress" });
            const content = [{ type: "content", content: { type: "text", text: "all of it" } }];
            await update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", content });
        }
        if (verb === "permission") {
            const toolCall = { toolCallId: "d", title: "Remove it?" };
            const { outcome } = await client.request("session/request_permission", { sessionId, toolCall, options });
            await say(`chosen: ${outcome.optionId ?? outcome.outcome}`);
            return { stopReason: "end_turn" };
        }
        await say(`turn ${turn}, `);
        await say(params.prompt[0].text);
        return { stopReason: "end_turn" };
    })
    .connect(sdk.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
