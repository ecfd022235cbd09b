// A foreign agent: the server of the TypeScript SDK of Agent2Agent, over JSON-RPC; PLENARY_A2A_SDK is its directory. It does what
// foreign.py does.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PLENARY_A2A_SDK}/package.json`);
const { Role, TaskState } = require("@a2a-js/sdk");
const {
    AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, UnauthenticatedUser, defaultServerCallContextBuilder,
} = require("@a2a-js/sdk/server");

const port = Number(process.argv[2]);
const url = `http://127.0.0.1:${port}`;
const card = {
    name: "Foreign", description: "Says what it is told.", version: "1.0.0", provider: undefined, documentationUrl: undefined,
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" }],
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {}, securityRequirements: [], signatures: [],
    defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Says it.", tags: ["echo"], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
};

const part = (content, more = {}) => ({ content, mediaType: "", filename: "", metadata: undefined, ...more });
const text = (value) => part({ $case: "text", value });

class Echo {
    async execute({ taskId, contextId, task, userMessage }, bus) {
        const told = userMessage.parts.map((each) => (each.content?.$case === "text" ? each.content.value : "")).join("");
        const status = (state, said) => ({
            state, timestamp: new Date().toISOString(),
            message: said && {
                messageId: randomUUID(), role: Role.ROLE_AGENT, taskId, contextId, parts: [text(said)], extensions: [],
                referenceTaskIds: [], metadata: undefined,
            },
        });
        const update = (state, said) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, said), metadata: undefined }));
        const artifact = (name, parts) => bus.publish(AgentEvent.artifactUpdate({
            taskId, contextId, append: false, lastChunk: true, metadata: undefined,
            artifact: { artifactId: randomUUID(), name, description: "", parts, extensions: [], metadata: undefined },
        }));
        // A stream begins with the task, also where an answer continues it.
        const begun = task ?? { id: taskId, contextId, artifacts: [], history: [], metadata: undefined };
        bus.publish(AgentEvent.task({ ...begun, status: status(TaskState.TASK_STATE_SUBMITTED) }));
        update(TaskState.TASK_STATE_WORKING);
        if (told === "ask" && !task) {
            update(TaskState.TASK_STATE_INPUT_REQUIRED, "Your name?");
        } else if (told === "fail") {
            update(TaskState.TASK_STATE_FAILED, "It broke.");
        } else {
            artifact("said", [text(`You said: ${told}`)]);
            artifact("", [part({ $case: "raw", value: Buffer.from("abc") }, { filename: "a.bin", mediaType: "application/x-a" })]);
            update(TaskState.TASK_STATE_COMPLETED);
        }
        bus.finished();
    }

    async cancelTask(taskId, bus) {
        bus.finished();
    }
}

const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), new Echo()));

createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === "GET") {
        response.setHeader("Content-Type", "application/json").end(JSON.stringify(card));
        return;
    }
    const context = defaultServerCallContextBuilder({
        extensions: undefined, user: new UnauthenticatedUser(), headers: request.headers, requestedVersion: request.headers["a2a-version"],
    });
    const answer = await handler.handle(JSON.parse(Buffer.concat(chunks).toString()), context);
    if (typeof answer?.[Symbol.asyncIterator] !== "function") {
        response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
        return;
    }
    response.setHeader("Content-Type", "text/event-stream");
    for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end();
}).listen(port, "127.0.0.1");
